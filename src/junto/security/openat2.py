"""A binding of Linux's `openat2`, which opens files only beneath a given directory."""

import ctypes
import os
from functools import cache

_SYSCALL_NUMBER = 437  # the same on every architecture
_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x02, 0x04, 0x08


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
