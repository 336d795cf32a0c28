"""The namespaces of the sandbox: processes, network, inter-process communication, mounts.

Uses only the standard library, because the supervisor runs without site-packages. A namespace that
the kernel does not grant is left out.
"""

import contextlib
import ctypes
import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWNET = 0x00020000, 0x08000000, 0x40000000
_CLONE_NEWUSER, _CLONE_NEWPID = 0x10000000, 0x20000000

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 5, 1 << 12, 1 << 14, 1 << 18
_MOUNT_FLAGS = {"nosuid": _MS_NOSUID, "nodev": _MS_NODEV, "noexec": _MS_NOEXEC}
# File systems in which the kernel shows itself and other processes, and where they belong.
_KERNEL_FILE_SYSTEMS = frozenset(
    [
        "proc", "sysfs", "configfs", "devpts", "devtmpfs", "cgroup", "cgroup2", "debugfs",
        "tracefs", "securityfs", "selinuxfs", "smackfs", "bpf", "efivarfs", "pstore", "mqueue",
        "nsfs", "binfmt_misc", "fusectl", "rpc_pipefs", "nfsd",
    ]
)  # fmt: skip
_KERNEL_DIRS = ("/proc", "/sys", "/dev", "/run")
_OCTAL_ESCAPE = re.compile(r"\\([0-7]{3})")
# A mount point that cannot be reached, or is hidden by a later mount, needs no change.
_UNREACHABLE = (errno.EACCES, errno.ENOENT, errno.ENOTDIR, errno.EINVAL)


def unshare_pid_namespace() -> bool:
    """Put the next child in a new PID namespace, which ends with it; return whether it worked."""
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        return _unshare(_CLONE_NEWPID)
    # Without root, this requires a user namespace, in which the ids are mapped to themselves.
    if not _unshare(_CLONE_NEWUSER | _CLONE_NEWPID):
        return False
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    return True


def isolate(task: dict[str, Any]) -> bool:
    """Enter the other namespaces that `task` asks for; return whether mounts are read-only now.

    Afterwards only the writable directories of the task can be changed in any way, and
    `task["directory"]` is the same directory in the new namespace.
    """
    if not task["network"]:
        _unshare(_CLONE_NEWNET)
    _unshare(_CLONE_NEWIPC)
    if not _unshare(_CLONE_NEWNS):
        return False
    try:
        _mount(None, "/", flags=_MS_REC | _MS_PRIVATE)
        writable = [os.path.realpath(path) for path in task["writable"] if Path(path).is_dir()]
        for path in writable:
            _mount(path, path, flags=_MS_BIND | _MS_REC)
        _hide_kernel_mounts()
        if task["max_scratch_bytes"]:
            _mount_scratch(task["scratch"], task["max_scratch_bytes"])
        _make_read_only(writable)
        task["directory"] = _reopen(task["directory"])
    except OSError:
        return False
    return True


def _mount_scratch(path: str, max_bytes: int) -> None:
    """Mount a memory file system, which limits the size of the scratch directory."""
    owner = f"uid={os.getuid()},gid={os.getgid()}"
    inodes = max(1024, max_bytes // 16384)
    options = f"size={max_bytes},nr_inodes={inodes},mode=700,{owner}"
    _mount("tmpfs", path, kind="tmpfs", flags=_MS_NOSUID | _MS_NODEV, options=options)


def _hide_kernel_mounts() -> None:
    """Cover file systems of the kernel that are mounted elsewhere than in their usual places."""
    for mount in list(_iter_mounts()):
        is_usual = any(mount.path.is_relative_to(directory) for directory in _KERNEL_DIRS)
        if mount.kind not in _KERNEL_FILE_SYSTEMS or is_usual:
            continue
        if mount.path.is_dir():
            _mount("tmpfs", str(mount.path), kind="tmpfs", flags=_MS_RDONLY, options="size=4096")
        elif mount.path.exists():
            _mount("/dev/null", str(mount.path), flags=_MS_BIND)


def _make_read_only(writable: Iterable[str]) -> None:
    """Make every mount read-only, except those at and beneath the writable directories."""
    directories = [Path(path) for path in writable]
    for mount in list(_iter_mounts()):
        if not any(mount.path.is_relative_to(directory) for directory in directories):
            flags = _MS_REMOUNT | _MS_BIND | _MS_RDONLY | mount.flags
            try:
                _mount(None, str(mount.path), flags=flags)
            except OSError as error:
                if error.errno not in _UNREACHABLE:
                    raise


class _MountPoint(NamedTuple):
    path: Path
    kind: str
    # Those that a remount must repeat.
    flags: int


def _iter_mounts() -> Iterator[_MountPoint]:
    """Yield each mount point of this namespace."""
    content = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
    for line in content.removesuffix("\n").split("\n"):
        fields = line.split(" ")
        path = _OCTAL_ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[4])
        flags = sum(_MOUNT_FLAGS.get(option, 0) for option in fields[5].split(","))
        yield _MountPoint(Path(path), fields[fields.index("-") + 1], flags)


def _reopen(directory_fd: int) -> int:
    """Return a descriptor of the same directory, as it is mounted in this namespace.

    A descriptor from before leads to the mounts of the old namespace, which are writable.
    """
    path = Path(f"/proc/self/fd/{directory_fd}").readlink()
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if not os.path.samestat(os.fstat(fd), os.fstat(directory_fd)):
        os.close(fd)
        raise OSError(errno.ESTALE, "the directory was moved")
    os.dup2(fd, directory_fd)
    os.close(fd)
    return directory_fd


def _mount(
    source: str | None,
    target: str,
    *,
    kind: str | None = None,
    flags: int = 0,
    options: str | None = None,
) -> None:
    def encode(text: str | None) -> bytes | None:
        return None if text is None else os.fsencode(text)

    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (encode(source), encode(target), encode(kind), ctypes.c_ulong(flags))
    if libc.mount(*arguments, encode(options)) != 0:
        raise OSError(ctypes.get_errno(), f"{target} could not be mounted")


def _unshare(flags: int) -> bool:
    return bool(ctypes.CDLL(None).unshare(flags) == 0)
