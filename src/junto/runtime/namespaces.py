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
_KERNEL_DIRS = ("/proc", "/sys", "/dev")
# Where the new root is put together; nothing of it is needed, and nothing of a user is there.
_STAGING = "/sys"
_MNT_DETACH = 2
_MAX_SYMLINKS = 40
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
    """Enter the other namespaces that `task` asks for; return whether its mounts were set up.

    Afterwards only the writable directories of the task can be changed in any way. If it hides the
    rest, other paths than the readable and writable ones do not even exist. `task["directory"]` is
    the same directory in the new namespace.

    Raises:
        OSError: a directory was moved or replaced meanwhile, or a mount failed.
    """
    if not task["network"]:
        _unshare(_CLONE_NEWNET)
    _unshare(_CLONE_NEWIPC)
    if not _unshare(_CLONE_NEWNS):
        return False
    directory_path = str(Path(f"/proc/self/fd/{task['directory']}").readlink())
    hides_rest = task["hide_rest"] and "/" not in (*task["readable"], *task["writable"])
    try:
        _mount(None, "/", flags=_MS_REC | _MS_PRIVATE)
        if hides_rest:
            _mount(
                "tmpfs", _STAGING, kind="tmpfs", flags=_MS_NOSUID | _MS_NODEV, options="mode=755"
            )
    except OSError:
        return False
    # From here on, a failure is no lack of support: the command must not run without this.
    _hide_kernel_mounts()
    writable = list(_keep_outermost(path for path in task["writable"] if Path(path).is_dir()))
    if hides_rest:
        _enter_new_root(task, writable)
    else:
        for path in writable:
            _bind(path, path, task)
        _mount_scratch(task, task["scratch"])
        _make_read_only(writable)
        if task["hide_rest"]:  # for a root of `/`
            for path in ("/proc", "/sys"):
                _mount("tmpfs", path, kind="tmpfs", flags=_MS_RDONLY, options="size=4096")
    _reopen(task["directory"], directory_path)
    return True


def open_pinned(path: str, task: dict[str, Any]) -> int:
    """Open a path for `mount` or Landlock, and check that it still is what the server opened.

    Another command may have replaced a directory, or one above it, by a symlink.

    Raises:
        OSError: it cannot be opened, or is another one.
    """
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    info = os.fstat(fd)
    expected = task["pinned"].get(path)
    if expected is not None and [info.st_dev, info.st_ino] != expected:
        os.close(fd)
        raise OSError(errno.ESTALE, "a directory was replaced")
    return fd


def _keep_outermost(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths that are not beneath another one."""
    kept: list[Path] = []
    for path in sorted(paths):
        if not any(Path(path).is_relative_to(parent) for parent in kept):
            kept.append(Path(path))
            yield path


def _bind(path: str, target: str, task: dict[str, Any]) -> None:
    fd = open_pinned(path, task)
    try:
        _mount(f"/proc/self/fd/{fd}", target, flags=_MS_BIND | _MS_REC)
    finally:
        os.close(fd)


def _enter_new_root(task: dict[str, Any], writable: list[str]) -> None:
    """Make a root directory in which only the paths of the task exist, and move there."""
    for path in _keep_outermost({*task["readable"], *task["writable"]}):
        with contextlib.suppress(PermissionError):  # what we cannot reach, the command cannot
            _stage(path, task)
    for path in writable:
        _bind(path, _STAGING + path, task)
    _mount_scratch(task, _STAGING + str(task["scratch"]))
    _make_read_only([_STAGING + path for path in writable])
    os.chdir(_STAGING)
    # With the same directory as the old and the new root, the old one is mounted on top.
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.pivot_root(b".", b".") != 0 or libc.umount2(b".", _MNT_DETACH) != 0:
        raise OSError(ctypes.get_errno(), "the root directory could not be changed")
    os.chdir("/")


def _stage(path: str, task: dict[str, Any], depth: int = 0) -> None:
    """Make a path exist in the new root: its symlinks, and what it leads to."""
    if depth > _MAX_SYMLINKS:
        raise OSError(errno.ELOOP, "too many symbolic links")
    parent = ""
    for name in Path(path).parts[1:]:
        here = f"{parent}/{name}"
        staged = Path(_STAGING + here)
        if Path(here).is_symlink():
            if path in task["pinned"]:  # it was none when the server opened it
                raise OSError(errno.ESTALE, "a directory was replaced")
            with contextlib.suppress(FileExistsError):
                staged.symlink_to(Path(here).readlink())
            _stage(os.path.realpath(path), task, depth + 1)
            return
        if here != path and not staged.exists():
            staged.mkdir()
        parent = here
    source, staged = Path(path), Path(_STAGING + path)
    if not source.exists() or (staged.exists() and staged.samefile(source)):
        return  # nothing to show, or shown already as a part of another path
    if not staged.exists():
        staged.mkdir() if source.is_dir() else staged.touch()
    _bind(path, str(staged), task)


def _mount_scratch(task: dict[str, Any], path: str) -> None:
    """Mount a memory file system, which limits the size of the scratch directory."""
    max_bytes = task["max_scratch_bytes"]
    if not max_bytes:
        return
    owner = f"uid={os.getuid()},gid={os.getgid()}"
    inodes = max(1024, max_bytes // 16384)
    options = f"size={max_bytes},nr_inodes={inodes},mode=700,{owner}"
    task["pinned"].pop(task["scratch"], None)  # from here on, it is this one
    _mount("tmpfs", path, kind="tmpfs", flags=_MS_NOSUID | _MS_NODEV, options=options)


def _hide_kernel_mounts() -> None:
    """Cover file systems of the kernel that are mounted elsewhere than in their usual places."""
    for mount in list(_iter_mounts()):
        is_usual = any(mount.path.is_relative_to(directory) for directory in _KERNEL_DIRS)
        if mount.kind not in _KERNEL_FILE_SYSTEMS or is_usual or not _is_reachable(mount.path):
            continue
        if mount.path.is_dir():
            _mount("tmpfs", str(mount.path), kind="tmpfs", flags=_MS_RDONLY, options="size=4096")
        else:
            _mount("/dev/null", str(mount.path), flags=_MS_BIND)


def _is_reachable(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # what we cannot reach, the command cannot
        return False


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


def _reopen(directory_fd: int, path: str) -> None:
    """Let a descriptor refer to the same directory, as it is mounted in this namespace.

    A descriptor from before leads to the mounts of the old namespace, which are writable.
    """
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    # The root directory is a new one.
    is_same = path == "/" or os.path.samestat(os.fstat(fd), os.fstat(directory_fd))
    if is_same:
        os.dup2(fd, directory_fd)
    os.close(fd)
    if not is_same:
        raise OSError(errno.ESTALE, "the directory was moved")


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
