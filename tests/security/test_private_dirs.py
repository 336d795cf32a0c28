"""Directories that other users cannot enter."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from junto.domain.errors import SecurityError
from junto.security.private_dirs import ensure_private_dir, make_private_dirs, tighten_dir


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o277, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("create", [make_private_dirs, ensure_private_dir])
def test_new_directories_are_private_whatever_the_umask(tmp_path: Path, create: object) -> None:
    assert callable(create)
    create(tmp_path / "a" / "b" / "c")

    for path in ("a", "a/b", "a/b/c"):
        assert mode(tmp_path / path) == 0o700


def test_an_open_state_directory_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    tighten_dir(tmp_path)

    assert mode(tmp_path) == 0o700


def test_shared_and_home_directories_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, home = tmp_path / "shared", tmp_path / "home"
    shared.mkdir()
    home.mkdir()
    shared.chmod(0o1777)
    home.chmod(0o755)
    monkeypatch.setenv("HOME", str(home))

    tighten_dir(shared)
    tighten_dir(home)
    tighten_dir(tmp_path / "missing")

    assert (mode(shared), mode(home)) == (0o1777, 0o755)


def test_a_directory_that_others_can_access_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    with pytest.raises(SecurityError):
        ensure_private_dir(tmp_path)
