"""A binding of Linux's `fstatfs`, which tells on which kind of file system an open file is."""

import ctypes
import os
from functools import cache

# Larger than the struct on any architecture; its first field is the type.
_STRUCT_LONGS = 64


@cache
def _load_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def get_file_system_type(fd: int) -> int:
    """Return the magic number of the file system of an open file, as in `linux/magic.h`.

    Raises:
        OSError: the kernel does not tell.
    """
    result = (ctypes.c_ulong * _STRUCT_LONGS)()
    if _load_libc().fstatfs(fd, ctypes.byref(result)) != 0:
        error_number = ctypes.get_errno()
        raise OSError(error_number, os.strerror(error_number))
    return result[0] & 0xFFFFFFFF
