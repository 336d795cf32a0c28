"""Edits of other programs' files: content, symlinks, permissions and backups."""

import os
import stat
from functools import partial
from pathlib import Path

import pytest

from junto.cli.clients.config_files import edit_file
from junto.cli.clients.formats import ConfigSyntaxError
from junto.domain.errors import InputOutputError


def _append_line(text: str) -> str:
    return text + "more\n"


def _backups(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.junto-backup-*"))


def _replace_with(text: str, _old: str) -> str:
    return text


def test_a_missing_file_and_its_folders_are_created_for_the_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "one" / "two" / "file"

    change = edit_file(file, _append_line)

    assert (change.changed, change.backup) == (True, None)
    assert file.read_text() == "more\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_file_keeps_its_permissions_and_is_backed_up(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    file.chmod(0o640)

    change = edit_file(file, _append_line)

    assert file.read_text() == "old\nmore\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert change.backup
    assert change.backup.parent == tmp_path
    assert change.backup.read_text() == "old\n"
    assert stat.S_IMODE(change.backup.stat().st_mode) == 0o600
    assert sorted(tmp_path.iterdir()) == [file, change.backup], "something was left behind"


def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    # Only root can set another owner; other users own the file before and after.
    owner = (1234, 2345) if os.getuid() == 0 else (os.getuid(), os.getgid())
    os.chown(file, *owner)

    change = edit_file(file, _append_line)

    assert change.backup
    for each in (file, change.backup):
        assert (each.stat().st_uid, each.stat().st_gid) == owner


def test_an_unchanged_file_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    before = file.stat()

    change = edit_file(file, lambda text: text)

    assert (change.changed, change.backup) == (False, None)
    assert file.stat() == before
    assert list(tmp_path.iterdir()) == [file]


def test_an_edit_without_changes_creates_no_file(tmp_path: Path) -> None:
    assert not edit_file(tmp_path / "folder" / "file", lambda text: text).changed
    assert list(tmp_path.iterdir()) == []


def test_a_symlink_is_kept_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "home").mkdir()
    target, link = tmp_path / "dotfiles" / "file", tmp_path / "home" / "file"
    target.write_text("old\n")
    link.symlink_to("../dotfiles/file")

    change = edit_file(link, _append_line)

    assert link.is_symlink()
    assert target.read_text() == "old\nmore\n"
    assert change.backup
    assert change.backup.parent == link.parent, "a repository of dotfiles is no place for backups"


def test_the_target_of_a_dangling_symlink_is_created(tmp_path: Path) -> None:
    link = tmp_path / "file"
    link.symlink_to(tmp_path / "away" / "target")

    edit_file(link, _append_line)

    assert link.is_symlink()
    assert (tmp_path / "away" / "target").read_text() == "more\n"


def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    file.chmod(0o444)

    with pytest.raises(InputOutputError, match="read-only"):
        edit_file(file, _append_line)

    assert file.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_instead_of_a_file_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(InputOutputError, match="is no ordinary file"):
        edit_file(tmp_path, _append_line)


def test_a_file_instead_of_a_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(InputOutputError, match="cannot be changed"):
        edit_file(tmp_path / "file" / "inner", _append_line)


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_kept(tmp_path: Path, bom: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(bom + "größe\r\n".encode())

    edit_file(file, _append_line)

    assert file.read_bytes() == bom + "größe\r\nmore\n".encode()


def test_invalid_utf_8_is_reported_with_its_position(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes("line\nße ".encode() + b"\xff\xfe")

    with pytest.raises(ConfigSyntaxError) as caught:
        edit_file(file, _append_line)

    assert (caught.value.line, caught.value.column) == (2, 4)


def test_the_first_and_the_latest_two_backups_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "file[1]"
    file.write_text("0")

    for number in range(1, 7):
        edit_file(file, partial(_replace_with, str(number)))

    assert [each.read_text() for each in _backups(tmp_path)] == ["0", "4", "5"]


def test_a_concurrent_write_of_another_program_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    other_texts = ["theirs\n"]

    def edit(text: str) -> str:
        if other_texts:
            file.write_text(other_texts.pop())  # between our reading and our writing
        return _append_line(text)

    edit_file(file, edit)

    assert file.read_text() == "theirs\nmore\n"
    assert [each.read_text() for each in _backups(tmp_path)] == ["theirs\n"]


def test_an_edit_gives_up_on_a_file_that_keeps_changing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("0")

    def edit(text: str) -> str:
        file.write_text(str(int(text) + 1))
        return "ours"

    with pytest.raises(InputOutputError, match="keeps changing"):
        edit_file(file, edit)

    assert file.read_text() == "3"
    assert list(tmp_path.iterdir()) == [file]


def test_a_pipe_and_a_huge_file_are_left_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(60 * 1024 * 1024)

    for path in (pipe, huge):
        with pytest.raises(InputOutputError, match="left alone"):
            edit_file(path, _append_line)
