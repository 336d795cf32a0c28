"""Safe unpacking of untrusted zip archives."""

import io
import zipfile

from junto.knowledge.formats.text import UnreadableFileError

_MAX_UNPACKED_BYTES = 64 * 1024 * 1024
_MAX_FILES = 10_000
# Text that compresses better than this is mere repetition; small archives do no harm.
_MAX_COMPRESSION_RATIO, _MIN_CHECKED_BYTES = 100, 4 * 1024 * 1024
_SUPPORTED_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED_FLAG = 1


def open_archive(content: bytes) -> zipfile.ZipFile:
    """Open an archive after checking that it does not unpack to too much.

    Raises:
        UnreadableFileError: it does, is encrypted, or is not a supported archive.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OverflowError, OSError, NotImplementedError):
        raise UnreadableFileError("broken: it cannot be unpacked") from None
    files = archive.infolist()
    size = sum(file.file_size for file in files)
    if len(files) > _MAX_FILES:
        raise UnreadableFileError(f"holds more than {_MAX_FILES:,} files")
    if size > _MAX_UNPACKED_BYTES:
        raise UnreadableFileError(f"unpacks to more than {_MAX_UNPACKED_BYTES // 1024**2} MB")
    if size > max(_MIN_CHECKED_BYTES, _MAX_COMPRESSION_RATIO * len(content)):
        raise UnreadableFileError(f"unpacks to more than {_MAX_COMPRESSION_RATIO} times its size")
    if any(file.flag_bits & _ENCRYPTED_FLAG for file in files):
        raise UnreadableFileError("encrypted")
    if any(file.compress_type not in _SUPPORTED_COMPRESSION for file in files):
        raise UnreadableFileError("packed in an unusual way")
    return archive


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return a member's content, cut off at the size that the archive declares."""
    with archive.open(member) as stream:
        # Without a size, zipfile unpacks everything before it cuts off the rest.
        return stream.read(member.file_size)


def repack_archive(archive: zipfile.ZipFile) -> io.BytesIO:
    """Return a copy that holds what it declares, for libraries that unpack without limits."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as copy:
        for member in {file.filename: file for file in archive.infolist()}.values():
            copy.writestr(member.filename, read_member(archive, member))
    result.seek(0)
    return result
