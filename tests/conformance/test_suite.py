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

from tests.clients import HTTP_TOOLS, SECONDS, TOOLS, HttpClient, clean_environment
from tests.server_upstream import served_upstream

ROOT = Path(__file__).parents[2]
BIN = ROOT / "tests" / "node" / "node_modules" / ".bin"
RUN_SECONDS = 180

pytestmark = [
    pytest.mark.timeout(2 * RUN_SECONDS + 20),
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
            process.wait(SECONDS)


def suite(
    tmp_path: Path, port: int, revision: str, *more: str
) -> "subprocess.CompletedProcess[str]":
    url = f"http://127.0.0.1:{port}/mcp"
    return subprocess.run(
        [str(BIN / "conformance"), "server", "--url", url, "--requirements", revision, *more],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )


@pytest.mark.feature("F014", "F248")
def test_every_required_scenario_of_both_eras_passes(tmp_path: Path) -> None:
    with fixture_server(tmp_path, "--sessions") as port:
        for revision in ("2026-07-28", "2025-11-25"):
            done = suite(tmp_path, port, revision)

            # The exit code counts what is required; the text lists extensions as well.
            assert done.returncode == 0, done.stdout[-6000:]
            assert "passed" in done.stdout
            if revision == "2026-07-28":  # tasks came with it
                passed = set(re.findall(r"✓ (tasks-[\w-]+) \(extension\)", done.stdout))
                assert passed == TASKS


TASKS = {
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

# Without sessions an older client has nowhere to send its answer, so it cannot be asked anything;
# and one scenario warns that it was given no session.
NEEDS_A_SESSION = [
    "server-sse-multiple-streams",
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
]


def test_without_sessions_only_what_asks_the_client_back_is_missing(tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.yaml"
    baseline.write_text("server:\n" + "".join(f"  - {name}\n" for name in NEEDS_A_SESSION))

    with fixture_server(tmp_path) as port:
        newer = suite(tmp_path, port, "2026-07-28")
        older = suite(tmp_path, port, "2025-11-25", "--expected-failures", str(baseline))

    assert newer.returncode == 0, newer.stdout[-6000:]
    assert older.returncode == 0, older.stdout[-6000:]


def inspected(tmp_path: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(BIN / "mcp-inspector"), "--cli", *words],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_inspector_finds_nothing_to_mend(
    tmp_path: Path, served: HttpClient, transport: str, era: str
) -> None:
    program = shutil.which("junto", path=str(Path(sys.executable).parent)) or "junto"
    target = [program, "mcp"] if transport == "stdio" else [f"http://127.0.0.1:{served.port}/mcp"]
    options = [*target, "--transport", transport, "--protocol-era", era]

    listed = inspected(tmp_path, *options, "--method", "tools/list", "--strict")
    called = inspected(tmp_path, *options, "--method", "tools/call", "--tool-name", "current_time")

    assert listed.returncode == 0, listed.stderr
    expected = TOOLS if transport == "stdio" else HTTP_TOOLS
    assert len(json.loads(listed.stdout)["tools"]) == len(expected)
    assert called.returncode == 0, called.stderr
    assert json.loads(called.stdout)["structuredContent"]["timezone"] == "UTC"


def test_five_turns_from_the_inspector_survive_a_restart_between_each(tmp_path: Path) -> None:
    program = shutil.which("junto", path=str(Path(sys.executable).parent)) or "junto"
    with served_upstream() as upstream:
        a = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        b = {"id": "b", "baseUrl": f"{upstream.url}/v1", "apiKey": "k"}
        (tmp_path / "junto.yaml").write_text(json.dumps({"models": [a, b]}))

        def chat(message: str, **arguments: str) -> dict[str, str]:
            words = [f"{name}={value}" for name, value in arguments.items()]
            given = [word for each in words for word in ("--tool-arg", each)]
            done = inspected(
                tmp_path, program, "mcp", "--method", "tools/call", "--tool-name", "chat",
                "--tool-arg", f"message={message}", *given,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            facts: dict[str, str] = json.loads(done.stdout)["structuredContent"]
            return facts

        first = chat("one")
        chat("two", conversationId=first["conversationId"])
        other = chat("three", conversationId=first["conversationId"], modelId="b")
        chat("four", conversationId=other["conversationId"])
        last = chat("five", conversationId=other["conversationId"])

    assert last["response"] == "b heard 9: five"
    assert other["conversationId"] != first["conversationId"]
