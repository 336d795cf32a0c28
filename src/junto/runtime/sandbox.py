"""What Linux can take from a process before it becomes a command: sight, reach and powers.

Only the standard library is used, since a keeper has nothing else. What a kernel does not know it
cannot take away; whoever calls goes on without it.
"""

import contextlib
import ctypes
import os
import platform
import struct
from pathlib import Path
from typing import Any

_NEW_USER, _NEW_PID = 0x10000000, 0x20000000
_DROP_BOUNDING, _NO_NEW_PRIVS, _SET_SECCOMP, _AMBIENT = 24, 38, 22, 47
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446

_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_MAKE_DEVICES = (1 << 6) | (1 << 11)
# Which rights Landlock knows in which version; what it does not know it cannot take away.
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_ON_FILES = _EXECUTE | _READ_FILE | (1 << 1) | (1 << 14) | (1 << 15)

# What root may still do: own, read and change files, end what it started, listen on low ports.
_KEPT_POWERS = frozenset({0, 1, 3, 4, 5, 10})
_POWERS = 64

# Ways to look into other processes, or to change the kernel's mind; by their numbers.
_FORBIDDEN = {
    "x86_64": (0xC000003E, (101, 248, 249, 250, 298, 310, 311, 312, 321, 323, 438), 302, 16),
    "aarch64": (0xC00000B7, (117, 217, 218, 219, 241, 270, 271, 272, 280, 282, 438), 261, 29),
}
# Typing into somebody's terminal.
_IOCTLS = (0x5412, 0x541C)
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001  # with EPERM
_LOAD, _EQUAL, _GREATER, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
_OTHER_NUMBERING = 0x40000000


def new_processes(*, confined: bool) -> bool:
    """Have the next child see and reach no process but its own; all of them end with it."""
    user, group = os.getuid(), os.getgid()
    if not confined:
        return False  # what it would see of other processes would have other numbers
    if user == 0:
        return _call("unshare", _NEW_PID) == 0
    # Others need a world of their own for that, in which they are nobody special.
    if _call("unshare", _NEW_USER | _NEW_PID) != 0:
        return False
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def confine(task: dict[str, Any]) -> None:
    """Let this process, and all that it becomes, see and do only what the task names.

    Raises:
        OSError: the kernel knows how, and did not.
    """
    _prctl(_NO_NEW_PRIVS, 1)
    _restrict_files(task)
    _restrict_calls()


def weaken() -> None:
    """Take from root, before it becomes a command, the powers that no work in a folder needs."""
    if os.getuid() == 0:
        _prctl(_AMBIENT, 4)
        for power in range(_POWERS):
            if power not in _KEPT_POWERS:
                _prctl(_DROP_BOUNDING, power)


def _restrict_files(task: dict[str, Any]) -> None:
    version = _syscall(_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return  # a kernel without it
    known = max(rights for since, rights in _RIGHTS.items() if since <= version)
    net = 0b11 if version >= 4 and not task["network"] else 0  # noqa: PLR2004 - binding, connecting
    scoped = 0b11 if version >= 6 else 0  # noqa: PLR2004 - abstract sockets, signals
    attributes = (ctypes.c_uint64 * 3)(known, net, scoped)
    size = 24 if version >= 6 else 16 if version >= 4 else 8  # noqa: PLR2004 - of what it knows
    ruleset = _syscall(_CREATE_RULESET, ctypes.byref(attributes), size, 0)
    for path in task["readable"]:
        _allow(ruleset, path, _READ & known)
    for path in task["writable"]:
        _allow(ruleset, path, known & ~_MAKE_DEVICES)
    if ruleset < 0 or _syscall(_RESTRICT_SELF, ruleset, 0) < 0:
        raise OSError(0, "The command could not be confined")


def _allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(OSError):  # what is not there need not be allowed
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        folder = Path(path).is_dir()
        rule = _Rule(rights if folder else rights & _ON_FILES, fd)
        _syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0)
        os.close(fd)


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _restrict_calls() -> None:
    known = _FORBIDDEN.get(platform.machine())
    if known is None:
        return
    architecture, numbers, limits, ioctl = known
    program = b"".join(
        [
            _step(_LOAD, _ARCHITECTURE),
            _step(_EQUAL, architecture, 1, 0),
            _step(_RETURN, _REFUSE),
            _step(_LOAD, _NUMBER),
            _step(_GREATER, _OTHER_NUMBERING, 0, 1),
            _step(_RETURN, _REFUSE),
            *(_step(_EQUAL, number, 0, 1) + _step(_RETURN, _REFUSE) for number in numbers),
            # The limits of other processes, which have a number.
            _step(_EQUAL, limits, 0, 4),
            _step(_LOAD, _FIRST),
            _step(_EQUAL, 0, 1, 0),
            _step(_RETURN, _REFUSE),
            _step(_RETURN, _ALLOW),
            _step(_EQUAL, ioctl, 0, 5),
            _step(_LOAD, _SECOND),
            _step(_EQUAL, _IOCTLS[0], 1, 0),
            _step(_EQUAL, _IOCTLS[1], 0, 1),
            _step(_RETURN, _REFUSE),
            _step(_RETURN, _ALLOW),
            _step(_RETURN, _ALLOW),
        ]
    )
    kept = ctypes.create_string_buffer(program)
    filter_ = _Program(len(program) // 8, ctypes.addressof(kept))
    ctypes.CDLL(None).prctl(_SET_SECCOMP, 2, ctypes.byref(filter_), 0, 0)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def _syscall(number: int, *arguments: Any) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(ctypes.c_long(number), *arguments))


def _call(name: str, *arguments: int) -> int:
    return int(getattr(ctypes.CDLL(None), name)(*arguments))


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
