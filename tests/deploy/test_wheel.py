"""The wheel and the source archive: their contents, and that the wheel works on its own."""

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata

from junto.version import __version__
from tests.clients import TIMEOUT_SECONDS, clean_environment, stdio_server, tool_names
from tests.deploy.dockerfile import ROOT
from tests.deploy.virtual_environments import create_environment

# The packages of the extras, by import name.
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


def _build(source: Path, target: Path, kind: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory"]
    subprocess.run(
        [*command, str(target)],
        cwd=source,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    (archive,) = target.iterdir()
    return archive


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


def _list_files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_its_metadata_is_complete(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        dist_info = f"junto-{__version__}.dist-info"
        metadata = Metadata.from_email(archive.read(f"{dist_info}/METADATA"), validate=True)
        scripts = archive.read(f"{dist_info}/entry_points.txt").decode()

    assert (metadata.name, str(metadata.version)) == ("junto", __version__)
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.description_content_type == "text/markdown"
    assert metadata.description == (ROOT / "README.md").read_text()
    assert "junto = junto.cli:main" in scripts
    # The weights are downloaded with pip, which environments of uv do not have by default.
    embedded_requirements = {
        str(each.name) for each in metadata.requires_dist or () if "embedded" in str(each)
    }
    assert "pip" in embedded_requirements


def test_it_contains_junto_and_nothing_else(wheel: Path) -> None:
    names = _list_files(wheel)

    assert {"junto/py.typed", f"junto-{__version__}.dist-info/licenses/LICENSE"} <= names
    assert {name.partition("/")[0] for name in names} == {"junto", f"junto-{__version__}.dist-info"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pth")]


def test_the_source_archive_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    archive = _build(ROOT, tmp_path / "sdist", "sdist")
    with tarfile.open(archive) as contents:
        contents.extractall(tmp_path, filter="data")
    source = tmp_path / f"junto-{__version__}"

    rebuilt = _build(source, tmp_path / "wheel", "wheel")

    assert rebuilt.read_bytes() == wheel.read_bytes()
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
def test_it_works_on_its_own(wheel: Path, tmp_path: Path, without: tuple[str, ...]) -> None:
    virtual_environment = create_environment(wheel, tmp_path / "environment", without)
    command = [str(virtual_environment / "bin" / "python"), "-m", "junto"]
    environment = clean_environment(tmp_path)

    done = subprocess.run(
        [*command, "doctor", "--json"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    with stdio_server([*command, "mcp"], environment, tmp_path) as client:
        tools = [tool["name"] for tool in client.ask(1, "tools/list")["result"]["tools"]]
        arguments = {"query": "How are answers cached?"}
        found = client.ask(2, "tools/call", name="search_system_knowledge", arguments=arguments)

    agent_tools = ["claude_code_query"] if without else []
    assert [*tools, *agent_tools] == sorted(tool_names(), key=lambda name: name in agent_tools)
    assert "cache.seconds" in json.dumps(found["result"])  # the manual is included and searched
    states = {each["check"]: each["state"] for each in json.loads(done.stdout)["findings"]}
    assert states["stdio"] == states["state"] == "ok"
    # Without a key and without the extra there is no model, and doctor reports it.
    assert states["default model"] == ("broken" if without else "warning")
    assert done.returncode == int(bool(without))
