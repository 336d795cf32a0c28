"""Atomic edits of other programs' configuration files, with backups next to them."""

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

from junto.cli.clients.formats import ConfigSyntaxError, find_line_and_column
from junto.domain.errors import InputOutputError

# Another program may write the file at the same time; after this many conflicts, give up.
_MAX_ATTEMPTS = 3
_MAX_FILE_BYTES = 50 * 1024 * 1024
# Kept in addition to the first backup, which is the file before Junto's first change.
_MAX_RECENT_BACKUPS = 2


@dataclass(frozen=True, slots=True)
class FileChange:
    """The outcome of an edit: whether the file changed, and the path of its backup, if any."""

    changed: bool
    backup: Path | None = None


def edit_file(path: Path, edit: Callable[[str], str]) -> FileChange:
    """Replace the text of a file with the result of `edit`, unless it is the same.

    Symbolic links are followed and preserved. A missing file counts as an empty text.

    Raises:
        ConfigSyntaxError: the file is not UTF-8.
        InputOutputError: the file cannot be read or written, or keeps changing.
    """
    target = Path(os.path.realpath(path))
    for _ in range(_MAX_ATTEMPTS):
        try:
            before = _read_content(target)
            bom, text = _decode(before or b"")
            if (after := edit(text)) == text:
                return FileChange(changed=False)
            if (change := _replace_file(path, target, before, bom + after.encode())) is not None:
                return change
        except OSError as error:
            raise InputOutputError(f"{path} cannot be changed: {error.strerror}.") from error
    raise InputOutputError(f"{path} keeps changing. Close the program it belongs to, then retry.")


def _read_content(target: Path) -> bytes | None:
    try:
        info = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(info.st_mode) or info.st_size > _MAX_FILE_BYTES:
        raise InputOutputError(f"{target} is no ordinary file, or too large: it is left alone.")
    return target.read_bytes()


def _decode(content: bytes) -> tuple[bytes, str]:
    """Return the UTF-8 byte order mark, which some Windows editors write, and the text."""
    bom = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    try:
        return bom, content[len(bom) :].decode()
    except UnicodeDecodeError as error:
        valid = content[len(bom) :][: error.start].decode()
        raise ConfigSyntaxError(
            "this is not UTF-8", *find_line_and_column(valid, len(valid))
        ) from error


def _replace_file(
    path: Path, target: Path, before: bytes | None, after: bytes
) -> FileChange | None:
    """Replace `before` with `after`; return None if the file has changed in the meantime."""
    old_stat = target.stat() if before is not None else None
    if old_stat and not (old_stat.st_mode & 0o222 and os.access(target, os.W_OK)):
        # A rename would bypass this, but the file may be read-only on purpose or managed elsewhere.
        raise InputOutputError(f"{path} is read-only, so it is left alone.")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temp_file = _write_temp_file(target.parent, f".{target.name}.", after, old_stat)
    backup = None
    try:
        backup = _write_backup(path, before, old_stat) if before is not None else None
        if _read_content(target) != before:
            if backup:
                backup.unlink()
            return None
        temp_file.replace(target)
    finally:
        temp_file.unlink(missing_ok=True)
    return FileChange(changed=True, backup=backup)


def _write_temp_file(
    directory: Path, prefix: str, content: bytes, like_stat: os.stat_result | None
) -> Path:
    """Write a new file that is private, or that has the owner and mode of `like_stat`."""
    descriptor, name = tempfile.mkstemp(prefix=prefix, dir=directory)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    if like_stat:
        if hasattr(os, "chown"):
            with contextlib.suppress(PermissionError):
                os.chown(name, like_stat.st_uid, like_stat.st_gid)
        Path(name).chmod(stat.S_IMODE(like_stat.st_mode))
    return Path(name)


def _write_backup(path: Path, content: bytes, like_stat: os.stat_result | None) -> Path:
    """Write `content` to a backup next to a file, and delete older backups."""
    prefix = f"{path.name}.junto-backup-"
    backup = path.with_name(f"{prefix}{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
    _write_temp_file(path.parent, f".{prefix}", content, like_stat).rename(backup)
    backup.chmod(0o600)  # it may contain tokens
    _, *newer = sorted(path.parent.glob(f"{glob.escape(prefix)}*"))
    for each in newer[:-_MAX_RECENT_BACKUPS]:
        each.unlink(missing_ok=True)
    return backup
