"""Files of other programs: what happens to them, to their links and rights, and to those before."""

import os
import stat
from functools import partial
from pathlib import Path

import pytest

from junto.cli.clients.files import change
from junto.cli.clients.forms import UnreadableError
from junto.domain.errors import InputOutputError


def _added(text: str) -> str:
    return text + "more\n"


def _backups(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.junto-backup-*"))


def _numbered(number: str, _before: str) -> str:
    return number


def test_a_missing_file_is_made_for_its_owner_alone_with_its_folders(tmp_path: Path) -> None:
    file = tmp_path / "one" / "two" / "file"

    made = change(file, _added)

    assert (made.made, made.backup) == (True, None)
    assert file.read_text() == "more\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_file_keeps_its_rights_and_is_kept_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    file.chmod(0o640)

    made = change(file, _added)

    assert file.read_text() == "old\nmore\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert made.backup
    assert made.backup.parent == tmp_path
    assert made.backup.read_text() == "old\n"
    assert stat.S_IMODE(made.backup.stat().st_mode) == 0o600
    assert sorted(tmp_path.iterdir()) == [file, made.backup], "something was left behind"


def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    # Only root can give files away; for everybody else they are their own before and after.
    owner = (1234, 2345) if os.getuid() == 0 else (os.getuid(), os.getgid())
    os.chown(file, *owner)

    made = change(file, _added)

    assert made.backup
    for each in (file, made.backup):
        assert (each.stat().st_uid, each.stat().st_gid) == owner


def test_what_stays_the_same_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    before = file.stat()

    made = change(file, lambda text: text)

    assert (made.made, made.backup) == (False, None)
    assert file.stat() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_is_not_there_is_not_made_for_nothing(tmp_path: Path) -> None:
    assert not change(tmp_path / "folder" / "file", lambda text: text).made
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_one_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "home").mkdir()
    target, link = tmp_path / "dotfiles" / "file", tmp_path / "home" / "file"
    target.write_text("old\n")
    link.symlink_to("../dotfiles/file")

    made = change(link, _added)

    assert link.is_symlink()
    assert target.read_text() == "old\nmore\n"
    assert made.backup
    assert made.backup.parent == link.parent, "a repository of dotfiles is no place for backups"


def test_a_link_to_nothing_gets_a_target(tmp_path: Path) -> None:
    link = tmp_path / "file"
    link.symlink_to(tmp_path / "away" / "target")

    change(link, _added)

    assert link.is_symlink()
    assert (tmp_path / "away" / "target").read_text() == "more\n"


def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    file.chmod(0o444)

    with pytest.raises(InputOutputError, match="read-only"):
        change(file, _added)

    assert file.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_in_the_place_of_a_file_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(InputOutputError, match="is no ordinary file"):
        change(tmp_path, _added)


def test_a_file_in_the_place_of_a_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(InputOutputError, match="cannot be changed"):
        change(tmp_path / "file" / "inner", _added)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_mark_of_utf_8_stays(tmp_path: Path, mark: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(mark + "größe\r\n".encode())

    change(file, _added)

    assert file.read_bytes() == mark + "größe\r\nmore\n".encode()


def test_what_is_not_utf_8_is_told_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes("line\nße ".encode() + b"\xff\xfe")

    with pytest.raises(UnreadableError) as caught:
        change(file, _added)

    assert (caught.value.line, caught.value.column) == (2, 4)


def test_the_first_and_the_latest_two_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "file[1]"
    file.write_text("0")

    for number in range(1, 7):
        change(file, partial(_numbered, str(number)))

    assert [each.read_text() for each in _backups(tmp_path)] == ["0", "4", "5"]


def test_what_another_program_writes_meanwhile_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    others = ["theirs\n"]

    def edit(text: str) -> str:
        if others:
            file.write_text(others.pop())  # between our reading and our writing
        return _added(text)

    change(file, edit)

    assert file.read_text() == "theirs\nmore\n"
    assert [each.read_text() for each in _backups(tmp_path)] == ["theirs\n"]


def test_who_writes_all_the_time_is_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("0")

    def edit(text: str) -> str:
        file.write_text(str(int(text) + 1))
        return "ours"

    with pytest.raises(InputOutputError, match="keeps changing"):
        change(file, edit)

    assert file.read_text() == "3"
    assert list(tmp_path.iterdir()) == [file]


def test_what_is_no_ordinary_file_is_left_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(60 * 1024 * 1024)

    for path in (pipe, huge):
        with pytest.raises(InputOutputError, match="left alone"):
            change(path, _added)
