import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from junto.agent.folders import Folder
from junto.domain.errors import SecurityError

DIES = """
import os, sys
from pathlib import Path
from junto.agent.folders import Folder
folder = Folder.made(Path(sys.argv[1]))
deep = folder.path / "tmp" / "deep"
deep.mkdir()
(deep / "file").touch()
(deep / "link").symlink_to(sys.argv[2])
deep.chmod(0o500)
os._exit(9)
"""


def test_what_a_dead_server_left_is_removed_and_what_a_living_one_has_is_not(
    tmp_path: Path,
) -> None:
    base, outside = tmp_path / "base", tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    alive = Folder.made(base)
    subprocess.run([sys.executable, "-c", DIES, str(base), str(outside)], check=False)
    assert len(list(base.iterdir())) == 2

    other = Folder.made(base)

    assert set(base.iterdir()) == {alive.outer, other.outer}
    assert (outside / "kept").exists()
    for folder in (alive, other):
        assert oct(folder.path.stat().st_mode & 0o777) == "0o700"
        folder.remove()
    assert list(base.iterdir()) == []
    assert oct(base.stat().st_mode & 0o777) == "0o700"


def test_nothing_that_a_run_does_in_its_folder_makes_it_look_dead(tmp_path: Path) -> None:
    alive = Folder.made(tmp_path / "base")
    os.utime(alive.path, (0, 0))
    for inner in alive.path.iterdir():
        inner.rmdir()

    Folder.made(tmp_path / "base").remove()

    assert alive.path.exists()


def test_many_at_once_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    def one(_: int) -> Path:
        folder = Folder.made(tmp_path / "base")
        assert folder.path.exists()
        folder.remove()
        return folder.outer

    with ThreadPoolExecutor(8) as people:
        assert len(set(people.map(one, range(200)))) == 200


def test_a_folder_that_somebody_else_prepared_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)

    for name in ("link", "open"):
        with pytest.raises(SecurityError, match="not a folder of ours"):
            Folder.made(tmp_path / name)
