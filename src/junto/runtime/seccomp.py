"""The seccomp filter of the sandbox: which system calls a command may not make.

Uses only the standard library, because the supervisor runs without site-packages. On a machine
whose system calls are not listed here, there is no filter.
"""

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Iterable, Iterator

_PR_GET_SECCOMP, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 21, 22, 2

# The AUDIT_ARCH constant, and the column of the machine in _NUMBERS.
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
# The numbers of system calls on x86_64 and aarch64; None where there is no such call.
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "accept": (43, 202),
    "accept4": (288, 242),
    "add_key": (248, 217),
    "bind": (49, 200),
    "bpf": (321, 280),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "clone": (56, 220),
    "clone3": (435, 435),
    "connect": (42, 203),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "file_setattr": (469, 469),
    "fork": (57, None),
    "fremovexattr": (199, 16),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "futimesat": (261, None),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "kcmp": (312, 272),
    "keyctl": (250, 219),
    "lchown": (94, None),
    "listen": (50, 201),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mmap": (9, 222),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "prlimit64": (302, 261),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "request_key": (249, 218),
    "setns": (308, 268),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
    "vfork": (58, None),
}  # fmt: skip

# Never needed by a command: other processes' memory, keys, kernel interfaces, mounts, namespaces.
_ALWAYS_DENIED = (
    "ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd add_key request_key keyctl "
    "perf_event_open bpf userfaultfd mount umount2 pivot_root chroot unshare setns open_tree "
    "open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr"
)
# io_uring makes system calls that no filter sees, and the arguments of clone3 are in memory.
# Programs and the C library use other calls where these do not exist.
_ALWAYS_MISSING = "io_uring_setup io_uring_enter io_uring_register clone3"
_NETWORK = "socket connect bind listen accept accept4"
# What changes a file without opening it for writing, which Landlock does not cover.
_METADATA = (
    "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat "
    "setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat "
    "file_setattr"
)
# Memory that belongs to no process, and so is counted nowhere but in a control group.
_UNCOUNTED_MEMORY = "memfd_create memfd_secret shmget"

# TIOCSTI and TIOCLINUX inject input into a terminal.
_TERMINAL_IOCTLS = (0x5412, 0x541C)
# FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS, FS_IOC_FSSETXATTR: the attributes that chattr sets.
_METADATA_IOCTLS = (0x40086602, 0x40046602, 0x401C5820)
_CLONE_THREAD = 0x00010000
_CLONE_NEW_NAMESPACES = 0x7E020000
_MAP_SHARED_ANONYMOUS = 0x21
# Of a pair, those that are connected to each other for good; others can send anywhere.
_SOCK_TYPE_MASK, _SOCK_STREAM, _SOCK_SEQPACKET = 0xF, 1, 5

_ALLOW, _DENY, _MISSING = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_OFFSET_SYSCALL, _OFFSET_ARCH = 0, 4
_OFFSET_ARG0, _OFFSET_ARG1, _OFFSET_ARG3 = 16, 24, 40
_X32_SYSCALL_BIT = 0x40000000


def is_supported() -> bool:
    """Return whether this machine and its kernel support the filter."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0)


def apply_filter(*, network: bool, spawn: bool, metadata: bool, uncounted_memory: bool) -> bool:
    """Restrict the system calls of this process and its descendants; return whether it worked.

    Requires `PR_SET_NO_NEW_PRIVS`. The arguments say what remains allowed: to open sockets, to
    start processes (threads always can be), to change the mode, owner, times and attributes of
    files, and to allocate memory that is not counted for any process.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    denied = [_ALWAYS_DENIED]
    missing = [_ALWAYS_MISSING]
    ioctls = list(_TERMINAL_IOCTLS)
    if not network:
        denied.append(_NETWORK)
    if not metadata:
        denied.append(_METADATA)
        ioctls += _METADATA_IOCTLS
    if not uncounted_memory:
        missing.append(_UNCOUNTED_MEMORY)
    if not spawn:
        denied.append("fork vfork")
    architecture, column = machine
    program = b"".join(
        [
            _encode(_LOAD, _OFFSET_ARCH),
            _encode(_EQUAL, architecture, 1, 0),
            _encode(_RETURN, _DENY),
            _encode(_LOAD, _OFFSET_SYSCALL),
            _encode(_AT_LEAST, _X32_SYSCALL_BIT, 0, 1),
            _encode(_RETURN, _DENY),
            *_return_for(" ".join(denied), column, _DENY),
            *_return_for(" ".join(missing), column, _MISSING),
            *_restrict_clone(column, spawn=spawn),
            *([] if network else _restrict_socketpair(column)),
            *([] if uncounted_memory else _deny_shared_memory(column)),
            *_allow_own_limits(column),
            *_deny_ioctls(ioctls, column),
            _encode(_RETURN, _ALLOW),
        ]
    )
    # Must stay referenced until prctl() returns, because the struct holds only its address.
    buffer = ctypes.create_string_buffer(program)
    filter_ = _BpfProgram(len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None)
    return bool(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0) == 0)


def _return_for(names: str, column: int, value: int) -> Iterator[bytes]:
    """Yield instructions that return `value` for the system calls with these names."""
    for name in names.split():
        number = _NUMBERS[name][column]
        if number is not None:
            yield _encode(_EQUAL, number, 0, 1)
            yield _encode(_RETURN, value)


def _restrict_clone(column: int, *, spawn: bool) -> Iterator[bytes]:
    """Yield instructions that deny `clone` with new namespaces, and without `spawn` processes."""
    yield _encode(_EQUAL, _number("clone", column), 0, 6)
    yield _encode(_LOAD, _OFFSET_ARG0)
    yield _encode(_ANY_BIT, _CLONE_NEW_NAMESPACES, 0, 1)
    yield _encode(_RETURN, _DENY)
    yield _encode(_ANY_BIT, 0xFFFFFFFF if spawn else _CLONE_THREAD, 1, 0)
    yield _encode(_RETURN, _DENY)
    yield _encode(_RETURN, _ALLOW)


def _restrict_socketpair(column: int) -> Iterator[bytes]:
    """Yield instructions that allow `socketpair` only for sockets that stay connected."""
    yield _encode(_EQUAL, _number("socketpair", column), 0, 6)
    yield _encode(_LOAD, _OFFSET_ARG1)
    yield _encode(_AND, _SOCK_TYPE_MASK)
    yield _encode(_EQUAL, _SOCK_STREAM, 2, 0)
    yield _encode(_EQUAL, _SOCK_SEQPACKET, 1, 0)
    yield _encode(_RETURN, _DENY)
    yield _encode(_RETURN, _ALLOW)


def _deny_shared_memory(column: int) -> Iterator[bytes]:
    """Yield instructions that deny `mmap` of memory that stays when it is unmapped."""
    yield _encode(_EQUAL, _number("mmap", column), 0, 5)
    yield _encode(_LOAD, _OFFSET_ARG3)
    yield _encode(_AND, _MAP_SHARED_ANONYMOUS)
    yield _encode(_EQUAL, _MAP_SHARED_ANONYMOUS, 0, 1)
    yield _encode(_RETURN, _DENY)
    yield _encode(_RETURN, _ALLOW)


def _allow_own_limits(column: int) -> Iterator[bytes]:
    """Yield instructions that allow `prlimit64` only for the calling process (pid 0)."""
    yield _encode(_EQUAL, _number("prlimit64", column), 0, 4)
    yield _encode(_LOAD, _OFFSET_ARG0)
    yield _encode(_EQUAL, 0, 1, 0)
    yield _encode(_RETURN, _DENY)
    yield _encode(_RETURN, _ALLOW)


def _deny_ioctls(requests: Iterable[int], column: int) -> Iterator[bytes]:
    """Yield instructions that deny these requests of `ioctl`."""
    checks = [_encode(_EQUAL, request, 0, 1) + _encode(_RETURN, _DENY) for request in requests]
    yield _encode(_EQUAL, _number("ioctl", column), 0, 1 + 2 * len(checks))
    yield _encode(_LOAD, _OFFSET_ARG1)
    yield from checks


def _number(name: str, column: int) -> int:
    number = _NUMBERS[name][column]
    assert number is not None  # noqa: S101 - both machines have those that are looked up
    return number


def _encode(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


class _BpfProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))
