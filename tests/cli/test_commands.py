import json
import os
import pty
import signal
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from junto.version import __version__
from tests.clients import (
    HANDSHAKE,
    TIMEOUT_SECONDS,
    clean_environment,
    environment_with_roots,
    junto_command,
    request,
    stdio_server,
    write_trusted_config,
)


def run(home: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        junto_command(*words),
        env=clean_environment(home, **variables),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def test_the_version_and_the_help_are_printed(tmp_path: Path) -> None:
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
def test_an_invalid_setting_exits_with_2_and_a_message(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    result = run(tmp_path, *words, JUNTO_HTTP_PORT="many")

    assert result.returncode == 2
    assert result.stderr == (
        "junto: JUNTO_HTTP_PORT='many': it takes a whole number from 0 to 65535.\n"
    )
    assert result.stdout == ""


def test_disabling_an_unknown_tool_exits_with_2(tmp_path: Path) -> None:
    result = run(tmp_path, "mcp", JUNTO_TOOLS_DISABLED="kits")

    assert result.returncode == 2
    assert "no tool or group called kits" in result.stderr


def test_serving_on_all_interfaces_without_authentication_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path, "serve", "--host", "0.0.0.0")  # noqa: S104

    assert result.returncode == 2
    assert "listens on loopback only" in result.stderr


def test_a_port_in_use_exits_with_1_and_suggests_the_port_option(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        result = run(tmp_path, "serve", "--port", str(listener.getsockname()[1]))

    assert result.returncode == 1
    assert "--port" in result.stderr


def test_config_show_prints_values_and_origins(tmp_path: Path) -> None:
    write_trusted_config(tmp_path, "http: {port: 5}\nanswers: {system: '" + "x" * 99 + "'}")

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


def test_a_found_file_is_ignored_with_a_notice_until_it_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "junto.yaml").write_text("http: {port: 5}\nproviders: {openai: {api_key: k-e-y-1}}")

    before = run(tmp_path, "config", "show", "--json")
    trusted = run(tmp_path, "trust")
    after = run(tmp_path, "config", "show", "--json")
    listed = run(tmp_path, "trust", "--list")
    removed = run(tmp_path, "trust", "--remove")
    again = run(tmp_path, "config", "show", "--json")

    notice = (
        "junto: junto.yaml is not trusted, so it cannot set http.port, providers.openai.api_key. "
        "If it is yours: `junto trust junto.yaml`, or --config junto.yaml.\n"
    )
    assert (before.stderr, again.stderr.startswith(notice)) == (notice, True)
    assert json.loads(before.stdout)["http.port"]["value"] == 32701
    assert "It sets http.port, providers.openai.api_key." in trusted.stderr
    assert json.loads(after.stdout)["http.port"]["value"] == 5
    assert after.stderr == ""
    assert str(tmp_path / "junto.yaml") in listed.stdout
    assert removed.stderr == "junto.yaml is no longer trusted.\n"


def test_a_found_file_cannot_stop_the_program(tmp_path: Path) -> None:
    (tmp_path / "junto.yaml").write_text("tools: {disabled: [no_such_tool, http_get]}")

    result = run(tmp_path, "config", "check")

    assert result.returncode == 0, result.stderr


def test_a_missing_or_broken_file_cannot_be_trusted(tmp_path: Path) -> None:
    missing = run(tmp_path, "trust")
    (tmp_path / "junto.yaml").write_text("http: {prot: 5}")
    broken = run(tmp_path, "trust")

    assert (missing.returncode, broken.returncode) == (2, 2)
    assert "Did you mean http.port?" in broken.stderr
    assert not (tmp_path / ".config").exists()


def test_config_init_says_why_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    result = run(tmp_path, "config", "init", "--path", "file/junto.yaml")

    assert result.returncode == 1
    assert "cannot be written" in result.stderr


def test_config_check_warns_about_misspelt_variables(tmp_path: Path) -> None:
    result = run(tmp_path, "config", "check", JUNTO_HTTP_PROT="1")

    assert result.returncode == 0
    assert "warning: JUNTO_HTTP_PROT is set" in result.stderr


@pytest.mark.feature("F204", "F209")
def test_logs_go_where_the_settings_say(tmp_path: Path) -> None:
    message = request(1, "tools/call", name="list_models", arguments={}).decode()
    variables = {"JUNTO_LOGGING_OUTPUT": "both", "JUNTO_LOGGING_LEVEL": "debug"}

    result = subprocess.run(
        junto_command("mcp"),
        input=message,
        env=clean_environment(tmp_path, **variables),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    logs = tmp_path / "data" / "junto" / "logs"
    assert "configuration loaded" in result.stderr
    assert "configuration loaded" in (logs / "general.log").read_text()
    assert json.loads((logs / "audit.log").read_text())["tool"] == "list_models"
    assert "smollm2-135m" in result.stdout


def test_mcp_in_a_terminal_explains_that_a_client_should_start_it(tmp_path: Path) -> None:
    controller_fd, terminal_fd = pty.openpty()
    with subprocess.Popen(
        junto_command("mcp"),
        stdin=terminal_fd,
        stdout=terminal_fd,
        stderr=subprocess.PIPE,
        env=clean_environment(tmp_path),
        cwd=tmp_path,
    ) as process:
        assert process.stderr
        hint = process.stderr.readline()
        os.write(controller_fd, request(1, "ping"))
        output = b""
        while b'"result"' not in output:
            output += os.read(controller_fd, 4096)
        process.send_signal(signal.SIGINT)

        assert process.wait(TIMEOUT_SECONDS) == 0
    assert b"a client should start this command" in hint
    # Junto must not leave the user's terminal in non-blocking mode.
    assert os.get_blocking(terminal_fd)
    os.close(controller_fd)
    os.close(terminal_fd)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"JUNTO_TOOLS_DISABLED": "kits"}, "no tool or group called kits"),
        ({"JUNTO_HTTP_HOST": "0.0.0.0"}, "listens on loopback only"),  # noqa: S104
    ],
)
def test_config_check_reports_the_errors_that_serve_would(
    tmp_path: Path, variables: dict[str, str], message: str
) -> None:
    result = run(tmp_path, "config", "check", **variables)

    assert result.returncode == 2
    assert message in result.stderr


def test_config_check_warns_about_an_unknown_default_model(tmp_path: Path) -> None:
    variables = {"JUNTO_MODELS": '[{"id":"m"}]', "JUNTO_DEFAULT_MODEL": "n"}

    result = run(tmp_path, "config", "check", **variables)

    assert "warning: default_model: There is no model n." in result.stderr


def test_a_deleted_working_directory_does_not_crash(tmp_path: Path) -> None:
    deleted_dir = tmp_path / "gone"
    deleted_dir.mkdir()
    program = " ".join(junto_command("config", "check"))

    result = subprocess.run(
        ["sh", "-c", f"rmdir {deleted_dir}; {program}"],
        cwd=deleted_dir,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    assert "is sound" in result.stdout, result.stderr


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        result = subprocess.run(
            junto_command("config", "show"),
            stdout=full,
            stderr=subprocess.PIPE,
            env=clean_environment(tmp_path),
            cwd=tmp_path,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    assert (result.returncode, result.stderr) == (1, "junto: No space left on device\n")


def test_a_closed_stdout_prints_no_error(tmp_path: Path) -> None:
    with subprocess.Popen(
        junto_command("config", "show"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(tmp_path),
        cwd=tmp_path,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()

        assert process.stderr.read() == b""
        assert process.wait(TIMEOUT_SECONDS) == 1


def test_instructions_mention_only_enabled_tools(tmp_path: Path) -> None:
    result = subprocess.run(
        junto_command("mcp"),
        input=request(1, "initialize", **HANDSHAKE).decode(),
        env=clean_environment(tmp_path, JUNTO_TOOLS_DISABLED="get_env"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    instructions = json.loads(result.stdout)["result"]["instructions"]
    assert "list_models" in instructions
    assert "get_env" not in instructions


@pytest.mark.feature("F238")
def test_mcp_serves_conversations_knowledge_and_sandboxed_tools_over_stdio(tmp_path: Path) -> None:
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
    with stdio_server(junto_command("mcp"), environment_with_roots(tmp_path), tmp_path) as client:
        results = {
            name: client.ask(name, "tools/call", name=name, arguments=arguments)["result"]
            for name, arguments in calls.items()
        }

    error_codes = {
        name: result.get("structuredContent", {}).get("code") for name, result in results.items()
    }
    assert error_codes == dict.fromkeys(calls) | {
        "write_file": "SecurityError",
        "execute_command": "SecurityError",
        "http_get": "SecurityError",
    }
    assert "Ann" in results["search_documents"]["content"][0]["text"]
    assert "in the folder" in results["read_file"]["content"][0]["text"]


@pytest.mark.feature("F236")
def test_conventional_variables_are_understood_and_missing_services_are_reported(
    tmp_path: Path, postgres_url: str
) -> None:
    with_key = run(tmp_path, "config", "show", "--json", GEMINI_API_KEY="k-e-y-1-2-3")
    in_postgres = run(tmp_path, "conversations", "list", DATABASE_URL=postgres_url)
    sqlite_exists = (tmp_path / "data" / "junto" / "junto.db").exists()
    unreachable = run(
        tmp_path, "conversations", "list", DATABASE_URL="postgresql://127.0.0.1:9/nobody"
    )
    without_model = run(tmp_path, "chat", "Hi", JUNTO_EMBEDDED_ENABLED="false")

    origin = json.loads(with_key.stdout)["providers.gemini.api_key"]["origin"]
    assert origin == "alias GEMINI_API_KEY"
    assert in_postgres.returncode == 0, in_postgres.stderr
    assert not sqlite_exists
    assert (unreachable.returncode, unreachable.stdout) == (1, "")
    assert unreachable.stderr.startswith("junto: ")
    assert (without_model.returncode, without_model.stdout) == (1, "")
    assert "such as ANTHROPIC_API_KEY" in without_model.stderr


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
