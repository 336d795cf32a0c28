"""Packs Junto into a bundle for Claude Desktop and its like: `make bundle`.

A bundle is a ZIP file with a manifest. Ours holds Junto's own wheel; what it depends on is fetched
by uv for the machine it runs on, in the versions that are pinned here.
"""

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# So that the same sources give the same bytes.
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def main(folder: Path) -> Path:
    """Write the bundle into `folder`, and return it."""
    version = json.loads((HERE / "manifest.json").read_text())["version"]
    folder.mkdir(parents=True, exist_ok=True)
    bundle = folder / f"junto-{version}.mcpb"
    with tempfile.TemporaryDirectory() as workplace, zipfile.ZipFile(bundle, "w") as archive:
        wheel = _wheel(Path(workplace))
        for path in (HERE / "manifest.json", HERE / "server.py", ROOT / "LICENSE", wheel):
            _add(archive, path.name, path.read_bytes())
        _add(archive, "pyproject.toml", _project(version, wheel.name).encode())
    return bundle


def _wheel(folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    subprocess.run([*command, str(folder)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, data, zipfile.ZIP_DEFLATED)


def _project(version: str, wheel: str) -> str:
    # JSON's strings and lists are TOML's too.
    return f"""\
[project]
name = "junto-bundle"
version = "{version}"
requires-python = ">=3.11"
dependencies = ["junto[documents,embedded]=={version}"]

[tool.uv]
package = false
constraint-dependencies = {json.dumps(_pins(), indent=4)}

[tool.uv.sources]
junto = {{ path = "{wheel}" }}
"""


def _pins() -> list[str]:
    text = (ROOT / "requirements" / "container.txt").read_text()
    return [pin.strip() for pin in re.findall(r"(?m)^(\S+==[^\\\n]+)\\$", text)]


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))  # noqa: T201 - whoever packs wants to know where it is
