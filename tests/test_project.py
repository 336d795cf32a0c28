"""What holds for the project as a whole."""

import ast
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.features import FEATURES, OPEN, RETIRED
from tests.manual import PAGES

ROOT = Path(__file__).parents[1]


def marked() -> dict[str, set[str]]:
    """Return every feature id that a test is marked with, and the files of those tests."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.feature":
                for argument in node.args:
                    assert isinstance(argument, ast.Constant)
                    found.setdefault(str(argument.value), set()).add(path.name)
    return found


def test_every_feature_is_proven_or_open_or_retired_and_only_one_of_these() -> None:
    proven, open_, retired = set(marked()), set(OPEN), set(RETIRED)

    assert proven <= set(FEATURES), "a test names a feature that does not exist"
    assert set(FEATURES) - proven - open_ - retired == set(), "neither proven nor listed as open"
    assert proven & open_ == set(), "proven, so take it off the list of open ones"
    assert retired & (proven | open_) == set()
    assert open_ | retired <= set(FEATURES)


def test_the_manifest_is_whole() -> None:
    assert len(FEATURES) == 263
    assert {f"F{number:03}" for number in range(1, 264)} == set(FEATURES)
    assert all(RETIRED.values())


@pytest.mark.feature("F022")
def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    program = "import json, sys, junto.cli.main; print(json.dumps(sorted(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    loaded = set(json.loads(done.stdout))
    assert "junto.cli.commands.serving" in loaded
    assert loaded.isdisjoint(
        {"mcp", "pydantic", "starlette", "uvicorn", "structlog", "prometheus_client", "yaml"}
    )


@pytest.mark.feature("F022")
def test_a_stdio_server_needs_no_renderer_and_no_parser_to_start() -> None:
    program = (
        "import json, sys, junto.cli.stdio, junto.app;"
        "import junto.transport.stdio, junto.transport.protocol;"
        "print(json.dumps(sorted(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert set(json.loads(done.stdout)).isdisjoint(
        {"structlog", "yaml", "rich", "platformdirs", "prometheus_client"}
    )


@pytest.mark.feature("F241")
def test_make_installs_formats_lints_and_checks_types() -> None:
    def steps(target: str) -> str:
        words = ["make", "--dry-run", "--always-make", target]
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "pip install" in steps("run")
    assert "ruff format ." in steps("format")
    for tool in ("ruff format --check", "ruff check", "mypy", "lint-imports"):
        assert tool in steps("check")


@pytest.mark.feature("F261")
def test_the_makefile_has_every_command_that_the_manual_names() -> None:
    makefile = (ROOT / "Makefile").read_text()

    for target in ("run", "test", "check", "bench", "format", "pins", "docs", "site"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert "lint-imports" in makefile


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_what_the_program_says(name: str) -> None:
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")

    assert written == PAGES[name](), "run `make docs`"


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

    for words in ("make run", "make test", "junto mcp", "junto serve", "junto doctor"):
        assert words in readme
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Gemini CLI", "Codex"):
        assert client in readme


@pytest.mark.feature("F241")
def test_a_wheel_carries_the_manual_and_the_migrations(tmp_path: Path) -> None:
    words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w"]
    subprocess.run(
        [sys.executable, *words, str(tmp_path), str(ROOT)], check=True, capture_output=True
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
