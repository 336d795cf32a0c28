"""Directories that a command replaces, to get more in the next one."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import pytest

from junto.domain.errors import JuntoError
from junto.local_tools.commands import CommandLimits, CommandRunner
from junto.security.commands import SAFE_COMMANDS, CommandPolicy, CommandRule
from junto.security.paths import Roots
from tests.processes import command_lines

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can confine a command")

ANYTHING = CommandRule(unchecked=True, writes=True, spawns=True)
SWAP_SECONDS = float(os.environ.get("JUNTO_TEST_SWAP_SECONDS", "2"))


def build_runner(*roots: Path, rule: CommandRule = ANYTHING, **options: object) -> CommandRunner:
    rules = {**SAFE_COMMANDS, "bash": rule, "python3": rule}
    return CommandRunner(
        roots=Roots.from_paths(roots),
        commands=CommandPolicy(rules),
        **options,  # type: ignore[arg-type]
    )


async def run(runner: CommandRunner, *words: str) -> str:
    try:
        output = await runner.run(words[0], words[1:], None, 20)
    except JuntoError as error:
        return error.message
    return output.stdout + output.stderr


def list_processes() -> list[str]:
    return [path.name for path in Path("/proc").glob("[0-9]*")]


async def test_a_scratch_directory_that_is_replaced_by_a_link_opens_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The temporary directories lie in a root, as with a root of /tmp."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(root))
    swap = (
        f"import os, time\nend = time.time() + {SWAP_SECONDS}\n"
        "while time.time() < end:\n"
        "    for name in os.listdir('.'):\n"
        "        if name.startswith('junto-') and name not in os.environ['TMPDIR']:\n"
        "            try: os.rmdir(name); os.symlink('/', name)\n"
        "            except OSError: pass\n"
    )
    runner = build_runner(root)
    swapper = asyncio.create_task(run(runner, "python3", "-c", swap))

    while not swapper.done():
        await run(runner, "bash", "-c", f"echo x > {outside}/planted")

    assert not (outside / "planted").exists()


@pytest.mark.parametrize("order", ["outer first", "inner first"])
async def test_a_nested_root_whose_parent_is_replaced_opens_nothing(
    tmp_path: Path, order: str
) -> None:
    outer, inner = tmp_path / "a", tmp_path / "a" / "x" / "sub"
    inner.mkdir(parents=True)
    (tmp_path / "secret").write_text("outside")
    roots = (outer, inner) if order == "outer first" else (inner, outer)
    runner = build_runner(*roots)

    await run(runner, "bash", "-c", f"cd {outer}; mv x y; mkdir x; ln -s / x/sub")
    later = [
        await run(runner, "bash", "-c", f"cat {tmp_path}/secret; echo x > {tmp_path}/planted"),
        await run(runner, "cat", f"{inner}{tmp_path}/secret"),
    ]

    assert not any("outside" in text.replace("outside the", "") for text in later)
    assert not (tmp_path / "planted").exists()
    with pytest.raises(JuntoError):
        runner.roots.read(f"{inner}{tmp_path}/secret", 100)


def stat_null_device() -> tuple[int, float]:
    info = Path("/dev/null").stat()
    return info.st_mode, info.st_mtime


async def test_standard_input_is_no_device(tmp_path: Path) -> None:
    before = stat_null_device()
    script = "import os\nfor f in (lambda: os.fchmod(0, 0o664), lambda: os.utime(0, (1, 1))): f()"

    await run(build_runner(tmp_path), "python3", "-c", script)
    text = await run(build_runner(tmp_path), "python3", "-c", "import sys; print(sys.stdin.read())")

    assert stat_null_device() == before
    assert text == "\n"


async def test_a_pair_of_sockets_cannot_send_elsewhere(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "s"))
        receiver.settimeout(0)
        script = (
            "import socket as s\n"
            "for kind in (s.SOCK_DGRAM, s.SOCK_RAW, s.SOCK_STREAM, s.SOCK_SEQPACKET):\n"
            "    try:\n"
            "        a, b = s.socketpair(s.AF_UNIX, kind)\n"
            "        a.sendto(b'x', 's')\n"
            "    except OSError: pass\n"
            "a, b = s.socketpair(); a.send(b'y'); print(b.recv(1))\n"
        )
        text = await run(build_runner(tmp_path), "python3", "-c", script)

        with pytest.raises(BlockingIOError):
            receiver.recv(1)
    assert text == "b'y'\n"


SHARED_MEMORY = """
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
size, held = 50 * 2**20, 0
for _ in range(20):
    address = libc.mmap(None, size, 3, 0x21, -1, 0)
    if address in (None, 2**64 - 1): break
    ctypes.memset(address, 1, size)
    libc.munmap(ctypes.c_void_p(address + 4096), ctypes.c_size_t(size - 4096))
    held += size
print(held // 2**20)
"""


@pytest.mark.parametrize("spawns", [False, True])
async def test_memory_that_is_unmapped_but_not_freed_counts(
    tmp_path: Path, *, spawns: bool
) -> None:
    rule = CommandRule(unchecked=True, spawns=spawns)
    limits = CommandLimits(memory_bytes=256 * 1024**2)

    text = await run(
        build_runner(tmp_path, rule=rule, limits=limits), "python3", "-c", SHARED_MEMORY
    )

    assert "too much memory" in text or int(text) < 300


async def test_a_process_without_its_first_thread_is_still_counted_and_killed(
    tmp_path: Path,
) -> None:
    script = (
        "import ctypes, os, threading, time\n"
        "def work():\n"
        f"    open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(30)\n"
        "if os.fork() == 0:\n"
        "    threading.Thread(target=work).start(); time.sleep(0.5)\n"
        "    ctypes.CDLL(None).syscall(60, 0)\n"
        "time.sleep(1)\n"
    )
    runner = build_runner(tmp_path, sandboxed=False)

    await run(runner, "python3", "-c", script)

    assert (tmp_path / "pid").read_text() not in list_processes()


# Deeper than a path may be long, and than a recursive function may descend. A shell takes longer
# for this than a command may run.
NEST = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"


@pytest.mark.parametrize(
    "damage",
    ["rm -rf $TMPDIR", f'cd $TMPDIR; python3 -c "{NEST}"'],
    ids=["removed", "too deep"],
)
async def test_a_damaged_scratch_directory_leaves_no_process(tmp_path: Path, damage: str) -> None:
    mark = f"31.{os.getpid()}"
    runner = build_runner(tmp_path, sandboxed=False)

    await run(runner, "bash", "-c", f"{damage}; sleep {mark} & sleep 1")

    assert not any(mark in words for words in command_lines().values())


async def test_no_namespace_can_be_created(tmp_path: Path) -> None:
    script = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "for flags in (0x10000011, 0x10020011, 0x40000011):\n"
        "    print(libc.syscall(56, flags, 0, 0, 0, 0), ctypes.get_errno())\n"
    )

    assert await run(build_runner(tmp_path), "python3", "-c", script) == "-1 1\n" * 3


async def test_temporary_directories_may_be_reached_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "link"))

    text = await run(
        build_runner(tmp_path / "root"), "bash", "-c", "echo x > $TMPDIR/f; cat $TMPDIR/f"
    )

    assert text == "x\n"
    assert list((tmp_path / "real").iterdir()) == []


async def test_what_a_replaced_scratch_directory_links_to_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, root = tmp_path / "victim", tmp_path / "root"
    victim.mkdir()
    root.mkdir()
    (victim / "file").write_text("precious")

    def create_and_replace(prefix: str, **_options: object) -> str:
        link = tmp_path / f"{prefix}swapped"
        link.symlink_to(victim)
        return str(link)

    monkeypatch.setattr("tempfile.mkdtemp", create_and_replace)

    text = await run(build_runner(root), "bash", "-c", "echo ran")

    assert "ran" not in text.split()
    assert (victim / "file").read_text() == "precious"
