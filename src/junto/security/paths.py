"""Access to files beneath allowed root directories, safe against symlinks, races and `..`.

Each root is opened once, and every path is resolved from there by the kernel, which refuses to
leave it (`openat2`). Where `openat2` is not available, the path is opened component by component
without following symlinks.
"""

import contextlib
import errno
import os
import stat
import sys
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from junto.domain.errors import (
    InputOutputError,
    NotFoundError,
    PermissionDeniedError,
    SecurityError,
)

_LINUX = sys.platform == "linux"
_DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Never accessible, even beneath an allowed root.
_FORBIDDEN_DIRS = ("/proc", "/sys", "/dev")
# File systems in which the kernel shows itself and other processes, wherever they are mounted.
_KERNEL_FILE_SYSTEMS = frozenset(
    {
        0x9FA0,  # proc
        0x9FA2,  # usbdevfs
        0x62656572,  # sysfs
        0x62656570,  # configfs
        0x1CD1,  # devpts
        0x0027E0EB,  # cgroup
        0x63677270,  # cgroup2
        0x64626720,  # debugfs
        0x74726163,  # tracefs
        0x73636673,  # securityfs
        0xF97CFF8C,  # selinuxfs
        0x43415D53,  # smackfs
        0xCAFE4A11,  # bpf
        0xDE5E81E4,  # efivarfs
        0x6165676C,  # pstore
        0x19800202,  # mqueue
        0x6E736673,  # nsfs
        0x42494E4D,  # binfmt_misc
        0x65735543,  # fusectl
        0x67596969,  # rpc_pipefs
        0x6E667364,  # nfsd
    }
)
_MAX_OPEN_ATTEMPTS = 32
_MAX_PATH_DEPTH = 200
_ESCAPE_ERRNOS = (errno.EXDEV, errno.ELOOP, errno.ENOTDIR)


@dataclass(eq=False, slots=True, weakref_slot=True)
class _Root:
    """A root directory, held open so that later changes to symlinks do not affect it."""

    path: Path
    _fd: int | None = field(default=None, init=False)

    def get_fd(self, requested_path: str) -> int:
        if self._fd is None:
            try:
                self._fd = os.open(self.path, _DIR_FLAGS | os.O_NOFOLLOW)
            except OSError:
                raise NotFoundError(f"The folder around {requested_path} is gone.") from None
            weakref.finalize(self, os.close, self._fd)
        return self._fd


@dataclass(frozen=True, slots=True)
class DirTarget:
    """A name in an open directory, for `dir_fd` operations that cannot be redirected."""

    dir_fd: int
    name: str


@dataclass(frozen=True, slots=True)
class Roots:
    """The directories beneath which files may be accessed."""

    roots: tuple[_Root, ...]
    # The error message when there are no roots.
    empty_message: str = "No folder is allowed."
    # Whether to use `openat2` where the kernel has it. Without it, no symlink is followed at all.
    use_openat2: bool = True

    @classmethod
    def from_paths(cls, paths: Sequence[Path], *, use_openat2: bool = True) -> "Roots":
        """Return roots for the given directories."""
        roots = tuple(_Root(Path(os.path.realpath(path))) for path in paths)
        for root in roots:
            with contextlib.suppress(NotFoundError):  # it may be created later
                root.get_fd(str(root.path))
        return cls(roots, use_openat2=use_openat2)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the paths of the roots."""
        return tuple(root.path for root in self.roots)

    @property
    def identities(self) -> dict[str, list[int]]:
        """Return the device and inode of each root, as it was opened."""
        identities = {}
        for root in self.roots:
            info = os.fstat(root.get_fd(str(root.path)))
            identities[str(root.path)] = [info.st_dev, info.st_ino]
        return identities

    @contextlib.contextmanager
    def open(
        self, path: str, flags: int = os.O_RDONLY | os.O_NONBLOCK, *, follow_links: bool = True
    ) -> Iterator[int]:
        """Open `path` and yield its descriptor.

        Raises:
            SecurityError: the path is outside the roots.
            NotFoundError: the path does not exist.
            InputOutputError: the path cannot be opened.
        """
        root, relative = self._locate(path)
        with translate_os_errors(path):
            fd = self._open_beneath(
                root.get_fd(path), relative, flags | os.O_CLOEXEC, follow_links=follow_links
            )
        try:
            reject_kernel_files(fd, path)
            yield fd
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def open_parent(self, path: str, *, create: bool = False) -> Iterator[DirTarget]:
        """Open the parent directory of `path` without following symlinks.

        Raises:
            SecurityError: the path is outside the roots, or a component is a symlink.
            NotFoundError: the directory does not exist and `create` is false.
        """
        root, relative = self._locate(path)
        parent, name = os.path.split(relative)
        if name in ("", ".", ".."):
            raise SecurityError(f"{path} is an allowed folder itself, and stays as it is.")
        with translate_os_errors(path):
            fd = self._open_dir(root.get_fd(path), parent, create=create)
        try:
            reject_kernel_files(fd, path)
            yield DirTarget(fd, name)
        finally:
            os.close(fd)

    def read(self, path: str, max_bytes: int, *, follow_links: bool = True) -> bytes:
        """Return the content of the file at `path`.

        Raises:
            SecurityError: the path is outside the roots, or is not a regular file.
            NotFoundError: the file does not exist.
            InputOutputError: the file cannot be read, or is larger than `max_bytes`.
        """
        with self.open(path, follow_links=follow_links) as fd:
            info = os.fstat(fd)
            if stat.S_ISDIR(info.st_mode):
                raise InputOutputError(f"{path} is a folder. `list_files` shows what is in it.")
            if not stat.S_ISREG(info.st_mode):
                raise SecurityError(f"{path} is no ordinary file.")
            if info.st_size > max_bytes:
                raise InputOutputError(f"{path} is larger than {max_bytes:,} bytes.")
            with translate_os_errors(path):
                return _read_up_to(fd, max_bytes)

    def relativize(self, path: str) -> str:
        """Return the path relative to its root, as shown to callers.

        Raises:
            SecurityError: the path is outside the roots.
        """
        return self._locate(path)[1]

    def contains(self, path: str, base: str = ".") -> bool:
        """Return whether `path`, relative to `base`, is beneath a root after resolving symlinks."""
        try:
            root, relative = self._locate(base)
            absolute = str(root.path / relative / path)
            self._locate(absolute)
            actual = os.path.realpath(absolute)
            self._locate(actual)
            if _LINUX and Path(actual).exists():
                _reject_kernel_path(actual)
        except (SecurityError, OSError, ValueError):
            return False
        return True

    def _locate(self, path: str) -> tuple[_Root, str]:
        """Return the root that contains the path, and the path relative to it.

        This is purely lexical and does not access the file system.
        """
        if "\0" in path or not path:
            raise SecurityError("A path has no NUL in it, and is not empty.")
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise SecurityError("A path is written in characters.") from None
        if path.count("/") > _MAX_PATH_DEPTH:
            raise SecurityError("A path is not as deep as that.")
        for root in self.roots:
            normalized = os.path.normpath(root.path / path)
            relative = os.path.relpath(normalized, root.path)
            if relative != os.pardir and not relative.startswith(os.pardir + os.sep):
                return root, relative
        message = f"{path} lies outside the allowed folders."
        raise SecurityError(message if self.roots else self.empty_message)

    def _open_dir(self, root_fd: int, relative: str, *, create: bool) -> int:
        """Open the directory `relative` beneath a root, creating missing parts if `create`."""
        try:
            return self._open_beneath(root_fd, relative or ".", _DIR_FLAGS, follow_links=False)
        except FileNotFoundError:
            if not create:
                raise
        parent, name = os.path.split(relative)
        parent_fd = self._open_dir(root_fd, parent, create=True)
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=parent_fd)
            return os.open(name, _DIR_FLAGS | os.O_NOFOLLOW, dir_fd=parent_fd)
        finally:
            os.close(parent_fd)

    def _open_beneath(self, root_fd: int, relative: str, flags: int, *, follow_links: bool) -> int:
        if _LINUX and self.use_openat2:
            from junto.security.linux_calls import open_beneath  # deferred: loads ctypes

            for _ in range(_MAX_OPEN_ATTEMPTS):
                try:
                    return open_beneath(root_fd, relative, flags, follow_links=follow_links)
                except OSError as error:
                    if error.errno in (errno.ENOSYS, errno.EPERM):
                        break
                    if error.errno != errno.EAGAIN:  # EAGAIN: a concurrent rename, so retry
                        raise
            else:
                raise OSError(errno.EAGAIN, "it is being moved around")
        return _open_stepwise(root_fd, relative, flags)


@contextlib.contextmanager
def translate_os_errors(path: str) -> Iterator[None]:
    """Translate `OSError` to Junto's errors, which mention only the path as it was given."""
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError(f"There is no {path}.") from None
    except PermissionError:
        raise PermissionDeniedError(f"{path} may not be opened by this server.") from None
    except OSError as error:
        if error.errno in _ESCAPE_ERRNOS:
            raise SecurityError(f"{path} leads out of the allowed folders.") from None
        raise InputOutputError(f"{path} cannot be used: {error.strerror}.") from None


def reject_kernel_files(fd: int, path: str) -> None:
    """Reject files of the kernel: in /proc, /sys and /dev, and in such file systems elsewhere.

    Raises:
        SecurityError: the descriptor refers to such a file.
    """
    if not _LINUX:
        return
    from junto.security.linux_calls import get_file_system_type  # deferred: loads ctypes

    actual = Path(f"/proc/self/fd/{fd}").readlink()
    is_in_kernel_dir = any(actual.is_relative_to(directory) for directory in _FORBIDDEN_DIRS)
    if is_in_kernel_dir or get_file_system_type(fd) in _KERNEL_FILE_SYSTEMS:
        raise SecurityError(f"{path} belongs to the operating system and cannot be accessed.")


def _reject_kernel_path(path: str) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        reject_kernel_files(fd, path)
    finally:
        os.close(fd)


def _read_up_to(fd: int, max_bytes: int) -> bytes:
    chunks, remaining = [], max_bytes
    while remaining and (chunk := os.read(fd, min(remaining, 1 << 20))):
        chunks.append(chunk)
        remaining -= len(chunk)
    return b"".join(chunks)


def _open_stepwise(root_fd: int, relative: str, flags: int) -> int:
    """Open a path component by component without following any symlink."""
    *directories, name = Path(relative).parts or (".",)
    dir_fd = os.dup(root_fd)
    try:
        for directory in directories:
            child_fd = os.open(directory, _DIR_FLAGS | os.O_NOFOLLOW, dir_fd=dir_fd)
            os.close(dir_fd)
            dir_fd = child_fd
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=dir_fd)
    finally:
        os.close(dir_fd)
