"""Limits of a whole tree of processes, by a control group and by measuring."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from junto.runtime.tree_limits import ControlGroup, TreeLimits, find_descendants
from tests.processes import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measured in Linux's /proc")

MIB = 1024**2
# Children that each hold so many MiB, and grandchildren among them.
TREE = """
import os, signal, sys
count, size = int(sys.argv[1]), int(sys.argv[2])
for _ in range(count):
    if os.fork() == 0:
        memory = bytearray(os.urandom(2**20)) * size
        print("ready", flush=True)
        signal.pause()
signal.pause()
"""


@contextlib.contextmanager
def start_tree(count: int, mib: int) -> Iterator[int]:
    """Run a process with children, and yield the pid of their parent."""
    process = subprocess.Popen(
        [sys.executable, "-c", TREE, str(count), str(mib)], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        for _ in range(count):
            process.stdout.readline()
        yield process.pid
    finally:
        for pid in (*find_descendants(process.pid), process.pid):
            os.kill(pid, 9)
        process.communicate()


def build_limits(
    scratch: Path, *, max_processes: int = 100, max_memory_bytes: int = 2**31
) -> TreeLimits:
    return TreeLimits(max_processes, max_memory_bytes, max_scratch_bytes=MIB, scratch=str(scratch))


def test_the_processes_of_a_tree_are_counted_together(tmp_path: Path) -> None:
    with start_tree(5, 1) as pid:
        assert build_limits(tmp_path, max_processes=5).find_excess(pid) is None
        assert build_limits(tmp_path, max_processes=4).find_excess(pid) == "processes"


def test_the_memory_of_a_tree_is_added_up(tmp_path: Path) -> None:
    with start_tree(4, 40) as pid:
        assert build_limits(tmp_path, max_memory_bytes=400 * MIB).find_excess(pid) is None
        assert build_limits(tmp_path, max_memory_bytes=150 * MIB).find_excess(pid) == "memory"


def test_memory_that_processes_share_is_counted_once(tmp_path: Path) -> None:
    script = (
        "import os, signal; memory = bytearray(60 * 2**20); [os.fork() for _ in range(3)];"
        "print('ready', flush=True); signal.pause()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(8):
            process.stdout.readline()
        try:
            assert len(find_descendants(process.pid)) == 7
            limits = build_limits(tmp_path, max_memory_bytes=200 * MIB)
            assert limits.find_excess(process.pid) is None
        finally:
            for pid in (*find_descendants(process.pid), process.pid):
                os.kill(pid, 9)


def test_scratch_files_are_added_up_without_following_links(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    (scratch / "deep").mkdir(parents=True)
    (tmp_path / "large").write_bytes(os.urandom(4 * MIB))
    (scratch / "link").symlink_to(tmp_path / "large")
    limits = build_limits(scratch)

    assert limits.find_excess(os.getpid()) is None
    for number in range(3):
        (scratch / "deep" / str(number)).write_bytes(os.urandom(MIB // 2))
    assert limits.find_excess(os.getpid()) == "scratch"


@pytest.fixture
def systemd_service(tmp_path: Path) -> Path:
    """The files of control groups version 2, as of a unit with Delegate= and DelegateSubgroup=."""
    unit = tmp_path / "cgroup" / "system.slice" / "junto.service"
    (unit / "server").mkdir(parents=True)
    os.setxattr(unit, "user.delegate", b"1")
    (tmp_path / "membership").write_text("0::/system.slice/junto.service/server\n")
    return unit


def create_group(tmp_path: Path) -> ControlGroup | None:
    mounts, membership = tmp_path / "cgroup", tmp_path / "membership"
    return ControlGroup.create(20, 1000, mounts=mounts, membership=membership)


def test_a_group_that_systemd_did_not_delegate_is_left_alone(
    tmp_path: Path, systemd_service: Path
) -> None:
    os.setxattr(systemd_service, "user.delegate", b"0")

    assert create_group(tmp_path) is None
    assert [path.name for path in systemd_service.iterdir()] == ["server"]


def test_a_delegated_group_enables_its_controllers(tmp_path: Path, systemd_service: Path) -> None:
    create_group(tmp_path)  # `cgroup.procs` comes from the kernel, so there is no group in the end

    assert (systemd_service / "cgroup.subtree_control").read_text() == "+pids +memory"
    directory = systemd_service / f"junto-{os.getpid()}"
    assert (directory / "pids.max").read_text() == "20"


def test_a_process_outside_of_any_group_gets_none(tmp_path: Path) -> None:
    (tmp_path / "membership").write_text("0::/\n")

    assert create_group(tmp_path) is None


def test_a_real_group_stops_forks_and_is_removed() -> None:
    group = ControlGroup.create(5, 2**31)
    if group is None:
        pytest.skip("no control group is delegated to us")
    script = (
        "import os, signal\n"
        "for number in range(20):\n"
        "    try:\n"
        "        if os.fork() == 0: signal.pause()\n"
        "    except OSError:\n"
        "        print(number, flush=True); signal.pause()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        preexec_fn=group.join,  # noqa: PLW1509 - as the supervisor does, which has one thread
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"4\n"
        finally:
            for pid in (*find_descendants(process.pid), process.pid):
                os.kill(pid, 9)
    assert not group.has_run_out_of_memory()
    directories = [controller.directory for controller in group.controllers]

    def remove() -> bool:
        group.remove()
        return not any(directory.exists() for directory in directories)

    assert wait_until(remove)
