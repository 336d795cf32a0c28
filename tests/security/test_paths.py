"""Nothing leads out of the allowed folders: no link, no spelling, no odd file."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.domain.errors import InputOutputError, JuntoError, NotFoundError, SecurityError
from junto.security import paths
from junto.security.paths import Roots


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Use the kernel's way, and the one for kernels that have none."""
    monkeypatch.setattr(paths, "_LINUX", request.param == "openat2")
    return str(request.param)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "file.txt").write_text("inside")
    (tmp_path / "work-evil").mkdir()
    (tmp_path / "work-evil" / "secret").write_text("outside")
    (tmp_path / "secret").write_text("outside")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "up").symlink_to("..")
    (root / "absolute").symlink_to("/etc")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    return root


@pytest.mark.parametrize(
    "path", ["deep/file.txt", "deep/../deep/./file.txt", "{root}/deep/file.txt"]
)
def test_what_lies_inside_is_read_however_it_is_named(house: Path, way: str, path: str) -> None:
    assert way
    assert Roots.of([house]).read(path.format(root=house), 100) == b"inside"


@pytest.mark.feature("F165")
@pytest.mark.parametrize(
    "path",
    [
        "../secret", "{root}/../secret", "deep/../../secret", "/etc/passwd", "link", "up/secret",
        "absolute/passwd", "loop", "{root}-evil/secret", "../work-evil/secret", "pipe", "deep", "",
        "deep\0/file.txt", "/proc/self/environ", "/dev/zero", ".", "..", "link/x",
        "deep/file.txt/x",
    ],
)  # fmt: skip
def test_what_leads_out_or_is_no_file_is_refused(house: Path, way: str, path: str) -> None:
    assert way
    with pytest.raises((SecurityError, InputOutputError, NotFoundError)) as refused:
        Roots.of([house]).read(path.format(root=house), 100)

    assert "outside" not in refused.value.message.replace("lies outside the allowed", "")


def test_a_link_that_stays_inside_may_be_followed_by_the_kernel(house: Path) -> None:
    (house / "inner").symlink_to("deep/file.txt")

    assert Roots.of([house]).read("inner", 100) == b"inside"


def test_missing_and_large_files_say_so(house: Path) -> None:
    with pytest.raises(NotFoundError, match="no missing"):
        Roots.of([house]).read("missing", 100)
    with pytest.raises(InputOutputError, match="larger than 3 bytes"):
        Roots.of([house]).read("deep/file.txt", 3)


def test_without_a_folder_nothing_is_allowed() -> None:
    with pytest.raises(SecurityError):
        Roots(()).read("/etc/passwd", 100)


names = st.sampled_from(
    ["..", ".", "deep", "link", "up", "absolute", "file.txt", "", "secret", "etc"]
)


@given(st.lists(names, max_size=8).map("/".join), st.booleans())
def test_no_spelling_leads_out(path: str, absolute: object) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "work"
        (root / "deep").mkdir(parents=True)
        (root / "deep" / "file.txt").write_text("inside")
        (Path(folder) / "secret").write_text("outside")
        (root / "link").symlink_to("../secret")
        (root / "up").symlink_to("..")
        (root / "absolute").symlink_to("/etc")
        try:
            found = Roots.of([root]).read(f"/{path}" if absolute else path, 100)
        except JuntoError:
            return
        assert found == b"inside"
