import json
import os
import pty
import signal
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from junto import __version__
from tests.clients import (
    HANDSHAKE,
    SECONDS,
    child,
    clean_environment,
    junto,
    request,
    with_files,
)


def run(home: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        junto(*words),
        env=clean_environment(home, **variables),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_the_version_and_the_help_are_told(tmp_path: Path) -> None:
    version = run(tmp_path, "--version")
    help_text = run(tmp_path, "-h")

    assert version.stdout == f"junto {__version__}\n"
    for command in ("serve", "mcp", "config", "doctor"):
        assert command in help_text.stdout


def test_a_mistyped_command_or_option_is_a_usage_error(tmp_path: Path) -> None:
    command = run(tmp_path, "serv")
    option = run(tmp_path, "serve", "--prot", "1")

    assert (command.returncode, option.returncode) == (2, 2)
    assert "No such command" in command.stderr
    assert "--port" in option.stderr


@pytest.mark.parametrize("words", [("mcp",), ("serve",), ("config", "show"), ("config", "check")])
def test_a_bad_setting_ends_with_two_and_a_sentence(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(tmp_path, *words, JUNTO_HTTP_PORT="many")

    assert done.returncode == 2
    assert done.stderr == (
        "junto: JUNTO_HTTP_PORT='many': it takes a whole number from 0 to 65535.\n"
    )
    assert done.stdout == ""


def test_disabling_what_does_not_exist_ends_with_two(tmp_path: Path) -> None:
    done = run(tmp_path, "mcp", JUNTO_TOOLS_DISABLED="kits")

    assert done.returncode == 2
    assert "no tool or group called kits" in done.stderr


def test_serving_the_world_without_authentication_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "serve", "--host", "0.0.0.0")  # noqa: S104

    assert done.returncode == 2
    assert "listens on loopback only" in done.stderr


def test_a_taken_port_ends_with_one_and_the_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        done = run(tmp_path, "serve", "--port", str(holder.getsockname()[1]))

    assert done.returncode == 1
    assert "--port" in done.stderr


def test_config_show_tells_values_and_origins(tmp_path: Path) -> None:
    (tmp_path / "junto.yaml").write_text("http: {port: 5}\nanswers: {system: '" + "x" * 99 + "'}")

    table = run(tmp_path, "config", "show", "--log-level", "debug", ANTHROPIC_API_KEY="k-e-y-1-2-3")
    data = run(tmp_path, "config", "show", "--json", ANTHROPIC_API_KEY="k-e-y-1-2-3")

    rows = {line.split()[0]: line for line in table.stdout.splitlines()}
    assert rows["http.port"].split()[1:] == ["file", "junto.yaml", "5"]
    assert rows["logging.level"].split()[1:] == ["flag", "--log-level", "debug"]
    assert "[redacted]" in rows["providers.anthropic.api_key"]
    assert "k-e-y-1-2-3" not in table.stdout + data.stdout
    assert "x" * 99 in rows["answers.system"]
    parsed = json.loads(data.stdout)
    assert parsed["http.port"] == {"value": 5, "origin": "file junto.yaml"}


def test_config_init_writes_a_file_that_only_its_owner_may_read(tmp_path: Path) -> None:
    first = run(tmp_path, "config", "init")
    again = run(tmp_path, "config", "init")
    printed = run(tmp_path, "config", "init", "--print")
    checked = run(tmp_path, "config", "check")

    path = tmp_path / "junto.yaml"
    assert first.returncode == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert again.returncode == 2
    assert "left as it is" in again.stderr
    assert printed.stdout == path.read_text()
    assert checked.returncode == 0
    assert "0 settings changed, from junto.yaml" in checked.stdout


def test_config_init_says_why_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    done = run(tmp_path, "config", "init", "--path", "file/junto.yaml")

    assert done.returncode == 1
    assert "cannot be written" in done.stderr


def test_config_check_warns_about_misspelt_variables(tmp_path: Path) -> None:
    done = run(tmp_path, "config", "check", JUNTO_HTTP_PROT="1")

    assert done.returncode == 0
    assert "warning: JUNTO_HTTP_PROT is set" in done.stderr


@pytest.mark.feature("F204", "F209")
def test_logs_go_where_the_settings_say(tmp_path: Path) -> None:
    question = request(1, "tools/call", name="list_models", arguments={}).decode()
    variables = {"JUNTO_LOGGING_OUTPUT": "both", "JUNTO_LOGGING_LEVEL": "debug"}

    done = subprocess.run(
        junto("mcp"),
        input=question,
        env=clean_environment(tmp_path, **variables),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    logs = tmp_path / "data" / "junto" / "logs"
    assert "configuration loaded" in done.stderr
    assert "configuration loaded" in (logs / "general.log").read_text()
    assert json.loads((logs / "audit.log").read_text())["tool"] == "list_models"
    assert "smollm2-135m" in done.stdout


def test_a_person_at_the_terminal_is_told_what_this_is(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        junto("mcp"),
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=clean_environment(tmp_path),
        cwd=tmp_path,
    ) as process:
        assert process.stderr
        hint = process.stderr.readline()
        os.write(ours, request(1, "ping"))
        seen = b""
        while b'"result"' not in seen:
            seen += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)

        assert process.wait(SECONDS) == 0
    assert b"a client should start this command" in hint
    # The terminal is as its shell left it.
    assert os.get_blocking(theirs)
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"JUNTO_TOOLS_DISABLED": "kits"}, "no tool or group called kits"),
        ({"JUNTO_HTTP_HOST": "0.0.0.0"}, "listens on loopback only"),  # noqa: S104
    ],
)
def test_config_check_finds_what_serving_would(
    tmp_path: Path, variables: dict[str, str], message: str
) -> None:
    done = run(tmp_path, "config", "check", **variables)

    assert done.returncode == 2
    assert message in done.stderr


def test_config_check_warns_of_a_default_that_does_not_exist(tmp_path: Path) -> None:
    models = {"JUNTO_MODELS": '[{"id":"m"}]', "JUNTO_DEFAULT_MODEL": "n"}

    done = run(tmp_path, "config", "check", **models)

    assert "warning: default_model: There is no model n." in done.stderr


def test_a_folder_that_is_gone_is_no_reason_to_crash(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    program = " ".join(junto("config", "check"))

    done = subprocess.run(
        ["sh", "-c", f"rmdir {gone}; {program}"],
        cwd=gone,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert "is sound" in done.stdout, done.stderr


def test_a_full_disk_is_said_so(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            junto("config", "show"),
            stdout=full,
            stderr=subprocess.PIPE,
            env=clean_environment(tmp_path),
            cwd=tmp_path,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    assert (done.returncode, done.stderr) == (1, "junto: No space left on device\n")


def test_a_reader_who_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    with subprocess.Popen(
        junto("config", "show"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(tmp_path),
        cwd=tmp_path,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()

        assert process.stderr.read() == b""
        assert process.wait(SECONDS) == 1


def test_instructions_name_only_what_is_offered(tmp_path: Path) -> None:
    done = subprocess.run(
        junto("mcp"),
        input=request(1, "initialize", **HANDSHAKE).decode(),
        env=clean_environment(tmp_path, JUNTO_TOOLS_DISABLED="get_env"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    instructions = json.loads(done.stdout)["result"]["instructions"]
    assert "list_models" in instructions
    assert "get_env" not in instructions


@pytest.mark.feature("F238")
def test_mcp_brings_up_database_knowledge_and_guarded_tools_behind_one_pipe(tmp_path: Path) -> None:
    (tmp_path / "inside.txt").write_text("in the folder")
    calls = {
        "list_conversations": {},
        "add_note": {"title": "Keys", "text": "The spare key is with Ann."},
        "search_documents": {"query": "spare key"},
        "read_file": {"path": "inside.txt"},
        "write_file": {"path": "/etc/junto-was-here", "content": "x"},
        "execute_command": {"command": "rm", "args": ["inside.txt"]},
        "http_get": {"url": "http://127.0.0.1:1/"},
    }
    with child(junto("mcp"), with_files(tmp_path), tmp_path) as client:
        results = {
            name: client.ask(name, "tools/call", name=name, arguments=arguments)["result"]
            for name, arguments in calls.items()
        }

    failed = {name: result["structuredContent"].get("code") for name, result in results.items()}
    assert failed == dict.fromkeys(calls) | {
        "write_file": "SecurityError",
        "execute_command": "SecurityError",
        "http_get": "SecurityError",
    }
    assert "Ann" in results["search_documents"]["content"][0]["text"]
    assert "in the folder" in results["read_file"]["content"][0]["text"]


@pytest.mark.feature("F236")
def test_the_names_of_other_programs_are_understood_and_what_is_missing_is_told(
    tmp_path: Path, postgres_url: str
) -> None:
    keyed = run(tmp_path, "config", "show", "--json", GEMINI_API_KEY="k-e-y-1-2-3")
    kept = run(tmp_path, "conversations", "list", DATABASE_URL=postgres_url)
    in_a_file = (tmp_path / "data" / "junto" / "junto.db").exists()
    gone = run(tmp_path, "conversations", "list", DATABASE_URL="postgresql://127.0.0.1:9/nobody")
    silent = run(tmp_path, "chat", "Hi", JUNTO_EMBEDDED_ENABLED="false")

    origin = json.loads(keyed.stdout)["providers.gemini.api_key"]["origin"]
    assert origin == "alias GEMINI_API_KEY"
    assert kept.returncode == 0, kept.stderr
    assert not in_a_file
    assert (gone.returncode, gone.stdout) == (1, "")
    assert gone.stderr.startswith("junto: ")
    assert (silent.returncode, silent.stdout) == (1, "")
    assert "such as ANTHROPIC_API_KEY" in silent.stderr


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
