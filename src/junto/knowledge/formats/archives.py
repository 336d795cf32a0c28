"""Zip archives that come from anywhere."""

import io
import zipfile

from junto.knowledge.formats.readable import UnreadableError

_MOST_BYTES = 64 * 1024 * 1024
_MOST_FILES = 10_000
# What text is packed to a hundredth of is nothing but repetition; little of it does no harm.
_MOST_TIMES, _HARMLESS = 100, 4 * 1024 * 1024
_USUAL = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1


def opened(content: bytes) -> zipfile.ZipFile:
    """Return an archive that does not unpack to too much.

    Raises:
        UnreadableError: it does, or is none.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OverflowError, OSError, NotImplementedError):
        raise UnreadableError("broken: it cannot be unpacked") from None
    files = archive.infolist()
    size = sum(file.file_size for file in files)
    if len(files) > _MOST_FILES:
        raise UnreadableError(f"holds more than {_MOST_FILES:,} files")
    if size > _MOST_BYTES:
        raise UnreadableError(f"unpacks to more than {_MOST_BYTES // 1024**2} MB")
    if size > max(_HARMLESS, _MOST_TIMES * len(content)):
        raise UnreadableError(f"unpacks to more than {_MOST_TIMES} times its size")
    if any(file.flag_bits & _ENCRYPTED for file in files):
        raise UnreadableError("encrypted")
    if any(file.compress_type not in _USUAL for file in files):
        raise UnreadableError("packed in an unusual way")
    return archive


def unpacked(archive: zipfile.ZipFile, file: zipfile.ZipInfo) -> bytes:
    """Return a file of an archive: as much as it is said to hold, should it hold more."""
    with archive.open(file) as stream:
        # Without a number, all of it would be unpacked first and cut afterwards.
        return stream.read(file.file_size)


def repacked(archive: zipfile.ZipFile) -> io.BytesIO:
    """Return an archive as one that holds what it says, for those who unpack without a bound."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as made:
        for name in {file.filename: file for file in archive.infolist()}.values():
            made.writestr(name.filename, unpacked(archive, name))
    result.seek(0)
    return result
