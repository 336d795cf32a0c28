"""The files around the source that contributors and tools rely on."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripts.check_structure import check, is_participle

ROOT = Path(__file__).parents[1]
TESTS = Path(__file__).parent

# Test files that patch the operating system, Python or a library, and why. Junto's own parts take
# such values as parameters instead.
PATCHES: dict[str, str] = {
    "agent/test_launcher.py": "hides the SDK of Claude Code, as if it were not installed",
    "agent/test_options.py": "os.geteuid: root and other users have different permissions",
    "cli/doctor/test_doctor.py": "hides packages and their weights, as if they were not installed",
    "cli/test_install.py": "sysconfig and sys.executable: an installation without scripts",
    "cli/test_platforms.py": "sysconfig and sys.platform: an installation on Windows",
    "local_tools/test_files.py": "os.fsync: the disk is full",
    "local_tools/test_web.py": "sock_connect: connections are recorded, and none is made",
    "providers/embeddings/test_minilm.py": "hides onnxruntime, as if it were not installed",
    "providers/http/test_bedrock_vertex.py": "hides the cloud SDKs, as if they were not installed",
    "runtime/test_replaced_directories.py": "tempfile: temporary directories lie in a root",
    "settings/test_loader.py": "pathlib: files that cannot be read, which root always can",
    "storage/test_vectors.py": "hides numkong, as if it were not installed",
    "telemetry/test_logs.py": "sys.stderr.isatty: the log is shown in a terminal",
}

# Test files that sleep, and why. The others wait for a condition, or inject a clock.
SLEEPS: dict[str, str] = {
    "conformance/fixture_tasks.py": "the conformance suite prescribes how long these tools take",
    "conformance/fixture_tools.py": "the conformance suite prescribes the pauses between messages",
    "endurance/load_clients.py": "servers are killed at random moments; clients retry until then",
    "endurance/test_agent.py": "runs are stopped at random moments",
    "endurance/test_jobs.py": "jobs are requested, cancelled and abandoned at random moments",
    "event_loop.py": "the only place that polls or yields in an event loop",
    "fake_model_server.py": "a model that answers slowly",
    "local_tools/test_commands.py": "commands are cancelled before, during and after their start",
    "processes.py": "the only place that polls without an event loop",
    "runtime/test_replaced_directories.py": "programs that attack while they run",
    "storage/test_limits.py": "Redis keeps the limits by its own clock",
    "tools/test_job_calls.py": "calls are cancelled before, while and after they become jobs",
    "transport/misbehaving_server.py": "a tool that takes as long as its caller says",
}


def load(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def test_the_ci_workflow_runs_the_ci_script_on_every_supported_python() -> None:
    job = load(".github/workflows/ci.yml")["jobs"]["test"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    supported = [
        classifier.rpartition(" ")[2]
        for classifier in project["classifiers"]
        if re.search(r"Python :: 3\.\d+$", classifier)
    ]

    assert job["strategy"]["matrix"]["python"] == supported
    assert job["steps"][-1] == {"run": "bash .ci/run"}
    assert (ROOT / ".ci" / "run").is_file()


def test_pre_commit_runs_the_programs_of_make_check() -> None:
    hooks = [
        hook["entry"] for repo in load(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]
    ]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    check = makefile[makefile.index("\ncheck:") : makefile.index("\nformat:")]

    programs = re.findall(r"\$\(BIN\)/(?:python -m )?([\w.-]+)", check)

    assert set(programs) == {"ruff", "mypy", "lint-imports", "scripts.check_structure"}
    for program in programs:
        assert any(program in hook for hook in hooks)


@pytest.mark.parametrize("name", ["bug_report.yml", "feature_request.yml"])
def test_an_issue_template_asks_for_something(name: str) -> None:
    template = load(f".github/ISSUE_TEMPLATE/{name}")

    assert template["name"]
    assert any(field.get("validations", {}).get("required") for field in template["body"])


def test_the_package_names_its_addresses() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= set(project["urls"])


@pytest.mark.parametrize("name", ["SECURITY.md", "CONTRIBUTING.md"])
def test_a_page_at_the_root_links_to_what_exists(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")

    links = [link for link in re.findall(r"\]\(([^)#:]+)", text) if link]

    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_rules_of_naming_and_structure_hold() -> None:
    broken = [(figure, offenders) for figure, _, offenders in check() if offenders]

    assert broken == []


@pytest.mark.parametrize("name", ["told", "_begun", "fetched_list", "running", "made_privately"])
def test_a_participle_is_recognised(name: str) -> None:
    assert is_participle(name)


@pytest.mark.parametrize("name", ["embed", "load_settings", "settings", "embedding", "feed_parser"])
def test_a_verb_or_a_noun_is_no_participle(name: str) -> None:
    assert not is_participle(name)


@pytest.fixture(scope="module")
def syntax_trees() -> dict[str, ast.Module]:
    """Return the syntax trees of all test files, by their path below `tests`."""
    return {
        path.relative_to(TESTS).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in TESTS.rglob("*.py")
        if "node_modules" not in path.parts
    }


def iter_patch_targets(tree: ast.Module) -> Iterator[str]:
    """Yield the objects whose attributes or items a file patches, and `mock` if it imports that."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="setattr" | "delattr" | "setitem" | "delitem")
                | ast.Name(id="setattr" | "delattr"),
                args=[target, *_],
            ):
                yield ast.unparse(target).strip("'")
            case ast.Import() | ast.ImportFrom() if re.search(r"\bmock\b", ast.unparse(node)):
                yield "mock"


def find_junto_names(tree: ast.Module) -> set[str]:
    """Return the names in a file that stand for something of Junto's."""
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("junto")
        for alias in node.names
    }
    return {"junto", *imported}


def test_each_file_that_patches_something_has_a_reason(syntax_trees: dict[str, ast.Module]) -> None:
    patching = {path for path, tree in syntax_trees.items() if any(iter_patch_targets(tree))}

    assert patching == set(PATCHES)


def test_no_test_patches_junto(syntax_trees: dict[str, ast.Module]) -> None:
    patched = [
        (path, target)
        for path, tree in syntax_trees.items()
        for target in iter_patch_targets(tree)
        if target.partition(".")[0] in find_junto_names(tree)
    ]

    assert patched == []


def test_no_test_assigns_to_a_private_attribute(syntax_trees: dict[str, ast.Module]) -> None:
    assigned = [
        (path, ast.unparse(node))
        for path, tree in syntax_trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and re.search(r"(?<!self)\._", ast.unparse(node))
    ]

    assert assigned == []


def has_sleep(tree: ast.Module) -> bool:
    """Return whether a file sleeps, itself or in a program that it holds as a string."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="anyio" | "asyncio" | "time"), attr="sleep"):
                return True
            case ast.ImportFrom(module="anyio" | "asyncio" | "time", names=names):
                if any(alias.name == "sleep" for alias in names):
                    return True
            case ast.Constant(value=str(text)) if re.search(r"(?<!def )\bsleep\(", text):
                return True
    return False


def test_each_file_that_sleeps_has_a_reason(syntax_trees: dict[str, ast.Module]) -> None:
    sleeping = {path for path, tree in syntax_trees.items() if has_sleep(tree)}

    assert sleeping == set(SLEEPS)
