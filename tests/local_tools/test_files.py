"""Files beneath the allowed folders: read, written, listed, deleted."""

import os
from pathlib import Path

import pytest

from junto.domain.errors import InputOutputError, NotFoundError, SecurityError
from junto.kit.files import MOST_BYTES, Files
from junto.security.paths import Roots


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(Roots.of([tmp_path]))


def names(files: Files, path: str = ".", *, recursive: bool = False, **more: object) -> list[str]:
    options = {"glob": None, "first": 0, "limit": 100} | more
    listed = files.listed(path, recursive=recursive, **options)  # type: ignore[arg-type]
    return [entry.path for entry in listed.entries]


@pytest.mark.feature("F148")
def test_a_file_is_written_whole_with_its_folders_and_keeps_its_rights(
    files: Files, tmp_path: Path
) -> None:
    details = files.write("a/b/c.txt", b"one")
    (tmp_path / "a/b/c.txt").chmod(0o640)
    again = files.write("a/b/c.txt", b"two!")

    assert (tmp_path / "a/b/c.txt").read_bytes() == b"two!"
    assert (details.path, details.kind, details.size) == ("a/b/c.txt", "file", 3)
    assert again.mode == "-rw-r-----"
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["c.txt"]


def test_a_link_is_not_written_through_and_not_replaced(files: Files, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "folder").mkdir()
    (tmp_path / "shortcut").symlink_to("folder")

    for path in ("link", "shortcut/file", "shortcut", "folder"):
        with pytest.raises(SecurityError):
            files.write(path, b"x")

    assert (tmp_path / "target").read_text() == "kept"
    assert (tmp_path / "link").is_symlink()


def test_a_hard_link_keeps_what_it_had(files: Files, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.write_text("kept")
    os.link(outside, tmp_path / "hard")

    files.write("hard", b"new")

    assert outside.read_text() == "kept"
    outside.unlink()


@pytest.mark.parametrize("path", [".git/config", "a/.git/hooks/pre-commit", ".GIT/config", ".hg/x"])
def test_a_repository_itself_is_left_alone(files: Files, tmp_path: Path, path: str) -> None:
    with pytest.raises(SecurityError, match="repository"):
        files.write(path, b"x")
    with pytest.raises(SecurityError, match="repository"):
        files.delete(path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.feature("F150")
def test_a_file_is_deleted_and_a_folder_stays(files: Files, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "folder").mkdir()

    files.delete("link")
    with pytest.raises(InputOutputError, match="only files"):
        files.delete("folder")
    with pytest.raises(NotFoundError):
        files.delete("link")
    with pytest.raises(SecurityError):
        files.delete(".")

    assert (tmp_path / "target").exists()


@pytest.mark.feature("F149")
def test_a_folder_is_listed_by_name_by_pattern_and_page_by_page(
    files: Files, tmp_path: Path
) -> None:
    for name in ("b.py", "a.txt", "deep/c.py", "deep/deeper/d.py"):
        files.write(name, b"x")
    (tmp_path / "up").symlink_to("..")

    assert names(files) == ["a.txt", "b.py", "deep", "up"]
    assert names(files, recursive=True, glob="*.py") == ["b.py", "deep/c.py", "deep/deeper/d.py"]
    assert names(files, "deep", recursive=True) == [
        "deep/c.py", "deep/deeper", "deep/deeper/d.py",
    ]  # fmt: skip
    first = files.listed(".", recursive=True, glob=None, first=0, limit=2)
    second = files.listed(".", recursive=True, glob=None, first=first.following or 0, limit=99)
    assert [each.path for each in (*first.entries, *second.entries)] == names(files, recursive=True)
    assert second.following is None


def test_a_name_that_is_no_text_is_listed_all_the_same(files: Files, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.txt")).write_text("x")

    assert names(files) == ["\N{REPLACEMENT CHARACTER}.txt"]


@pytest.mark.feature("F151")
def test_details_are_those_of_a_link_and_not_of_what_it_leads_to(
    files: Files, tmp_path: Path
) -> None:
    (tmp_path / "passwd").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")

    assert files.details("passwd").kind == "link"
    assert files.details("pipe").kind == "other"
    assert files.details(".").kind == "folder"
    with pytest.raises(NotFoundError):
        files.details("missing")


def test_too_much_is_neither_read_nor_written(files: Files, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x")
    os.truncate(tmp_path / "large", MOST_BYTES + 1)

    with pytest.raises(InputOutputError, match="larger"):
        files.read("large")
    with pytest.raises(InputOutputError, match="may have"):
        files.write("new", b"x" * (MOST_BYTES + 1))


def test_a_write_that_fails_leaves_nothing(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputOutputError, match="No space left"):
        files.write("new", b"x")

    assert list(tmp_path.iterdir()) == []
