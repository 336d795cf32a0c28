"""Reading, writing, listing and deleting files below the allowed folders."""

import os
from pathlib import Path

import pytest

from junto.domain.errors import InputOutputError, NotFoundError, SecurityError
from junto.local_tools.files import MAX_FILE_BYTES, LocalFiles
from junto.security.paths import Roots


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(Roots.from_paths([tmp_path]))


def list_names(
    files: LocalFiles, path: str = ".", *, recursive: bool = False, **overrides: object
) -> list[str]:
    options = {"glob": None, "offset": 0, "limit": 100} | overrides
    listing = files.list_directory(path, recursive=recursive, **options)  # type: ignore[arg-type]
    return [entry.path for entry in listing.entries]


@pytest.mark.feature("F148")
def test_a_file_is_written_with_its_folders_and_keeps_its_mode(
    files: LocalFiles, tmp_path: Path
) -> None:
    first = files.write("a/b/c.txt", b"one")
    (tmp_path / "a/b/c.txt").chmod(0o640)
    second = files.write("a/b/c.txt", b"two!")

    assert (tmp_path / "a/b/c.txt").read_bytes() == b"two!"
    assert (first.path, first.kind, first.size) == ("a/b/c.txt", "file", 3)
    assert second.mode == "-rw-r-----"
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["c.txt"]


def test_writing_neither_follows_nor_replaces_a_link(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "folder").mkdir()
    (tmp_path / "shortcut").symlink_to("folder")

    for path in ("link", "shortcut/file", "shortcut", "folder"):
        with pytest.raises(SecurityError):
            files.write(path, b"x")

    assert (tmp_path / "target").read_text() == "kept"
    assert (tmp_path / "link").is_symlink()


def test_writing_to_a_hard_link_leaves_the_other_name_unchanged(
    files: LocalFiles, tmp_path: Path
) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.write_text("kept")
    os.link(outside, tmp_path / "hard")

    files.write("hard", b"new")

    assert outside.read_text() == "kept"
    outside.unlink()


@pytest.mark.parametrize("path", [".git/config", "a/.git/hooks/pre-commit", ".GIT/config", ".hg/x"])
def test_the_internals_of_a_repository_are_not_changed(
    files: LocalFiles, tmp_path: Path, path: str
) -> None:
    with pytest.raises(SecurityError, match="repository"):
        files.write(path, b"x")
    with pytest.raises(SecurityError, match="repository"):
        files.delete(path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.feature("F150")
def test_files_and_links_are_deleted_but_folders_are_not(files: LocalFiles, tmp_path: Path) -> None:
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
def test_a_folder_is_listed_by_name_pattern_and_page(files: LocalFiles, tmp_path: Path) -> None:
    for name in ("b.py", "a.txt", "deep/c.py", "deep/deeper/d.py"):
        files.write(name, b"x")
    (tmp_path / "up").symlink_to("..")

    assert list_names(files) == ["a.txt", "b.py", "deep", "up"]
    assert list_names(files, recursive=True, glob="*.py") == [
        "b.py",
        "deep/c.py",
        "deep/deeper/d.py",
    ]
    assert list_names(files, "deep", recursive=True) == [
        "deep/c.py", "deep/deeper", "deep/deeper/d.py",
    ]  # fmt: skip
    first = files.list_directory(".", recursive=True, glob=None, offset=0, limit=2)
    second = files.list_directory(
        ".", recursive=True, glob=None, offset=first.next_offset or 0, limit=99
    )
    assert [each.path for each in (*first.entries, *second.entries)] == list_names(
        files, recursive=True
    )
    assert second.next_offset is None


def test_a_name_that_is_not_valid_text_is_listed(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.txt")).write_text("x")

    assert list_names(files) == ["\N{REPLACEMENT CHARACTER}.txt"]


@pytest.mark.feature("F151")
def test_info_describes_a_link_and_not_its_target(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "passwd").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")

    assert files.get_info("passwd").kind == "link"
    assert files.get_info("pipe").kind == "other"
    assert files.get_info(".").kind == "folder"
    with pytest.raises(NotFoundError):
        files.get_info("missing")


def test_files_over_the_size_limit_are_neither_read_nor_written(
    files: LocalFiles, tmp_path: Path
) -> None:
    (tmp_path / "large").write_bytes(b"x")
    os.truncate(tmp_path / "large", MAX_FILE_BYTES + 1)

    with pytest.raises(InputOutputError, match="larger"):
        files.read("large")
    with pytest.raises(InputOutputError, match="may have"):
        files.write("new", b"x" * (MAX_FILE_BYTES + 1))


def test_a_failed_write_leaves_nothing_behind(
    files: LocalFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_disk_full(*_arguments: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", raise_disk_full)
    with pytest.raises(InputOutputError, match="No space left"):
        files.write("new", b"x")

    assert list(tmp_path.iterdir()) == []
