"""The tools of a running Junto that work on this machine, built from its settings."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from junto.kit.commands import Limits, Runner
from junto.kit.environment import Environment
from junto.kit.files import Files
from junto.security.commands import SAFE, Commands, Rule
from junto.security.paths import Roots
from junto.security.secrets import Redactor
from junto.settings.choices import Reach
from junto.settings.entries import CommandEntry
from junto.settings.places import home_directory
from junto.settings.tree import Settings
from junto.settings.tree import Tools as ToolSettings
from junto.tools.commands import execute_command
from junto.tools.files import delete_file, get_file_info, list_files, read_file, write_file
from junto.tools.kit import current_time, get_env
from junto.tools.tool import Tool
from junto.tools.web import http_get

_SET = "Set tools.roots (JUNTO_TOOLS_ROOTS) to those that tools may use."
_GONE = f"No folder is allowed, since the working directory is gone. {_SET}"
_TOO_WIDE = (
    "No folder is allowed, since the working directory is the whole disk or holds the home "
    f"directory. {_SET}"
)


def kit_of(
    settings: Settings, roots: Roots, redactor: Redactor, reach: Reach
) -> Iterator[Tool[Any]]:
    """Yield the tools that a client with this reach gets."""
    chosen, most = settings.tools, settings.jobs.reply_bytes
    files = Files(roots)
    yield current_time(chosen.timezone)
    yield get_env(Environment(os.environ, redactor))
    if reach is Reach.NONE:
        return
    yield read_file(files, most)
    yield list_files(files)
    yield get_file_info(files)
    yield http_get(most)
    if reach is Reach.ALL:
        yield write_file(files)
        yield delete_file(files)
        yield execute_command(_runner(chosen, roots))


def roots_of(settings: Settings) -> Roots:
    """Return the folders beneath which tools may reach: those that were chosen, or where we are."""
    if settings.tools.roots:
        return Roots.of(settings.tools.roots)
    try:
        here = Path.cwd()
    except FileNotFoundError:  # somebody has removed it under us
        return Roots((), _GONE)
    return Roots((), _TOO_WIDE) if _is_too_wide(here) else Roots.of((here,))


def _is_too_wide(folder: Path) -> bool:
    """Tell whether a folder is the whole disk, or holds all that its user has.

    Desktop programs start servers in such places, and nobody has chosen them.
    """
    if folder == Path(folder.anchor):
        return True
    home = Path(os.path.realpath(home_directory()))
    # By what it is, and not by its name: it may be mounted elsewhere once more.
    return any(_is_same(folder, above) for above in (home, *home.parents))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _runner(chosen: ToolSettings, roots: Roots) -> Runner:
    return Runner(
        roots=roots,
        commands=Commands({**SAFE, **{entry.name: _rule(entry) for entry in chosen.commands}}),
        limits=Limits(
            seconds=chosen.command_seconds,
            cpu_seconds=int(chosen.command_seconds) + 1,
            memory_bytes=chosen.command_memory,
        ),
        confined=chosen.confine,
        environment={
            name: os.environ[name] for name in chosen.command_environment if name in os.environ
        },
    )


def _rule(entry: CommandEntry) -> Rule:
    inner = Rule(flags=frozenset(entry.flags), words=entry.words)
    return Rule(
        flags=inner.flags,
        words=inner.words,
        subcommands=dict.fromkeys(entry.subcommands, inner),
        unchecked=entry.anything,
        program=str(entry.program) if entry.program else None,
        network=entry.network,
        writes=entry.writes,
    )
