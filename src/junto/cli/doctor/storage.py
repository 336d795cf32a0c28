"""Where Junto keeps what it knows: the database, and Redis."""

import asyncio
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from junto.cli.doctor.findings import Case, Finding, broken, ok, warning
from junto.domain.errors import ConfigurationError, JuntoError, SecurityError

if TYPE_CHECKING:
    from junto.storage.sights import Sight

_MEGABYTE = 1_000_000


def database(case: Case) -> Iterator[Finding]:
    """Look at the database without changing it, and try what the next start would do to it."""
    from junto.app import trying

    settings = case.settings
    file = trying.database_file(settings)
    try:
        sight = asyncio.run(trying.database(settings))
    except ConfigurationError as error:
        yield broken("database", error.message, "Do that, or choose another database.")
        return
    except SecurityError as error:
        fix = "Make it yours, or choose another place with state_directory."
        yield broken("database", error.message, fix)
        return
    except JuntoError as error:
        yield broken("database", error.message, _mended(case))
        return
    where = str(file) if settings.database.url is None else sight.server if sight else ""
    if sight and sight.latest and not sight.pending:
        yield ok("database", f"{where}: opens, up to date ({sight.latest}), {_size(sight)}")
    else:
        yield _tried(case, sight, where)
    if settings.database.url and sight:
        yield from _vectors(case, sight)


def _tried(case: Case, sight: "Sight | None", where: str) -> Finding:
    """Return what becomes of a database that is not there yet, or not up to date."""
    from junto.app.trying import rehearsed

    try:
        tried = asyncio.run(rehearsed(case.settings, sight))
    except JuntoError as error:
        detail = f"{where}: bringing it up to date fails: {error.message}"
        return broken("database", detail, _mended(case))
    if sight is None or sight.latest is None:
        return ok("database", f"{where}: will be made at the first use; tried with a scratch one")
    how = "tried with a copy" if tried else "not tried"
    changes = f"{len(sight.pending)} change{'s' if len(sight.pending) > 1 else ''}"
    return warning(
        "database",
        f"{where}: opens, {_size(sight)}; the next start makes {changes} ({how})",
        "Stop older Juntos first (`junto stop`); they cannot use it afterwards.",
    )


def _size(sight: "Sight") -> str:
    rest = "" if sight.whole else ", too large to be looked through here"
    return f"{max(sight.size / _MEGABYTE, 0.1):,.1f} MB{rest}"


def _mended(case: Case) -> str:
    if case.settings.database.url:
        return "See that the server runs, lets this user in, and that database.url is right."
    from junto.app.trying import database_file

    file = str(database_file(case.settings))
    away = shlex.join(("mv", file, f"{file}.damaged"))
    return (
        f"Put a copy of yours in its place, or begin anew with `{away}`; "
        "state_directory chooses another place."
    )


def _vectors(case: Case, sight: "Sight") -> Iterator[Finding]:
    if case.settings.knowledge.embeddings == "off":
        return
    if sight.vectors:
        yield ok("pgvector", sight.vectors)
    elif sight.may_have_vectors:
        yield ok("pgvector", "can be had; the first vectors switch it on, if this user may")
    else:
        yield warning(
            "pgvector",
            "the server does not have it, so search is by words alone",
            "Have pgvector 0.8 or newer installed there, or set knowledge.embeddings: off.",
        )


def redis(case: Case) -> Iterator[Finding]:
    """Tell whether Redis answers, if it is wanted."""
    from junto.app.trying import redis_version

    try:
        version = asyncio.run(redis_version(case.settings))
    except ConfigurationError as error:
        yield broken("Redis", error.message, "Do that, or unset redis.url.")
    except JuntoError as error:
        fix = "See that it runs and that redis.url is right, or unset redis.url."
        yield broken("Redis", error.message, fix)
    else:
        yield ok("Redis", version or "not wanted: limits and signals stay in this process")
