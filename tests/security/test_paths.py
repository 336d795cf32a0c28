"""No link, spelling or special file leads out of the allowed folders."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.domain.errors import InputOutputError, JuntoError, NotFoundError, SecurityError
from junto.security.paths import Roots


@pytest.fixture
def root(tmp_path: Path) -> Path:
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


@pytest.fixture(params=[True, False], ids=["openat2", "walk"])
def roots(request: pytest.FixtureRequest, root: Path) -> Roots:
    """Return the folder, resolved with openat2, and with the fallback for kernels without it."""
    return Roots.from_paths([root], use_openat2=request.param)


@pytest.mark.parametrize(
    "path", ["deep/file.txt", "deep/../deep/./file.txt", "{root}/deep/file.txt"]
)
def test_a_file_inside_is_read_by_any_spelling_of_its_path(
    root: Path, roots: Roots, path: str
) -> None:
    assert roots.read(path.format(root=root), 100) == b"inside"


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
def test_a_path_that_leads_out_or_is_not_a_file_is_refused(
    root: Path, roots: Roots, path: str
) -> None:
    with pytest.raises((SecurityError, InputOutputError, NotFoundError)) as refused:
        roots.read(path.format(root=root), 100)

    assert "outside" not in refused.value.message.replace("lies outside the allowed", "")


def test_a_link_that_stays_inside_may_be_followed_by_the_kernel(root: Path) -> None:
    (root / "inner").symlink_to("deep/file.txt")

    assert Roots.from_paths([root]).read("inner", 100) == b"inside"


def test_without_openat2_no_link_is_followed(root: Path) -> None:
    (root / "inner").symlink_to("deep/file.txt")

    with pytest.raises(SecurityError):
        Roots.from_paths([root], use_openat2=False).read("inner", 100)


def test_missing_and_too_large_files_are_reported(root: Path) -> None:
    with pytest.raises(NotFoundError, match="no missing"):
        Roots.from_paths([root]).read("missing", 100)
    with pytest.raises(InputOutputError, match="larger than 3 bytes"):
        Roots.from_paths([root]).read("deep/file.txt", 3)


def test_without_roots_nothing_is_allowed() -> None:
    with pytest.raises(SecurityError):
        Roots(()).read("/etc/passwd", 100)


path_segments = st.sampled_from(
    ["..", ".", "deep", "link", "up", "absolute", "file.txt", "", "secret", "etc"]
)


@given(st.lists(path_segments, max_size=8).map("/".join), st.booleans())
def test_no_spelling_escapes_the_root(path: str, absolute: object) -> None:
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
            found = Roots.from_paths([root]).read(f"/{path}" if absolute else path, 100)
        except JuntoError:
            return
        assert found == b"inside"
