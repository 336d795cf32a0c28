"""The wheel and the source archive: what is in them, and that the wheel works by itself."""

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata

from junto import __version__
from tests.clients import SECONDS, TOOLS, child, clean_environment
from tests.deploy.environments import environment_with
from tests.deploy.recipe import ROOT

# What the extras bring, by the names under which it is imported.
EXTRAS = (
    "anthropic",
    "charset_normalizer",
    "claude_agent_sdk",
    "docx",
    "lxml",
    "numkong",
    "numpy",
    "onnxruntime",
    "psycopg",
    "psycopg_pool",
    "pypdfium2",
    "redis",
    "tokenizers",
    "usearch",
    "watchfiles",
    "xllamacpp",
)


def _built(source: Path, target: Path, kind: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory"]
    subprocess.run(
        [*command, str(target)], cwd=source, capture_output=True, timeout=SECONDS, check=True
    )
    (found,) = target.iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_it_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        facts = f"junto-{__version__}.dist-info"
        metadata = Metadata.from_email(archive.read(f"{facts}/METADATA"), validate=True)
        scripts = archive.read(f"{facts}/entry_points.txt").decode()

    assert (metadata.name, str(metadata.version)) == ("junto", __version__)
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.description_content_type == "text/markdown"
    assert metadata.description == (ROOT / "README.md").read_text()
    assert "junto = junto.cli:main" in scripts
    # Without it, an environment of uv's could not fetch the weights.
    needed = {str(each.name) for each in metadata.requires_dist or () if "embedded" in str(each)}
    assert "pip" in needed


def test_it_holds_junto_and_nothing_else(wheel: Path) -> None:
    names = _names(wheel)

    assert {"junto/py.typed", f"junto-{__version__}.dist-info/licenses/LICENSE"} <= names
    assert {name.partition("/")[0] for name in names} == {"junto", f"junto-{__version__}.dist-info"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pth")]


def test_the_source_archive_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    archive = _built(ROOT, tmp_path / "sdist", "sdist")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    source = tmp_path / f"junto-{__version__}"

    again = _built(source, tmp_path / "wheel", "wheel")

    assert again.read_bytes() == wheel.read_bytes()
    assert {path.name for path in source.iterdir()} == {
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "README.zh-TW.md",
        "docs",
        "examples",
        "pyproject.toml",
        "src",
    }


@pytest.mark.parametrize("without", [(), EXTRAS], ids=["with extras", "without extras"])
def test_it_works_by_itself(wheel: Path, tmp_path: Path, without: tuple[str, ...]) -> None:
    own = environment_with(wheel, tmp_path / "environment", without)
    command = [str(own / "bin" / "python"), "-m", "junto"]
    environment = clean_environment(tmp_path)

    done = subprocess.run(
        [*command, "doctor", "--json"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    with child([*command, "mcp"], environment, tmp_path) as client:
        tools = [tool["name"] for tool in client.ask(1, "tools/list")["result"]["tools"]]
        arguments = {"query": "How are answers cached?"}
        found = client.ask(2, "tools/call", name="search_system_knowledge", arguments=arguments)

    assert tools == (TOOLS[:-1] if without else TOOLS)
    assert "cache.seconds" in json.dumps(found["result"])  # the manual is there, and is searched
    states = {each["check"]: each["state"] for each in json.loads(done.stdout)["findings"]}
    assert states["stdio"] == states["state"] == "ok"
    # Without a key and without the extra there is nobody to ask, and it says so.
    assert states["default model"] == ("broken" if without else "warning")
    assert done.returncode == int(bool(without))
