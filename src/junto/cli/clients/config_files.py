"""Files of other programs: changed in one step, with the file as it was kept beside them."""

import codecs
import contextlib
import glob
import os
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from junto.cli.clients.forms import UnreadableError, place
from junto.domain.errors import InputOutputError

# Somebody may be writing at the same time; who writes all the time is not waited for.
_TRIES = 3
_LARGEST = 50 * 1024 * 1024
# The file as it was before Junto touched it at all, and before the latest changes.
_LATEST = 2


@dataclass(frozen=True, slots=True)
class Change:
    """Whether a file was changed, and where it is kept as it was, if there was one."""

    made: bool
    backup: Path | None = None


def change(path: Path, edit: Callable[[str], str]) -> Change:
    """Replace a file by what `edit` makes of its text, unless that is the same.

    A link is followed, so that it stays one. A file that is not there has an empty text.

    Raises:
        UnreadableError: it is not UTF-8.
        InputOutputError: it cannot be read or written, or another program does so all the time.
    """
    target = Path(os.path.realpath(path))
    for _ in range(_TRIES):
        try:
            before = _content(target)
            mark, text = _decoded(before or b"")
            if (after := edit(text)) == text:
                return Change(made=False)
            if (made := _replaced(path, target, before, mark + after.encode())) is not None:
                return made
        except OSError as error:
            raise InputOutputError(f"{path} cannot be changed: {error.strerror}.") from error
    raise InputOutputError(f"{path} keeps changing. Close the program it belongs to, then retry.")


def _content(target: Path) -> bytes | None:
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
        raise InputOutputError(f"{target} is no ordinary file, or too large: it is left alone.")
    return target.read_bytes()


def _decoded(content: bytes) -> tuple[bytes, str]:
    """Return a text, and before it the mark by which some editors on Windows know UTF-8."""
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    try:
        return mark, content[len(mark) :].decode()
    except UnicodeDecodeError as error:
        before = content[len(mark) :][: error.start].decode()
        raise UnreadableError("this is not UTF-8", *place(before, len(before))) from error


def _replaced(path: Path, target: Path, before: bytes | None, after: bytes) -> Change | None:
    """Put `after` in the place of `before`; nothing is done if that is not what is there."""
    was = target.stat() if before is not None else None
    if was and not (was.st_mode & 0o222 and os.access(target, os.W_OK)):
        # Renaming would get around it, but somebody has a reason, or a program that manages it.
        raise InputOutputError(f"{path} is read-only, so it is left alone.")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = _written(target.parent, f".{target.name}.", after, was)
    backup = None
    try:
        backup = _backup(path, before, was) if before is not None else None
        if _content(target) != before:
            if backup:
                backup.unlink()
            return None
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    return Change(made=True, backup=backup)


def _written(folder: Path, prefix: str, content: bytes, like: os.stat_result | None) -> Path:
    """Write a new file that only its owner may read, or whoever may read the one it is like."""
    descriptor, name = tempfile.mkstemp(prefix=prefix, dir=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    if like:
        if hasattr(os, "chown"):
            with contextlib.suppress(PermissionError):
                os.chown(name, like.st_uid, like.st_gid)
        Path(name).chmod(stat.S_IMODE(like.st_mode))
    return Path(name)


def _backup(path: Path, content: bytes, like: os.stat_result | None) -> Path:
    """Keep `content` beside a file, and not too many of its kind."""
    named = f"{path.name}.junto-backup-"
    backup = path.with_name(f"{named}{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
    _written(path.parent, f".{named}", content, like).rename(backup)
    backup.chmod(0o600)  # it may hold tokens, and nobody but its owner needs it
    _, *others = sorted(path.parent.glob(f"{glob.escape(named)}*"))
    for each in others[:-_LATEST]:
        each.unlink(missing_ok=True)
    return backup
