"""Trying the parts of a Junto one by one, for whoever wants to know which of them work."""

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from junto.app.embeddings import embedder_of
from junto.app.models import engine_of, ways_of
from junto.domain.messages import Message
from junto.domain.questions import Question
from junto.providers.catalog.catalog import Route
from junto.providers.catalog.lists import parsed
from junto.providers.catalog.reading import embedded_offer
from junto.security.secrets import Redactor
from junto.settings.places import state_directory
from junto.settings.showing import secrets_in
from junto.settings.tree import Settings
from junto.storage.sights import Sight
from junto.telemetry.usage import UsageBook

if TYPE_CHECKING:
    from junto.providers.embedded.packages import Package
    from junto.providers.wiring.wire import Patience

_LOOKING_SECONDS = 10.0
# What is copied to be tried is copied in a moment.
_LARGEST_COPY = 256 * 1024 * 1024


def database_file(settings: Settings) -> Path:
    """Return where everything is kept, unless it is on a server."""
    return state_directory(settings) / "junto.db"


async def database(settings: Settings) -> Sight | None:
    """Return how the database is, which is not changed, or None if there is none yet.

    Raises:
        JuntoError: it cannot be used.
    """
    if settings.database.url is None:
        from junto.storage.sqlite import looking as files

        return files.look(database_file(settings), _LOOKING_SECONDS)
    from junto.storage.postgres import looking as servers

    return await servers.look(settings.database.url.get_secret_value())


async def rehearsed(settings: Settings, sight: Sight | None) -> bool:
    """Try what the next start would do to the database, and tell whether that could be tried.

    A file is copied, if it is not too large; a server's database must be empty, since changes to
    tables in use would keep others waiting.

    Raises:
        JuntoError: the next start would fail.
    """
    if settings.database.url is None:
        from junto.storage.sqlite import looking as files

        if sight and sight.size > _LARGEST_COPY:
            return False
        await files.rehearse(database_file(settings) if sight else None)
        return True
    from junto.storage.postgres import looking as servers

    if sight and sight.latest:
        return False
    await servers.rehearse(settings.database.url.get_secret_value())
    return True


async def redis_version(settings: Settings) -> str | None:
    """Return which Redis answers, or None if none is wanted.

    Raises:
        JuntoError: it cannot be used.
    """
    if settings.redis.url is None:
        return None
    from junto.storage.redis_server import version

    return await version(settings.redis.url.get_secret_value())


async def models_at(route: Route) -> tuple[str, ...]:
    """Return the models that are served where `route` leads, once its key is accepted there.

    Raises:
        JuntoError: the key is refused, or nobody can be asked.
    """
    from junto.providers.opening import proven_list

    return tuple(model.id for model in parsed(route.provider, await proven_list(route)))


def absent_weights(settings: Settings) -> "tuple[Package, ...]":
    """Return what of the embedded model would have to be fetched first."""
    engine = engine_of(settings, state_directory(settings))
    if engine is None or engine.weights.chosen or engine.weights.present():
        return ()
    return (engine.weights.package,)


def absent_vector_weights(settings: Settings) -> "tuple[Package, ...]":
    """Return what of the embedded model for embeddings would have to be fetched first."""
    from junto.providers.embeddings.minilm import weights

    carried = weights(state_directory(settings) / "weights")
    pairs = zip(carried.packages, carried.paths, strict=True)
    return tuple(package for package, path in pairs if not path.is_file())


async def embedded_answer(settings: Settings, patience: "Patience") -> None:
    """Have the embedded model say one token, in an engine that is started for it if need be.

    Raises:
        JuntoError: it does not.
    """
    from junto.providers.opening import adapters
    from junto.providers.provider import ask

    offer = embedded_offer(settings.embedded)
    if offer is None:
        return
    ways = replace(ways_of(settings, state_directory(settings)), patience=patience)
    async with adapters(ways) as adapter:
        hello = Question(model=offer.route.model, messages=(Message.user("Hello"),), max_tokens=1)
        await ask(adapter(offer), hello)


async def vector(settings: Settings) -> int:
    """Make one vector as the settings say, and return how long it is.

    Raises:
        JuntoError: none can be made.
    """
    hasty = settings.answers.model_copy(update={"max_retries": 0})
    redactor = Redactor(secrets_in(settings))
    async with AsyncExitStack() as stack:
        state = state_directory(settings)
        hurried = settings.model_copy(update={"answers": hasty})
        embedder = embedder_of(hurried, state, stack, redactor, UsageBook())
        if embedder is None:
            return 0
        [found] = await embedder.embed(["hello"])
        return len(found) // 4
