"""Thousands of ways out, none of which leads anywhere; each test says how many it tried."""

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

from junto.domain.errors import JuntoError
from junto.kit.files import Files
from junto.security import paths
from junto.security.paths import Roots
from tests.clients import Remark

SECRET = "the-secret-outside"  # noqa: S105 - what must not be seen
PLANTED = "planted-by-junto"


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(paths, "_LINUX", request.param == "openat2")
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder full of links that lead out, in all the ways there are."""
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


def _climbs() -> Iterator[str]:
    ups = (
        "..", "../", "./..", "a/..", "..//", "%2e%2e", "..%2f", "%2e%2e%2f", "..\\", "\uff0e\uff0e",
        "..\u2215", "..%c0%af", "%252e%252e", "..;", "\u2026.", "..\u200b", " ..", ".. ", "..%00",
    )  # fmt: skip
    ends = ("outside/secret", "root-evil/secret", "etc/passwd", "outside", "proc/self/environ")
    for up, count, end in itertools.product(ups, (1, 2, 3, 8, 20), ends):
        yield "/".join([up] * count) + "/" + end
        yield "a/b/" + "/".join([up] * count) + "/" + end


def _links(root: Path) -> Iterator[str]:
    names = [entry.name for entry in root.iterdir() if entry.name.startswith("to-")]
    ends = ("", "secret", "deep/secret", "../outside/secret", "etc/passwd", "self/environ", "new",
            "1", "./secret", "deep/../secret", "root/etc/passwd", "null")  # fmt: skip
    for name, end, before in itertools.product(names, ends, ("", "a/", "a/b/../", "./a/../")):
        yield f"{before}{name}/{end}" if end else f"{before}{name}"


def _absolutes(root: Path) -> Iterator[str]:
    outside = root.parent / "outside" / "secret"
    paths = (
        "/etc/passwd", "/proc/self/environ", "/proc/self/root/etc/passwd", "/dev/null",
        "/proc/1/environ", "/sys/kernel/notes", "/dev/stdin", "/proc/self/mem", "/dev/fd/0",
        str(outside), f"{root}-evil/secret", f"{root}/../outside/secret",
        f"{root}//..//outside//secret", f"{root}/./../outside/secret",
    )  # fmt: skip
    for path in paths:
        yield from (
            path, f"/{path}", f"//{path}", path.upper(), f"{path}/", f"{path}/.",
            f"file://{path}", quote(path), f" {path}", f"{path}\0", f"~{path}",
            f"\\\\?\\{path}", path.replace("/", "\\"), f"{root}{path}",
        )  # fmt: skip


def _every(root: Path) -> list[str]:
    return list(
        dict.fromkeys(itertools.chain(_climbs(), _links(root), _absolutes(root), ["", ".", "/"]))
    )


def test_no_path_leads_out(root: Path, way: str, remark: Remark) -> None:
    files, tried = Files(Roots.of([root])), 0
    before = _outside(root)
    for path in _every(root):
        found: list[object] = []
        for act in (
            lambda path=path: files.read(path),
            lambda path=path: files.listed(path, recursive=True, glob=None, first=0, limit=9),
            lambda path=path: files.details(path),
            lambda path=path: files.write(path, PLANTED.encode()),
            lambda path=path: files.delete(path),
        ):
            tried += 1
            with contextlib.suppress(JuntoError):
                found.append(act())
        assert SECRET not in repr(found), path
        assert "root:x:" not in repr(found), path
    remark(f"{tried:,} tries to leave a folder ({way}), no escape")

    assert tried > 3000
    assert _outside(root) == before


def _outside(root: Path) -> list[tuple[str, str]]:
    """Return all that lies around the folder, with its content."""
    return sorted(
        (str(path), path.read_text())
        for path in root.parent.rglob("*")
        if path.is_file() and not path.is_symlink() and root not in path.parents
    )


SWAPS = """
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
            except OSError:  # a folder was made there meanwhile
                shutil.rmtree(two, ignore_errors=True)
"""


@pytest.mark.timeout(60)
def test_swapping_a_folder_for_a_link_in_a_tight_loop_gets_nothing(
    tmp_path: Path, remark: Remark
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "file").write_text("inside")
    outside.mkdir()
    (outside / "file").write_text(SECRET)
    (root / "link").symlink_to("../outside")
    files, tried = Files(Roots.of([root])), 0
    with subprocess.Popen(
        [sys.executable, "-c", SWAPS, str(root)], stdout=subprocess.PIPE
    ) as swapper:
        assert swapper.stdout
        swapper.stdout.readline()
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for act in (
                lambda: files.read("inner/file"),
                lambda: files.write("inner/new", PLANTED.encode()),
                lambda: files.write("inner/deep/new", PLANTED.encode()),
                lambda: files.details("inner/file"),
                lambda: files.listed("inner", recursive=True, glob=None, first=0, limit=9),
                lambda: files.delete("inner/new"),
            ):
                tried += 1
                with contextlib.suppress(JuntoError):
                    assert SECRET not in repr(act())
        swapper.terminate()
        swaps = int(swapper.communicate(timeout=30)[0])
    remark(f"{tried:,} tries during {swaps:,} swaps, no escape")

    assert swaps > 1000
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"file": SECRET}


def test_the_whole_disk_as_a_root_still_has_no_kernel_in_it() -> None:
    files = Files(Roots.of([Path("/")]))

    for path in ("/proc/self/environ", "proc/self/status", "/sys/kernel/notes", "/dev/zero"):
        with pytest.raises(JuntoError):
            files.read(path)
    with pytest.raises(JuntoError):
        files.listed("/proc/self", recursive=False, glob=None, first=0, limit=5)
    everything = files.listed("/", recursive=True, glob="status", first=0, limit=50)
    assert not [each for each in everything.entries if each.path.startswith("proc/")]
    with pytest.raises(JuntoError):
        files.write("/dev/shm/junto-test", b"x")  # noqa: S108
