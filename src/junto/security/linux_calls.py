"""Bindings of Linux system calls that Python lacks: `openat2` and `fstatfs`."""

import ctypes
import os
from functools import cache

_SYSCALL_NUMBER = 437  # the same on every architecture
_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x02, 0x04, 0x08

# Larger than the result of `fstatfs` on any architecture; its first field is the type.
_STATFS_LONGS = 64


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def _load_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def open_beneath(dir_fd: int, path: str, flags: int, *, follow_links: bool = True) -> int:
    """Open `path` relative to `dir_fd` without ever leaving that directory.

    Symlinks are followed as long as they stay beneath it, or not at all if `follow_links` is false.

    Raises:
        OSError: the path does not exist, leads outside, or the kernel has no `openat2`.
    """
    how = _OpenHow(
        flags,
        0,
        _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | (0 if follow_links else _RESOLVE_NO_SYMLINKS),
    )
    fd: int = _load_libc().syscall(
        ctypes.c_long(_SYSCALL_NUMBER),
        ctypes.c_int(dir_fd),
        ctypes.c_char_p(os.fsencode(path)),
        ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )
    if fd < 0:
        error_number = ctypes.get_errno()
        raise OSError(error_number, os.strerror(error_number))
    return fd


def get_file_system_type(fd: int) -> int:
    """Return the magic number of the file system of an open file, as in `linux/magic.h`.

    Raises:
        OSError: the kernel does not tell.
    """
    result = (ctypes.c_ulong * _STATFS_LONGS)()
    if _load_libc().fstatfs(fd, ctypes.byref(result)) != 0:
        error_number = ctypes.get_errno()
        raise OSError(error_number, os.strerror(error_number))
    return result[0] & 0xFFFFFFFF
