"""A Linux sandbox for commands: PID namespaces, capabilities, Landlock and seccomp.

Uses only the standard library, because the supervisor runs without site-packages. Features that the
kernel does not support are skipped.
"""

import contextlib
import ctypes
import os
import platform
import struct
from pathlib import Path
from typing import Any

_CLONE_NEWUSER, _CLONE_NEWPID = 0x10000000, 0x20000000
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_CAP_AMBIENT = 24, 38, 22, 47
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

# By machine: the AUDIT_ARCH constant; the numbers of blocked system calls (ptrace, add_key,
# request_key, keyctl, perf_event_open, process_vm_readv, process_vm_writev, kcmp, bpf, userfaultfd,
# pidfd_getfd); and the numbers of prlimit64 and ioctl, whose arguments are checked.
_SECCOMP_RULES = {
    "x86_64": (0xC000003E, (101, 248, 249, 250, 298, 310, 311, 312, 321, 323, 438), 302, 16),
    "aarch64": (0xC00000B7, (117, 217, 218, 219, 241, 270, 271, 272, 280, 282, 438), 261, 29),
}
# TIOCSTI and TIOCLINUX, which can inject input into a terminal.
_BLOCKED_IOCTLS = (0x5412, 0x541C)
_SECCOMP_ALLOW, _SECCOMP_EPERM = 0x7FFF0000, 0x00050001  # SECCOMP_RET_ERRNO | EPERM
_BPF_LOAD, _BPF_JEQ, _BPF_JGE, _BPF_RETURN = 0x20, 0x15, 0x35, 0x06
_OFFSET_SYSCALL, _OFFSET_ARCH, _OFFSET_ARG0, _OFFSET_ARG1 = 0, 4, 16, 24
_X32_SYSCALL_BIT = 0x40000000


def unshare_pid_namespace(*, confined: bool) -> bool:
    """Put the next child in a new PID namespace, which ends with it; return whether it worked."""
    uid, gid = os.getuid(), os.getgid()
    if not confined:
        return False  # the host's /proc, which it can read, would show other pids
    if uid == 0:
        return _call_libc("unshare", _CLONE_NEWPID) == 0
    # Without root, this requires a user namespace, in which the ids are mapped to themselves.
    if _call_libc("unshare", _CLONE_NEWUSER | _CLONE_NEWPID) != 0:
        return False
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    return True


def apply_sandbox(task: dict[str, Any]) -> None:
    """Restrict this process and its descendants to the files and system calls that `task` allows.

    Raises:
        OSError: the kernel supports Landlock, but the restriction could not be applied.
    """
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _restrict_files(task)
    _restrict_syscalls()


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
        _allow_path(ruleset, path, _READ & handled_rights)
    for path in task["writable"]:
        _allow_path(ruleset, path, handled_rights & ~_MAKE_DEVICES)
    if ruleset < 0 or _syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0) < 0:
        raise OSError(0, "The command could not be confined")


def _allow_path(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(OSError):  # paths that do not exist need no rule
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        is_dir = Path(path).is_dir()
        rule = _PathBeneathRule(rights if is_dir else rights & _FILE_RIGHTS, fd)
        _syscall(_LANDLOCK_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0)
        os.close(fd)


class _PathBeneathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _restrict_syscalls() -> None:
    rules = _SECCOMP_RULES.get(platform.machine())
    if rules is None:
        return
    architecture, blocked_numbers, prlimit_number, ioctl_number = rules
    program = b"".join(
        [
            _encode_instruction(_BPF_LOAD, _OFFSET_ARCH),
            _encode_instruction(_BPF_JEQ, architecture, 1, 0),
            _encode_instruction(_BPF_RETURN, _SECCOMP_EPERM),
            _encode_instruction(_BPF_LOAD, _OFFSET_SYSCALL),
            _encode_instruction(_BPF_JGE, _X32_SYSCALL_BIT, 0, 1),
            _encode_instruction(_BPF_RETURN, _SECCOMP_EPERM),
            *(
                _encode_instruction(_BPF_JEQ, number, 0, 1)
                + _encode_instruction(_BPF_RETURN, _SECCOMP_EPERM)
                for number in blocked_numbers
            ),
            # prlimit64: allowed only for the calling process (pid 0).
            _encode_instruction(_BPF_JEQ, prlimit_number, 0, 4),
            _encode_instruction(_BPF_LOAD, _OFFSET_ARG0),
            _encode_instruction(_BPF_JEQ, 0, 1, 0),
            _encode_instruction(_BPF_RETURN, _SECCOMP_EPERM),
            _encode_instruction(_BPF_RETURN, _SECCOMP_ALLOW),
            # ioctl: all requests except the blocked ones.
            _encode_instruction(_BPF_JEQ, ioctl_number, 0, 5),
            _encode_instruction(_BPF_LOAD, _OFFSET_ARG1),
            _encode_instruction(_BPF_JEQ, _BLOCKED_IOCTLS[0], 1, 0),
            _encode_instruction(_BPF_JEQ, _BLOCKED_IOCTLS[1], 0, 1),
            _encode_instruction(_BPF_RETURN, _SECCOMP_EPERM),
            _encode_instruction(_BPF_RETURN, _SECCOMP_ALLOW),
            _encode_instruction(_BPF_RETURN, _SECCOMP_ALLOW),
        ]
    )
    # Must stay referenced until prctl() returns, because the struct holds only its address.
    buffer = ctypes.create_string_buffer(program)
    filter_ = _BpfProgram(len(program) // 8, ctypes.addressof(buffer))
    ctypes.CDLL(None).prctl(_PR_SET_SECCOMP, 2, ctypes.byref(filter_), 0, 0)


def _encode_instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


class _BpfProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def _syscall(number: int, *arguments: Any) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(ctypes.c_long(number), *arguments))


def _call_libc(name: str, *arguments: int) -> int:
    return int(getattr(ctypes.CDLL(None), name)(*arguments))


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
