import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from junto.agent.filesystem import ScratchDir
from junto.domain.errors import SecurityError

CRASH_SCRIPT = """
import os, sys
from pathlib import Path
from junto.agent.filesystem import ScratchDir
folder = ScratchDir.create(Path(sys.argv[1]))
deep = folder.path / "tmp" / "deep"
deep.mkdir()
(deep / "file").touch()
(deep / "link").symlink_to(sys.argv[2])
deep.chmod(0o500)
os._exit(9)
"""


def test_folders_of_dead_servers_are_removed_and_those_of_live_ones_kept(
    tmp_path: Path,
) -> None:
    base, outside = tmp_path / "base", tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    alive = ScratchDir.create(base)
    subprocess.run([sys.executable, "-c", CRASH_SCRIPT, str(base), str(outside)], check=False)
    assert len(list(base.iterdir())) == 2

    other = ScratchDir.create(base)

    assert set(base.iterdir()) == {alive.container, other.container}
    assert (outside / "kept").exists()
    for folder in (alive, other):
        assert oct(folder.path.stat().st_mode & 0o777) == "0o700"
        folder.remove()
    assert list(base.iterdir()) == []
    assert oct(base.stat().st_mode & 0o777) == "0o700"


def test_changes_inside_a_folder_do_not_make_its_server_look_dead(tmp_path: Path) -> None:
    alive = ScratchDir.create(tmp_path / "base")
    os.utime(alive.path, (0, 0))
    for inner in alive.path.iterdir():
        inner.rmdir()

    ScratchDir.create(tmp_path / "base").remove()

    assert alive.path.exists()


def test_folders_can_be_created_and_removed_concurrently(tmp_path: Path) -> None:
    def create_and_remove(_: int) -> Path:
        folder = ScratchDir.create(tmp_path / "base")
        assert folder.path.exists()
        folder.remove()
        return folder.container

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(create_and_remove, range(200)))) == 200


def test_a_symlink_or_a_world_writable_folder_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)

    for name in ("link", "open"):
        with pytest.raises(SecurityError, match="not a folder of ours"):
            ScratchDir.create(tmp_path / name)
