"""Thousands of attempts to escape the allowed folders; each test reports how many it made."""

import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from junto.domain.errors import JuntoError, SecurityError
from junto.local_tools.commands import CommandRunner
from junto.local_tools.files import LocalFiles
from junto.security.commands import SAFE_COMMANDS, CommandPolicy
from junto.security.paths import Roots
from tests.clients import Remark

SECRET = "the-secret-outside"  # noqa: S105 - what must not be seen
PLANTED = "planted-by-junto"
SWAP_SECONDS = float(os.environ.get("JUNTO_TEST_SWAP_SECONDS", "3"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with every kind of link that leads out of it."""
    outside, root = tmp_path / "outside", tmp_path / "root"
    (outside / "deep").mkdir(parents=True)
    (outside / "secret").write_text(SECRET)
    (outside / "deep" / "secret").write_text(SECRET)
    (tmp_path / "root-evil").mkdir()
    (tmp_path / "root-evil" / "secret").write_text(SECRET)
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("inside")
    targets = {
        "absolute": str(outside),
        "relative": "../outside",
        "parent": "..",
        "climbing": "a/b/../../../outside",
        "file": str(outside / "secret"),
        "relative-file": "../outside/secret",
        "slash": "/",
        "proc": "/proc/self/root",
        "proc-cwd": "/proc/self/cwd",
        "proc-fd": "/proc/self/fd",
        "dangling": str(outside / "new"),
        "loop": "loop",
        "chain": "absolute",
        "chain2": "chain/deep",
        "dev": "/dev",
        "evil": "../root-evil",
    }
    for name, target in targets.items():
        (root / f"to-{name}").symlink_to(target)
        (root / "a" / f"to-{name}").symlink_to(target if target.startswith("/") else f"../{target}")
    (root / "to-chain").unlink()
    (root / "to-chain").symlink_to("to-absolute")
    os.mkfifo(root / "fifo")
    return root


def _parent_paths() -> Iterator[str]:
    ups = (
        "..", "../", "./..", "a/..", "..//", "%2e%2e", "..%2f", "%2e%2e%2f", "..\\", "\uff0e\uff0e",
        "..\u2215", "..%c0%af", "%252e%252e", "..;", "\u2026.", "..\u200b", " ..", ".. ", "..%00",
    )  # fmt: skip
    ends = ("outside/secret", "root-evil/secret", "etc/passwd", "outside", "proc/self/environ")
    for up, count, end in itertools.product(ups, (1, 2, 3, 8, 20), ends):
        yield "/".join([up] * count) + "/" + end
        yield "a/b/" + "/".join([up] * count) + "/" + end


def _symlink_paths(root: Path) -> Iterator[str]:
    names = [entry.name for entry in root.iterdir() if entry.name.startswith("to-")]
    ends = ("", "secret", "deep/secret", "../outside/secret", "etc/passwd", "self/environ", "new",
            "1", "./secret", "deep/../secret", "root/etc/passwd", "null")  # fmt: skip
    for name, end, before in itertools.product(names, ends, ("", "a/", "a/b/../", "./a/../")):
        yield f"{before}{name}/{end}" if end else f"{before}{name}"


def _absolute_paths(root: Path) -> Iterator[str]:
    outside = root.parent / "outside" / "secret"
    targets = (
        "/etc/passwd", "/proc/self/environ", "/proc/self/root/etc/passwd", "/dev/null",
        "/proc/1/environ", "/sys/kernel/notes", "/dev/stdin", "/proc/self/mem", "/dev/fd/0",
        str(outside), f"{root}-evil/secret", f"{root}/../outside/secret",
        f"{root}//..//outside//secret", f"{root}/./../outside/secret",
    )  # fmt: skip
    for path in targets:
        yield from (
            path, f"/{path}", f"//{path}", path.upper(), f"{path}/", f"{path}/.",
            f"file://{path}", quote(path), f" {path}", f"{path}\0", f"~{path}",
            f"\\\\?\\{path}", path.replace("/", "\\"), f"{root}{path}",
        )  # fmt: skip


def _all_paths(root: Path) -> list[str]:
    return list(
        dict.fromkeys(
            itertools.chain(
                _parent_paths(), _symlink_paths(root), _absolute_paths(root), ["", ".", "/"]
            )
        )
    )


@pytest.mark.parametrize("open_method", ["openat2", "walk"])
def test_no_path_escapes_the_root(root: Path, open_method: str, remark: Remark) -> None:
    roots = Roots.from_paths([root], use_openat2=open_method == "openat2")
    files, attempts = LocalFiles(roots), 0
    before = _read_outside(root)
    for path in _all_paths(root):
        found: list[object] = []
        for operation in (
            lambda path=path: files.read(path),
            lambda path=path: files.list_directory(
                path, recursive=True, glob=None, offset=0, limit=9
            ),
            lambda path=path: files.get_info(path),
            lambda path=path: files.write(path, PLANTED.encode()),
            lambda path=path: files.delete(path),
        ):
            attempts += 1
            with contextlib.suppress(JuntoError):
                found.append(operation())
        assert SECRET not in repr(found), path
        assert "root:x:" not in repr(found), path
    remark(f"{attempts:,} tries to leave a folder ({open_method}), no escape")

    assert attempts > 3000
    assert _read_outside(root) == before


def _read_outside(root: Path) -> list[tuple[str, str]]:
    """Return the paths and contents of all files around the folder."""
    return sorted(
        (str(path), path.read_text())
        for path in root.parent.rglob("*")
        if path.is_file() and not path.is_symlink() and root not in path.parents
    )


SWAP_SCRIPT = """
import itertools, os, shutil, signal, sys
root, over = sys.argv[1], []
signal.signal(signal.SIGTERM, lambda *_: over.append(1))
os.chdir(root)
print("ready", flush=True)
for count in itertools.count():
    if over:
        print(count, flush=True)
        break
    for one, two in (("inner", "aside"), ("link", "inner"), ("inner", "link"), ("aside", "inner")):
        while True:
            try:
                os.rename(one, two)
                break
            except OSError:  # a folder was created there in the meantime
                shutil.rmtree(two, ignore_errors=True)
"""


@pytest.mark.timeout(60)
def test_swapping_a_folder_for_a_link_in_a_tight_loop_does_not_escape(
    tmp_path: Path, remark: Remark
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "file").write_text("inside")
    outside.mkdir()
    (outside / "file").write_text(SECRET)
    (root / "link").symlink_to("../outside")
    files, attempts = LocalFiles(Roots.from_paths([root])), 0
    with subprocess.Popen(
        [sys.executable, "-c", SWAP_SCRIPT, str(root)], stdout=subprocess.PIPE
    ) as swapper:
        assert swapper.stdout
        swapper.stdout.readline()
        end = time.monotonic() + SWAP_SECONDS
        while time.monotonic() < end:
            for operation in (
                lambda: files.read("inner/file"),
                lambda: files.write("inner/new", PLANTED.encode()),
                lambda: files.write("inner/deep/new", PLANTED.encode()),
                lambda: files.get_info("inner/file"),
                lambda: files.list_directory("inner", recursive=True, glob=None, offset=0, limit=9),
                lambda: files.delete("inner/new"),
            ):
                attempts += 1
                with contextlib.suppress(JuntoError):
                    assert SECRET not in repr(operation())
        swapper.terminate()
        swaps = int(swapper.communicate(timeout=30)[0])
    remark(f"{attempts:,} tries during {swaps:,} swaps, no escape")

    assert swaps > 1000
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"file": SECRET}


@pytest.fixture
def folder_with_proc(tmp_path: Path) -> Iterator[Path]:
    """A folder with procfs mounted beneath, as a directory and as a single file."""
    folder = tmp_path / "root"
    (folder / "processes").mkdir(parents=True)
    (folder / "variables").touch()
    if subprocess.run(
        ["mount", "-t", "proc", "proc", folder / "processes"], check=False
    ).returncode:
        pytest.skip("mounting needs root")
    variables = f"/proc/{os.getpid()}/environ"
    subprocess.run(["mount", "--bind", variables, folder / "variables"], check=True)
    yield folder
    subprocess.run(["umount", folder / "variables"], check=True)
    subprocess.run(["umount", folder / "processes"], check=True)


def test_procfs_is_refused_wherever_it_is_mounted(folder_with_proc: Path) -> None:
    files = LocalFiles(Roots.from_paths([folder_with_proc]))

    for path in ("processes/self/environ", "processes/1/cmdline", "variables"):
        with pytest.raises(SecurityError):
            files.read(path)
        with pytest.raises(SecurityError):
            files.roots.read(path, 1000)
    with pytest.raises(SecurityError):
        files.list_directory("processes", recursive=False, glob=None, offset=0, limit=5)
    with pytest.raises(SecurityError):
        Roots.from_paths([folder_with_proc / "processes"]).read("self/environ", 1000)


async def test_a_command_does_not_see_procfs_in_its_roots(
    folder_with_proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED", SECRET)
    runner = CommandRunner(
        roots=Roots.from_paths([folder_with_proc]), commands=CommandPolicy(SAFE_COMMANDS)
    )

    for path in (f"processes/{os.getpid()}/environ", "processes/self/environ", "variables"):
        with pytest.raises(SecurityError):
            await runner.run("cat", [path], None, 20)
    everything = await runner.run("grep", ["-r", "", "."], None, 20)

    assert everything.stdout == ""


def test_kernel_filesystems_are_refused_even_below_a_root_of_slash() -> None:
    files = LocalFiles(Roots.from_paths([Path("/")]))

    for path in ("/proc/self/environ", "proc/self/status", "/sys/kernel/notes", "/dev/zero"):
        with pytest.raises(JuntoError):
            files.read(path)
    with pytest.raises(JuntoError):
        files.list_directory("/proc/self", recursive=False, glob=None, offset=0, limit=5)
    everything = files.list_directory("/", recursive=True, glob="status", offset=0, limit=50)
    assert not [each for each in everything.entries if each.path.startswith("proc/")]
    with pytest.raises(JuntoError):
        files.write("/dev/shm/junto-test", b"x")  # noqa: S108
