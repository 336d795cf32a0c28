"""What a confined command cannot reach: networks, other files' attributes, shared memory."""

import asyncio
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from junto.runtime import processes
from junto.runtime.processes import ProcessSpec, run_supervised

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can confine a command")

PYTHON = os.path.realpath(sys.executable)
SYSTEM_PATHS = [sys.base_prefix, "/usr", "/lib", "/lib64", "/bin", "/dev/urandom"]
SYSTEM_PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or ""
RUNTIME = Path(processes.__file__).parent

# Every family, type and protocol with which bytes have left such a sandbox.
SOCKETS = {
    "tcp": (socket.AF_INET, socket.SOCK_STREAM, 0),
    "tcp6": (socket.AF_INET6, socket.SOCK_STREAM, 0),
    "udp": (socket.AF_INET, socket.SOCK_DGRAM, 0),
    "udp6": (socket.AF_INET6, socket.SOCK_DGRAM, 0),
    "mptcp": (socket.AF_INET, socket.SOCK_STREAM, 262),
    "sctp": (socket.AF_INET, socket.SOCK_STREAM, 132),
    "unix": (socket.AF_UNIX, socket.SOCK_STREAM, 0),
    "unix datagram": (socket.AF_UNIX, socket.SOCK_DGRAM, 0),
    "vsock": (socket.AF_VSOCK, socket.SOCK_STREAM, 0),
    "netlink": (socket.AF_NETLINK, socket.SOCK_RAW, 0),
    "packet": (socket.AF_PACKET, socket.SOCK_RAW, 0),
    "crypto": (socket.AF_ALG, socket.SOCK_SEQPACKET, 0),
    "bluetooth": (31, socket.SOCK_RAW, 0),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "root"
    path.mkdir()
    (path / "inside").write_text("x")
    (tmp_path / "outside").write_text("x")
    return path


def build_spec(folder: Path, script: str, **options: Any) -> ProcessSpec:
    spec = ProcessSpec(
        command=[PYTHON, "-c", script],
        directory=os.open(folder, os.O_RDONLY),
        environment={},
        confined=True,
        network=False,
        readable=[*SYSTEM_PATHS, str(folder.parent)],
        writable=["/dev/null", str(folder)],
    )
    return replace(spec, **options)


async def run(folder: Path, script: str, **options: Any) -> str:
    """Run a Python script in the sandbox, and return what it prints."""
    spec = build_spec(folder, script, **options)
    try:
        async with run_supervised(spec) as process, asyncio.timeout(30):
            stdout, stderr = await process.communicate()
    finally:
        os.close(spec.directory)
    assert stderr == b"", stderr.decode()
    return stdout.decode()


async def test_no_kind_of_socket_can_be_opened(folder: Path) -> None:
    script = f"""
import socket
for name, arguments in {json.dumps(SOCKETS)}.items():
    try:
        socket.socket(*arguments)
        print(name)
    except OSError:
        pass
"""

    assert await run(folder, script) == ""
    assert "tcp\n" in await run(folder, script, network=True)


async def test_io_uring_which_would_bypass_the_filter_does_not_exist(folder: Path) -> None:
    script = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(425, 8, ctypes.create_string_buffer(200)), ctypes.get_errno())
"""

    assert await run(folder, script) == "-1 38\n"


async def test_there_is_no_interface_even_to_this_machine(folder: Path) -> None:
    """The namespace stands behind the filter: without an address nothing could be reached."""
    script = "import os; print(os.readlink('/proc/self/ns/net'))"

    inside = await run(folder, script, readable=[*SYSTEM_PATHS, "/proc"])

    assert inside.strip() != os.readlink("/proc/self/ns/net")  # noqa: PTH115 - not a file


# What changes a file without opening it for writing. %s is its path.
METADATA_CHANGES = {
    "chmod": "os.chmod(path, 0o640)",
    "fchmod": "os.fchmod(os.open(path, os.O_RDONLY), 0o640)",
    "chmod of a descriptor": "os.chmod(f'/proc/self/fd/{os.open(path, os.O_RDONLY)}', 0o640)",
    "fchmodat2": "call(452, -100, path.encode(), 0o640, 0)",
    "chown": "os.chown(path, os.getuid(), os.getgid())",
    "lchown": "os.lchown(path, os.getuid(), os.getgid())",
    "utime": "os.utime(path, (1, 1))",
    "utime of a descriptor": "os.utime(os.open(path, os.O_RDONLY), (1, 1))",
    "setxattr": "os.setxattr(path, 'user.junto', b'x')",
    "chattr": "fcntl.ioctl(os.open(path, os.O_RDONLY), 0x40086602, struct.pack('l', 0x40))",
    "relative to the working directory": "os.chmod('../outside', 0o640)",
    "truncate": "os.truncate(path, 0)",
    "link": "os.link(path, 'inside2'); os.chmod('inside2', 0o640)",
    "rename": "os.rename(path, 'inside3')",
    "mount": "call(165, b'/', b'/mnt', None, 4096, None)",
    "remount": "call(165, None, b'/', None, 32 | 4096, None)",
    "unshare": "call(272, 0x10020000)",
}


@pytest.mark.parametrize("change", METADATA_CHANGES)
async def test_nothing_outside_the_writable_directories_can_be_changed(
    folder: Path, change: str
) -> None:
    outside = folder.parent / "outside"
    outside.chmod(0o644)
    before = outside.stat()
    script = f"""
import ctypes, fcntl, os, struct
def call(*arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(*arguments) != 0:
        raise OSError(ctypes.get_errno(), "no")
path = {str(outside)!r}
try:
    {METADATA_CHANGES[change]}
    print("changed")
except OSError:
    pass
"""

    assert await run(folder, script) == ""
    after = outside.stat()
    assert (after.st_mode, after.st_mtime, after.st_ctime, after.st_size) == (
        before.st_mode, before.st_mtime, before.st_ctime, before.st_size
    )  # fmt: skip


async def test_files_in_the_writable_directories_can_be_changed_in_every_way(folder: Path) -> None:
    script = """
import os
os.chmod("inside", 0o600); os.utime("inside", (1, 1)); os.mkdir("d"); os.rename("inside", "d/x")
print(oct(os.stat("d/x").st_mode), os.getcwd())
open("/dev/null", "w").write("x")
"""

    output = await run(folder, script)

    assert output == f"0o100600 {folder}\n"
    assert (folder / "d" / "x").stat().st_mtime == 1


@pytest.fixture
def read_only_mount(folder: Path) -> Iterator[Path]:
    path = folder / "mounted"
    path.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", path], check=False).returncode:
        pytest.skip("mounting needs root")
    yield path
    subprocess.run(["umount", path], check=True)


@pytest.mark.usefixtures("read_only_mount")
async def test_a_mount_inside_a_writable_directory_keeps_its_flags(folder: Path) -> None:
    script = "import os\ntry:\n os.mkdir('mounted/x')\nexcept OSError as e:\n print(e.errno)"

    assert await run(folder, script) == "30\n"


async def test_paths_that_are_not_allowed_do_not_exist(folder: Path, tmp_path: Path) -> None:
    """Not even their sizes can be read, so a link that is swapped in time shows nothing either."""
    (folder / "link").symlink_to(tmp_path / "outside")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "alias").symlink_to(elsewhere)
    paths = ["/etc/passwd", "/proc/self", "/sys/kernel", "/var/lib", "../outside", "link", "/run"]
    script = f"""
import os
print([path for path in {paths!r} if os.path.exists(path)])
print(os.listdir("."), os.listdir({str(tmp_path / "alias")!r}), os.getcwd())
open("made", "w").close()
try:
    open({str(elsewhere / "made")!r}, "w")
except OSError as error:
    print(error.errno)
"""

    output = await run(
        folder, script, hide_rest=True,
        readable=[*SYSTEM_PATHS, str(tmp_path / "alias"), "/does/not/exist"],
    )  # fmt: skip

    inside = ["inside", "link"] if "['inside" in output else ["link", "inside"]
    assert output == f"[]\n{inside} [] {folder}\n30\n"
    assert (folder / "made").exists()


async def test_the_whole_disk_as_a_root_is_still_read_only(tmp_path: Path, folder: Path) -> None:
    script = f"""
import os
os.listdir("/")
try:
    os.mkdir({str(tmp_path / "x")!r})
except OSError as error:
    print(error.errno)
"""

    assert await run(folder, script, hide_rest=True, readable=["/"]) == "30\n"


async def test_shared_memory_ends_with_the_command(folder: Path) -> None:
    key = os.getpid()
    script = f"""
import ctypes
print(ctypes.CDLL(None).shmget({key}, 4096, 0o1600) >= 0)
"""

    assert await run(folder, script) == "True\n"
    assert ctypes.CDLL(None).shmget(key, 0, 0) == -1


async def test_a_command_of_one_process_starts_threads_but_no_program(folder: Path) -> None:
    script = """
import os, subprocess, threading
threading.Thread(target=print, args=("thread",)).start()
true = "/bin/true"
for start in (os.fork, lambda: subprocess.run([true]), lambda: os.posix_spawn(true, [true], {})):
    try:
        start()
        print("started")
    except OSError:
        pass
"""

    assert await run(folder, script, max_processes=1) == "thread\n"
    assert await run(folder, script, max_processes=1, confined=False) == "thread\n"


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that belongs to the user nobody, since that user cannot reach `tmp_path`."""
    base = Path(tempfile.mkdtemp(dir="/tmp"))
    base.chmod(0o755)
    folder = base / "root"
    folder.mkdir()
    shutil.chown(folder, "nobody")
    yield folder
    shutil.rmtree(base)


@pytest.mark.skipif(
    os.getuid() != 0 or not SYSTEM_PYTHON,
    reason="only root can become another user, who needs a Python",
)
def test_the_same_holds_without_root(public_folder: Path) -> None:
    """The supervisor itself runs as another user, and gets its namespaces from a user namespace."""
    outside = public_folder.parent / "outside"
    outside.write_text("x")
    shutil.chown(outside, "nobody")
    script = f"""
import os, socket
for attempt in (lambda: os.chmod({str(outside)!r}, 0o600), socket.socket):
    try:
        attempt()
        print("possible")
    except OSError:
        pass
os.mkdir("made"); os.chmod("made", 0o700)
print("done")
"""
    # Copied, since that user may not be able to read this project, or this Python.
    supervisor = shutil.copytree(RUNTIME, public_folder.parent / "runtime") / "supervisor.py"
    command = [SYSTEM_PYTHON, "-c", script]
    limits = {"max_processes": 50, "max_memory_bytes": 2**31, "hide_rest": True}
    spec = build_spec(public_folder, script, command=command, **limits)
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps({**asdict(spec), "parent": os.getpid()}).encode())
        file.seek(0)
        completed = subprocess.run(
            [SYSTEM_PYTHON, "-E", "-s", "-S", supervisor, str(file.fileno())],
            pass_fds=[file.fileno(), spec.directory], user="nobody", group="nogroup",
            extra_groups=[], capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
    os.close(spec.directory)

    assert (completed.stdout, completed.stderr) == ("done\n", "")
    assert (public_folder / "made").is_dir()


@pytest.mark.skipif(os.getuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("hide_rest", [False, True])
async def test_a_command_does_not_run_if_one_of_its_mounts_fails(
    folder: Path, *, hide_rest: bool
) -> None:
    """Here the scratch directory, whose size the mount would limit, does not exist."""
    spec = build_spec(
        folder, "open('ran', 'w').close()", hide_rest=hide_rest,
        max_scratch_bytes=2**20, scratch=str(folder / "gone"),
    )  # fmt: skip
    try:
        async with run_supervised(spec) as process, asyncio.timeout(30):
            _, stderr = await process.communicate()
    finally:
        os.close(spec.directory)

    assert b"could not be mounted" in stderr
    assert not (folder / "ran").exists()


@pytest.fixture
def proc_in_run() -> Iterator[Path]:
    """A folder in /run, where programs of the system mount things, with a procfs beneath it."""
    path = Path(tempfile.mkdtemp(dir="/run"))
    (path / "proc").mkdir()
    if subprocess.run(["mount", "-t", "proc", "none", path / "proc"], check=False).returncode:
        path.joinpath("proc").rmdir()
        path.rmdir()
        pytest.skip("mounting needs root")
    yield path
    subprocess.run(["umount", path / "proc"], check=True)
    shutil.rmtree(path)


@pytest.mark.parametrize("hide_rest", [False, True])
async def test_a_procfs_beneath_run_shows_nothing(proc_in_run: Path, *, hide_rest: bool) -> None:
    script = "import os; print(os.listdir('proc'))"
    paths = [*SYSTEM_PATHS, str(proc_in_run)]

    output = await run(
        proc_in_run, script, readable=paths, writable=["/dev/null"], hide_rest=hide_rest
    )

    assert output == "[]\n"
