"""The folders in which Junto writes: whether it can, whether others look in, and how much fits."""

import contextlib
import os
import shlex
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from junto.cli.doctor.findings import Case, Finding, broken, ok, warning
from junto.settings.choices import LogOutput
from junto.settings.places import log_directory

_GIGABYTE = 1_000_000_000
_LITTLE = _GIGABYTE


def state(case: Case) -> Iterator[Finding]:
    """Look at the folder with conversations and everything else."""
    yield from _folder("state", case.state, "state_directory")


def leftovers(case: Case) -> Iterator[Finding]:
    """Look for what a download that was broken off has left."""
    left: list[Path] = []
    with contextlib.suppress(OSError):  # that it cannot be read is said elsewhere
        left = sorted(case.state.glob("weights/**/fetching-*"))
    if left:
        names = " ".join(str(path) for path in left)
        detail = f"left of a download that was broken off: {names}"
        yield warning(
            "leftovers", detail, f"`rm -r {shlex.join(map(str, left))}`, unless one is under way."
        )


def logs(case: Case) -> Iterator[Finding]:
    """Look at the folder with log files, if there are any."""
    if case.settings.logging.output in (LogOutput.FILES, LogOutput.BOTH):
        yield from _folder("logs", log_directory(case.settings), "logging.directory")


def _folder(check: str, folder: Path, setting: str) -> Iterator[Finding]:
    fix = f"Make it writable for you, or choose another with {setting}."
    try:
        there = folder if folder.exists() else _around(folder)
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        yield broken(check, f"{folder}: nothing can be written: {error.strerror}", fix)
        return
    free = shutil.disk_usage(there).free
    yield room(check, folder, free, there=there == folder)
    if there == folder:
        yield from _seen(check, folder)


def _around(folder: Path) -> Path:
    """Return the nearest thing around a folder that is there."""
    return next(parent for parent in folder.absolute().parents if parent.exists())


def room(check: str, folder: Path, free: int, *, there: bool) -> Finding:
    """Tell how much fits into a folder."""
    told = f"{folder}{'' if there else ' (made at the first use)'}"
    detail = f"{told}: {free / _GIGABYTE:,.1f} GB free"
    if free < _LITTLE:
        return warning(check, detail, "Make room: a full disk stops every conversation.")
    return ok(check, detail)


def _seen(check: str, folder: Path) -> Iterator[Finding]:
    """Tell whether others than its owner can look into a folder."""
    found = folder.stat()
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid != os.geteuid():
        detail = f"{folder} belongs to another user (number {found.st_uid})"
        yield warning(
            check,
            detail,
            f"Choose a folder of yours, or `chown {os.geteuid()} {shlex.quote(str(folder))}`.",
        )
    elif mode & 0o077:
        detail = f"{folder} is open to other users ({mode:04o})"
        yield warning(check, detail, f"`chmod go-rwx {shlex.quote(str(folder))}`")
