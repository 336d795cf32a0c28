"""Linux's way to open a file that cannot lie anywhere but beneath a folder."""

import ctypes
import os
from functools import cache

_NUMBER = 437  # the same on every architecture
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def opened(directory: int, relative: str, flags: int, *, links: bool = True) -> int:
    """Return a descriptor for `relative`, walked by the kernel from `directory`.

    Links are followed as long as they stay beneath, or not at all.

    Raises:
        OSError: there is none, it leads out, or the kernel cannot do this.
    """
    how = _How(flags, 0, _BENEATH | _NO_MAGICLINKS | (0 if links else _NO_SYMLINKS))
    fd: int = _libc().syscall(
        ctypes.c_long(_NUMBER),
        ctypes.c_int(directory),
        ctypes.c_char_p(os.fsencode(relative)),
        ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )
    if fd < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return fd
