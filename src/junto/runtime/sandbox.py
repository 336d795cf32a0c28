"""The Linux sandbox of commands: namespaces, capabilities, Landlock and seccomp, in this order.

Uses only the standard library, because the supervisor runs without site-packages. Features that the
kernel does not support are skipped, and what they would have restricted is denied as a whole where
that is possible: docs/explanation/security.md lists what holds where.
"""

import contextlib
import ctypes
import os
import stat
from typing import Any

# In the same directory as this script.
import namespaces  # type: ignore[import-not-found]
import seccomp  # type: ignore[import-not-found]

_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 24, 38, 47
_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446

_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_MAKE_DEVICES = (1 << 6) | (1 << 11)
# File system access rights by Landlock ABI version: 2 adds REFER, 3 TRUNCATE, 5 IOCTL_DEV.
_RIGHTS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_FILE_RIGHTS = _EXECUTE | _READ_FILE | (1 << 1) | (1 << 14) | (1 << 15)

# CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL and NET_BIND_SERVICE.
_ALLOWED_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 10})
_CAPABILITY_COUNT = 64


def apply_sandbox(task: dict[str, Any], *, mounts_read_only: bool, memory_counted: bool) -> None:
    """Restrict this process and its descendants to the files and system calls that `task` allows.

    Raises:
        OSError: the kernel supports Landlock, but the restriction could not be applied.
    """
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _restrict_files(task)
    _apply_filter(
        task,
        network=task["network"],
        metadata=mounts_read_only,
        uncounted_memory=memory_counted or not task["max_processes"],
    )


def forbid_spawning(task: dict[str, Any]) -> None:
    """Keep this process from starting others, without any other restriction.

    Raises:
        OSError: the task requires it, and the kernel cannot.
    """
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _apply_filter(task, network=True, metadata=True, uncounted_memory=True)


def _apply_filter(
    task: dict[str, Any], *, network: bool, metadata: bool, uncounted_memory: bool
) -> None:
    is_applied = seccomp.apply_filter(
        network=network,
        spawn=task["max_processes"] != 1,
        metadata=metadata,
        uncounted_memory=uncounted_memory,
    )
    if task["spawn_filter_required"] and not is_applied:
        raise OSError(0, "The command could not be kept from starting programs")


def drop_capabilities() -> None:
    """If running as root, drop all capabilities that commands do not need."""
    if os.getuid() == 0:
        _prctl(_PR_CAP_AMBIENT, 4)
        for capability in range(_CAPABILITY_COUNT):
            if capability not in _ALLOWED_CAPABILITIES:
                _prctl(_PR_CAPBSET_DROP, capability)


def _restrict_files(task: dict[str, Any]) -> None:
    version = _syscall(_LANDLOCK_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return  # the kernel has no Landlock
    handled_rights = max(rights for abi, rights in _RIGHTS_BY_ABI.items() if abi <= version)
    handled_net = 0b11 if version >= 4 and not task["network"] else 0  # noqa: PLR2004 - TCP bind and connect
    scoped = 0b11 if version >= 6 else 0  # noqa: PLR2004 - abstract sockets, signals
    attributes = (ctypes.c_uint64 * 3)(handled_rights, handled_net, scoped)
    size = 24 if version >= 6 else 16 if version >= 4 else 8  # noqa: PLR2004 - struct size in that ABI version
    ruleset = _syscall(_LANDLOCK_CREATE_RULESET, ctypes.byref(attributes), size, 0)
    for path in task["readable"]:
        _allow_path(ruleset, path, _READ & handled_rights, task)
    for path in task["writable"]:
        _allow_path(ruleset, path, handled_rights & ~_MAKE_DEVICES, task)
    if ruleset < 0 or _syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0) < 0:
        raise OSError(0, "The command could not be confined")


def _allow_path(ruleset: int, path: str, rights: int, task: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # paths that do not exist, or were replaced, get no rule
        fd = namespaces.open_pinned(path, task)
        is_dir = stat.S_ISDIR(os.fstat(fd).st_mode)
        rule = _PathBeneathRule(rights if is_dir else rights & _FILE_RIGHTS, fd)
        _syscall(_LANDLOCK_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0)
        os.close(fd)


class _PathBeneathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _syscall(number: int, *arguments: Any) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(ctypes.c_long(number), *arguments))


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
