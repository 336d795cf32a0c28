"""Environments for a wheel alone, without fetching what it depends on."""

import sysconfig
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path


def environment_with(wheel: Path, folder: Path, without: Iterable[str] = ()) -> Path:
    """Make one with the wheel and our own packages in it, as if those of `without` were not."""
    venv.create(folder, with_pip=False)
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", vars=paths))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    # What an editable Junto leaves in our own is not looked at from here.
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib"))
    hidden = f"import sys; sys.modules.update(dict.fromkeys({sorted(without)!r}))"
    (packages / "without.pth").write_text(hidden)
    return folder
