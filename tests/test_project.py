"""Checks of the project as a whole."""

import ast
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from scripts.docs.__main__ import GENERATED_FILES

from tests.features import FEATURES, OPEN, RETIRED

ROOT = Path(__file__).parents[1]


def collect_feature_marks() -> dict[str, set[str]]:
    """Return every feature id in the marks of the tests, and the files of those tests."""
    files_by_feature: dict[str, set[str]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.feature":
                for argument in node.args:
                    assert isinstance(argument, ast.Constant)
                    files_by_feature.setdefault(str(argument.value), set()).add(path.name)
    return files_by_feature


def test_every_feature_is_either_proven_or_open_or_retired() -> None:
    proven, open_, retired = set(collect_feature_marks()), set(OPEN), set(RETIRED)

    assert proven <= set(FEATURES), "a test names a feature that does not exist"
    assert set(FEATURES) - proven - open_ - retired == set(), "neither proven nor listed as open"
    assert proven & open_ == set(), "proven, so take it off the list of open ones"
    assert retired & (proven | open_) == set()
    assert open_ | retired <= set(FEATURES)


def test_the_feature_list_is_complete() -> None:
    assert len(FEATURES) == 263
    assert {f"F{number:03}" for number in range(1, 264)} == set(FEATURES)
    assert all(RETIRED.values())


@pytest.mark.feature("F022")
def test_importing_the_cli_loads_no_heavy_package() -> None:
    program = "import json, sys, junto.cli.main; print(json.dumps(sorted(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    loaded = set(json.loads(done.stdout))
    assert "junto.cli.commands.server" in loaded
    assert loaded.isdisjoint(
        {"mcp", "pydantic", "starlette", "uvicorn", "structlog", "prometheus_client", "yaml"}
    )


@pytest.mark.feature("F022")
def test_a_stdio_server_starts_without_loading_renderers_and_parsers() -> None:
    program = (
        "import json, sys, junto.cli.stdio, junto.app.server;"
        "import junto.transport.stdio, junto.transport.protocol;"
        "print(json.dumps(sorted(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert set(json.loads(done.stdout)).isdisjoint(
        {"structlog", "yaml", "rich", "platformdirs", "prometheus_client"}
    )


@pytest.mark.feature("F241")
def test_make_installs_formats_lints_and_checks_types() -> None:
    def dry_run(target: str) -> str:
        command = ["make", "--dry-run", "--always-make", target]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "pip install" in dry_run("run")
    assert "ruff format ." in dry_run("format")
    for tool in ("ruff format --check", "ruff check", "mypy", "lint-imports"):
        assert tool in dry_run("check")


@pytest.mark.feature("F261")
def test_the_makefile_has_every_target_that_the_manual_names() -> None:
    makefile = (ROOT / "Makefile").read_text()

    for target in ("run", "test", "check", "bench", "format", "pins", "docs", "site"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert "lint-imports" in makefile


@pytest.mark.parametrize("path", GENERATED_FILES, ids=str)
def test_a_generated_file_is_up_to_date(path: Path) -> None:
    written = (ROOT / path).read_text(encoding="utf-8")

    assert written == GENERATED_FILES[path](), "run `make docs`"


def test_pinned_requirements_have_hashes_and_name_no_index() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text()
        pins = re.findall(r"^[a-z0-9].*==", text, re.MULTILINE | re.IGNORECASE)
        assert pins
        assert text.count("--hash=sha256:") >= len(pins)
        assert "://" not in text
        assert "--index" not in text


def test_the_readme_shows_the_commands_and_every_client() -> None:
    readme = (ROOT / "README.md").read_text()

    for command in ("make run", "make test", "junto mcp", "junto serve", "junto doctor"):
        assert command in readme
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Gemini CLI", "Codex"):
        assert client in readme


@pytest.mark.feature("F241")
def test_a_wheel_contains_the_manual_and_the_migrations(tmp_path: Path) -> None:
    arguments = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w"]
    subprocess.run(
        [sys.executable, *arguments, str(tmp_path), str(ROOT)], check=True, capture_output=True
    )

    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    docs = ROOT / "docs"
    pages = {f"junto/manual/{page.relative_to(docs).as_posix()}" for page in docs.rglob("*.md")}
    assert pages | {"junto/manual/README.md"} <= names
    for database in ("sqlite", "postgres"):
        scripts = (ROOT / "src/junto/storage" / database).glob("*.sql")
        assert {f"junto/storage/{database}/{script.name}" for script in scripts} <= names
