import os
import subprocess
import sys
from pathlib import Path

from junto.agent.folders import Folder

DIES = """
import os, sys
from pathlib import Path
from junto.agent.folders import Folder
folder = Folder.made(Path(sys.argv[1]))
(folder.path / "tmp" / "deep").mkdir()
(folder.path / "tmp" / "deep" / "file").touch()
(folder.path / "tmp" / "deep").chmod(0o500)
os._exit(9)
"""


def test_what_a_dead_server_left_is_removed_and_what_a_living_one_has_is_not(
    tmp_path: Path,
) -> None:
    alive = Folder.made(tmp_path)
    subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], check=False)
    assert len(list(tmp_path.iterdir())) == 2

    other = Folder.made(tmp_path)

    assert set(tmp_path.iterdir()) == {alive.path, other.path}
    for folder in (alive, other):
        assert oct(folder.path.stat().st_mode & 0o777) == "0o700"
        folder.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_just_being_made_is_left_alone(tmp_path: Path) -> None:
    fresh, old = tmp_path / "junto-agent-fresh", tmp_path / "junto-agent-old"
    for folder in (fresh, old):
        folder.mkdir()
    os.utime(old, (0, 0))

    made = Folder.made(tmp_path)

    assert set(tmp_path.iterdir()) == {fresh, made.path}
