"""What makes vectors for a running Junto, by its settings."""

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path

from junto.app.models import patience_of
from junto.domain.embeddings import Embedder
from junto.providers.catalog.reading import threads_of
from junto.providers.embeddings.choosing import EMBEDDED, Choice, choice_of
from junto.providers.embeddings.discreet import Discreet
from junto.providers.embeddings.later import Later
from junto.security.secrets import Redactor
from junto.settings.tree import Settings
from junto.telemetry.usage import UsageBook

# It holds 120 MB, and is loaded again in a third of a second.
_IDLE = 300.0


def embedder_of(
    settings: Settings, state: Path, stack: AsyncExitStack, redactor: Redactor, book: UsageBook
) -> Embedder | None:
    """Return what makes vectors, if anything shall; nothing is opened before it is used.

    What goes wrong is told to callers, and a provider may repeat its key in its refusal; so the
    redactor has the last word.

    Raises:
        ConfigurationError: the settings name somebody who cannot be asked.
    """
    name = settings.knowledge.embeddings
    if name == "off":
        return None
    if name == "embedded":
        later = Later(lambda: _embedded(settings, state), known=EMBEDDED, idle=_IDLE)
    else:
        choice = choice_of(name, settings.models, settings.providers)
        later = Later(lambda: _served(settings, choice, book))
    stack.push_async_callback(later.close)
    return Discreet(later, redactor.text)


def _embedded(settings: Settings, state: Path) -> AbstractAsyncContextManager[Embedder]:
    from junto.providers.embeddings.minilm import minilm, weights

    return minilm(weights(state / "weights"), threads_of(settings.knowledge))


def _served(
    settings: Settings, choice: Choice, book: UsageBook
) -> AbstractAsyncContextManager[Embedder]:
    from junto.providers.embeddings.served import served
    from junto.providers.pipeline.circuit import Circuit

    limits = settings.limits
    circuit = Circuit(choice.route.provider, limits.failures, limits.cooldown)
    return served(choice, patience_of(settings), settings.answers.max_retries, circuit, book)
