"""The official conformance suite and Inspector, run against Junto's transport and registry."""

import contextlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import (
    TIMEOUT_SECONDS,
    HttpClient,
    clean_environment,
    tool_names,
    write_trusted_config,
)
from tests.fake_model_server import fake_model_server

ROOT = Path(__file__).parents[2]
BIN = ROOT / "tests" / "node" / "node_modules" / ".bin"
SUITE_TIMEOUT_SECONDS = 180

pytestmark = [
    pytest.mark.timeout(2 * SUITE_TIMEOUT_SECONDS + 20),
    pytest.mark.skipif(not (BIN / "conformance").exists(), reason="npm has not been there"),
]


def environment(home: Path) -> dict[str, str]:
    variables = clean_environment(home)
    return variables | {"PATH": f"{BIN}:{variables['PATH']}"}


@contextlib.contextmanager
def fixture_server(tmp_path: Path, *flags: str) -> Iterator[int]:
    command = [sys.executable, "-W", "error", "-m", "tests.conformance.fixture_server", *flags]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=clean_environment(tmp_path), cwd=ROOT
    ) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(TIMEOUT_SECONDS)


def run_suite(
    tmp_path: Path, port: int, revision: str, *options: str
) -> "subprocess.CompletedProcess[str]":
    url = f"http://127.0.0.1:{port}/mcp"
    return subprocess.run(
        [str(BIN / "conformance"), "server", "--url", url, "--requirements", revision, *options],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SUITE_TIMEOUT_SECONDS,
        check=False,
    )


@pytest.mark.feature("F014", "F248")
def test_every_required_scenario_of_both_revisions_passes(tmp_path: Path) -> None:
    with fixture_server(tmp_path, "--sessions") as port:
        for revision in ("2026-07-28", "2025-11-25"):
            completed = run_suite(tmp_path, port, revision)

            # The exit code counts what is required; the text lists extensions as well.
            assert completed.returncode == 0, completed.stdout[-6000:]
            assert "passed" in completed.stdout
            if revision == "2026-07-28":  # the revision that added tasks
                passed = set(re.findall(r"✓ (tasks-[\w-]+) \(extension\)", completed.stdout))
                assert passed == TASK_SCENARIOS


TASK_SCENARIOS = {
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-status-notifications",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
}

# Without a session an older client cannot answer requests of the server; one scenario warns that it
# got no session.
SESSION_SCENARIOS = [
    "server-sse-multiple-streams",
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
]


def test_without_sessions_only_scenarios_that_need_one_fail(tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.yaml"
    baseline.write_text("server:\n" + "".join(f"  - {name}\n" for name in SESSION_SCENARIOS))

    with fixture_server(tmp_path) as port:
        newer = run_suite(tmp_path, port, "2026-07-28")
        older = run_suite(tmp_path, port, "2025-11-25", "--expected-failures", str(baseline))

    assert newer.returncode == 0, newer.stdout[-6000:]
    assert older.returncode == 0, older.stdout[-6000:]


def run_inspector(tmp_path: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(BIN / "mcp-inspector"), "--cli", *arguments],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_inspector_lists_and_calls_tools_without_errors(
    tmp_path: Path, served: HttpClient, transport: str, era: str
) -> None:
    program = shutil.which("junto", path=str(Path(sys.executable).parent)) or "junto"
    target = [program, "mcp"] if transport == "stdio" else [f"http://127.0.0.1:{served.port}/mcp"]
    options = [*target, "--transport", transport, "--protocol-era", era]

    listed = run_inspector(tmp_path, *options, "--method", "tools/list", "--strict")
    called = run_inspector(
        tmp_path, *options, "--method", "tools/call", "--tool-name", "current_time"
    )

    assert listed.returncode == 0, listed.stderr
    expected = tool_names() if transport == "stdio" else tool_names(over_http=True)
    assert len(json.loads(listed.stdout)["tools"]) == len(expected)
    assert called.returncode == 0, called.stderr
    assert json.loads(called.stdout)["structuredContent"]["timezone"] == "UTC"


def test_a_conversation_in_the_inspector_survives_a_restart_after_each_turn(tmp_path: Path) -> None:
    program = shutil.which("junto", path=str(Path(sys.executable).parent)) or "junto"
    with fake_model_server() as upstream:
        a = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        b = {"id": "b", "baseUrl": f"{upstream.url}/v1", "apiKey": "k"}
        write_trusted_config(tmp_path, json.dumps({"models": [a, b]}))

        def chat(message: str, **arguments: str) -> dict[str, str]:
            pairs = [f"{name}={value}" for name, value in arguments.items()]
            tool_arguments = [word for each in pairs for word in ("--tool-arg", each)]
            completed = run_inspector(
                tmp_path, program, "mcp", "--method", "tools/call", "--tool-name", "chat",
                "--tool-arg", f"message={message}", *tool_arguments,
            )  # fmt: skip
            assert completed.returncode == 0, completed.stderr
            content: dict[str, str] = json.loads(completed.stdout)["structuredContent"]
            return content

        first = chat("one")
        chat("two", conversationId=first["conversationId"])
        other = chat("three", conversationId=first["conversationId"], modelId="b")
        chat("four", conversationId=other["conversationId"])
        last = chat("five", conversationId=other["conversationId"])

    assert last["response"] == "b heard 9: five"
    assert other["conversationId"] != first["conversationId"]
