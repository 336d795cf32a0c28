"""Limits for a command and all of its descendants together: processes, memory, scratch space.

A control group enforces the first two where one is delegated to us. Otherwise the supervisor
measures the tree several times a second. Uses only the standard library, because the supervisor
runs without site-packages.
"""

import contextlib
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_CGROUP_PREFIX = "junto-"
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_BLOCK_BYTES = 512
_MAX_THREADS = 64


@dataclass(frozen=True, slots=True)
class _Controller:
    """The directory of our group in one hierarchy, and the names of its files."""

    directory: Path
    limit_file: str
    events_file: str = ""


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """A control group for one command."""

    controllers: tuple[_Controller, ...]
    # Opened in advance, because the file system is read-only when the command starts.
    join_fds: list[int] = field(default_factory=list)

    @classmethod
    def create(
        cls,
        max_processes: int,
        max_memory_bytes: int,
        *,
        mounts: Path = Path("/sys/fs/cgroup"),
        membership: Path = Path("/proc/self/cgroup"),
    ) -> "ControlGroup | None":
        """Create a group with these limits, or return None where none is delegated to us."""
        try:
            controllers = _find_controllers(mounts, membership.read_text("utf-8"))
        except OSError:
            return None
        group = cls(tuple(controllers))
        try:
            for controller, limit in zip(
                controllers, (max_processes, max_memory_bytes), strict=True
            ):
                _remove_abandoned(controller.directory.parent)
                controller.directory.mkdir(exist_ok=True)
                (controller.directory / controller.limit_file).write_text(str(limit))
                with contextlib.suppress(OSError):  # version 2: swap would come on top
                    (controller.directory / "memory.swap.max").write_text("0")
                procs = controller.directory / "cgroup.procs"
                group.join_fds.append(os.open(procs, os.O_WRONLY | os.O_CLOEXEC))
        except (OSError, ValueError):
            group.remove()
            return None
        return group

    def join(self) -> None:
        """Move this process into the group; its descendants follow."""
        for fd in self.join_fds:
            os.write(fd, b"0")

    def has_run_out_of_memory(self) -> bool:
        """Return whether the kernel killed a process of the group for its memory."""
        for controller in self.controllers:
            if controller.events_file:
                with contextlib.suppress(OSError):
                    lines = (controller.directory / controller.events_file).read_text().split("\n")
                    return any(line.startswith("oom_kill ") and line[9:] != "0" for line in lines)
        return False

    def remove(self) -> None:
        """Remove the group, whose processes have ended."""
        while self.join_fds:
            os.close(self.join_fds.pop())
        for controller in self.controllers:
            with contextlib.suppress(OSError):
                controller.directory.rmdir()


def _find_controllers(mounts: Path, membership: str) -> list[_Controller]:
    """Return the controllers for processes and memory, in this order, or none."""
    name = f"{_CGROUP_PREFIX}{os.getpid()}"
    groups = {}
    for line in membership.removesuffix("\n").split("\n"):
        _, controllers, path = line.split(":", 2)
        groups.update(dict.fromkeys(controllers.split(","), path.lstrip("/")))
    if "pids" in groups and "memory" in groups:  # version 1: one hierarchy per controller
        parents = [mounts / each / groups[each] for each in ("pids", "memory")]
        if not all(os.access(parent, os.W_OK) for parent in parents):
            return []
        return [
            _Controller(parents[0] / name, "pids.max"),
            _Controller(parents[1] / name, "memory.limit_in_bytes", "memory.oom_control"),
        ]
    # Version 2: a group with processes cannot have children with limits, so ours are siblings.
    parent = (mounts / groups.get("", "")).parent
    if not groups.get("") or not _is_delegated(parent):
        return []
    (parent / "cgroup.subtree_control").write_text("+pids +memory")
    directory = parent / name
    return [
        _Controller(directory, "pids.max"),
        _Controller(directory, "memory.max", "memory.events"),
    ]


def _is_delegated(directory: Path) -> bool:
    """Return whether systemd has left this group to us (`Delegate=` of a unit)."""
    for attribute in ("user.delegate", "trusted.delegate"):
        with contextlib.suppress(OSError):
            return os.getxattr(directory, attribute) == b"1"
    return False


def _remove_abandoned(parent: Path) -> None:
    """Remove the empty groups of supervisors that were killed."""
    for directory in parent.glob(f"{_CGROUP_PREFIX}*"):
        pid = directory.name.removeprefix(_CGROUP_PREFIX)
        if not Path("/proc", pid).exists():
            with contextlib.suppress(OSError):
                directory.rmdir()


@dataclass(slots=True)
class TreeLimits:
    """The limits of one command, and what enforces them."""

    max_processes: int
    max_memory_bytes: int
    max_scratch_bytes: int
    scratch: str
    group: ControlGroup | None = field(default=None)

    @classmethod
    def from_task(cls, task: dict[str, Any]) -> "TreeLimits | None":
        """Return the limits of a task that may start processes, or None."""
        if not task["max_processes"] or not task["max_memory_bytes"]:
            return None
        limits = cls(
            # Threads count, too, which a single process may have.
            task["max_processes"] if task["max_processes"] > 1 else _MAX_THREADS,
            task["max_memory_bytes"],
            task["max_scratch_bytes"],
            task["scratch"],
        )
        limits.group = ControlGroup.create(limits.max_processes, limits.max_memory_bytes)
        return limits

    def find_excess(self, pid: int) -> str | None:
        """Return which limit the descendants of `pid` exceed, if any."""
        if self.group is None:
            processes = find_descendants(pid)
            if sum(len(_list_threads(each)) for each in processes) > self.max_processes:
                return "processes"
            if _uses_more_memory(processes, self.max_memory_bytes):
                return "memory"
        elif self.group.has_run_out_of_memory():
            return "memory"
        if self.scratch and _measure_directory(self.scratch) > self.max_scratch_bytes:
            return "scratch"
        return None

    def close(self) -> str | None:
        """Remove the control group, and return the limit that ended the command, if any."""
        if self.group is None:
            return None
        exceeded = "memory" if self.group.has_run_out_of_memory() else None
        self.group.remove()
        return exceeded


def find_descendants(root: int) -> set[int]:
    """Return the processes that descend from `root` and are alive."""
    parents: dict[int, int] = {}
    zombies = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, parent = entry.read_text("utf-8", "replace").rpartition(")")[2].split()[:2]
            pid = int(entry.parent.name)
            parents[pid] = int(parent)
            # A process lives on in its other threads when its first one has ended.
            if state == "Z" and len(_list_threads(pid)) <= 1:
                zombies.add(pid)
    tree = {root}
    while children := {pid for pid, parent in parents.items() if parent in tree} - tree:
        tree |= children
    return tree - zombies - {root}


def _list_threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def _uses_more_memory(processes: set[int], max_bytes: int) -> bool:
    # Resident memory counts shared pages for each process: an upper bound that is quick to read.
    if sum(map(_read_resident_bytes, processes)) <= max_bytes:
        return False
    return sum(map(_read_proportional_bytes, processes)) > max_bytes


def _read_resident_bytes(pid: int) -> int:
    # Of the first thread that has any: one that has ended shows none.
    for thread in _list_threads(pid):
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = int((thread / "statm").read_text().split()[1])
            if pages:
                return pages * _PAGE_BYTES
    return 0


def _read_proportional_bytes(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n"):
            if line.startswith("Pss:") and line.split()[1] != "0":
                return int(line.split()[1]) * 1024
    return _read_resident_bytes(pid)  # a process can hide the other figure


def _measure_directory(path: str) -> int:
    """Return how much disk space a directory takes; 0 if a limited file system is mounted there."""
    total, pending = 0, [path]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        info = entry.stat(follow_symlinks=False)
                        total += info.st_blocks * _BLOCK_BYTES
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
        except FileNotFoundError:
            continue
        except OSError:  # made so deep, or so inaccessible, that it cannot be measured
            return sys.maxsize
    return total
