"""Checks of the storage: the database and Redis."""

import asyncio
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from junto.cli.doctor.checks import CheckContext, Finding, fail, ok, warn
from junto.domain.errors import ConfigurationError, JuntoError, SecurityError

if TYPE_CHECKING:
    from junto.storage.migrations import DatabaseInfo

_MEGABYTE = 1_000_000


def check_database(context: CheckContext) -> Iterator[Finding]:
    """Check the database without changing it, and rehearse the migrations of the next start."""
    from junto.cli.doctor import probes

    settings = context.settings
    path = probes.database_path(settings)
    try:
        info = asyncio.run(probes.inspect_database(settings))
    except ConfigurationError as error:
        yield fail("database", error.message, "Do that, or choose another database.")
        return
    except SecurityError as error:
        fix = "Make it yours, or choose another place with state_directory."
        yield fail("database", error.message, fix)
        return
    except JuntoError as error:
        yield fail("database", error.message, _suggest_fix(context))
        return
    where = str(path) if settings.database.url is None else info.server if info else ""
    if info and info.latest_migration and not info.pending_migrations:
        yield ok(
            "database",
            f"{where}: opens, up to date ({info.latest_migration}), {_format_size(info)}",
        )
    else:
        yield _rehearse_migration(context, info, where)
    if settings.database.url and info:
        yield from _check_pgvector(context, info)


def _rehearse_migration(context: CheckContext, info: "DatabaseInfo | None", where: str) -> Finding:
    """Rehearse the migrations of a database that is missing or out of date."""
    from junto.cli.doctor.probes import rehearse_migrations

    try:
        was_rehearsed = asyncio.run(rehearse_migrations(context.settings, info))
    except JuntoError as error:
        detail = f"{where}: bringing it up to date fails: {error.message}"
        return fail("database", detail, _suggest_fix(context))
    if info is None or info.latest_migration is None:
        return ok("database", f"{where}: will be made at the first use; tried with a scratch one")
    how = "tried with a copy" if was_rehearsed else "not tried"
    changes = (
        f"{len(info.pending_migrations)} change{'s' if len(info.pending_migrations) > 1 else ''}"
    )
    return warn(
        "database",
        f"{where}: opens, {_format_size(info)}; the next start makes {changes} ({how})",
        "Stop older Juntos first (`junto stop`); they cannot use it afterwards.",
    )


def _format_size(info: "DatabaseInfo") -> str:
    note = "" if info.is_fully_checked else ", too large to be looked through here"
    return f"{max(info.size_bytes / _MEGABYTE, 0.1):,.1f} MB{note}"


def _suggest_fix(context: CheckContext) -> str:
    if context.settings.database.url:
        return "See that the server runs, lets this user in, and that database.url is right."
    from junto.cli.doctor.probes import database_path

    path = str(database_path(context.settings))
    move_command = shlex.join(("mv", path, f"{path}.damaged"))
    return (
        f"Put a copy of yours in its place, or begin anew with `{move_command}`; "
        "state_directory chooses another place."
    )


def _check_pgvector(context: CheckContext, info: "DatabaseInfo") -> Iterator[Finding]:
    if context.settings.knowledge.embeddings == "off":
        return
    if info.vector_extension_version:
        yield ok("pgvector", info.vector_extension_version)
    elif info.is_vector_extension_available:
        yield ok("pgvector", "can be had; the first vectors switch it on, if this user may")
    else:
        yield warn(
            "pgvector",
            "the server does not have it, so search is by words alone",
            "Have pgvector 0.8 or newer installed there, or set knowledge.embeddings: off.",
        )


def check_redis(context: CheckContext) -> Iterator[Finding]:
    """Check whether Redis responds, if it is configured."""
    from junto.cli.doctor.probes import fetch_redis_version

    try:
        version = asyncio.run(fetch_redis_version(context.settings))
    except ConfigurationError as error:
        yield fail("Redis", error.message, "Do that, or unset redis.url.")
    except JuntoError as error:
        fix = "See that it runs and that redis.url is right, or unset redis.url."
        yield fail("Redis", error.message, fix)
    else:
        yield ok("Redis", version or "not wanted: limits and signals stay in this process")
