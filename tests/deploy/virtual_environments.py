"""Virtual environments for a wheel, without downloading its dependencies."""

import sysconfig
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path


def create_environment(wheel: Path, folder: Path, without: Iterable[str] = ()) -> Path:
    """Create one with the wheel and our own packages; modules in `without` cannot be imported."""
    venv.create(folder, with_pip=False)
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", vars=paths))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    # Python ignores .pth files in this directory, among them that of an editable Junto.
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib"))
    hidden = f"import sys; sys.modules.update(dict.fromkeys({sorted(without)!r}))"
    (packages / "without.pth").write_text(hidden)
    return folder
