import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import (
    ENVELOPE,
    HANDSHAKE,
    TIMEOUT_SECONDS,
    Json,
    StdioClient,
    clean_environment,
    encode_line,
    environment_with_roots,
    junto_command,
    notification,
    request,
    stdio_server,
    tool_names,
)

ROOT = Path(__file__).parents[2]
TOOLS_LIST = request(1, "tools/list")


@contextlib.contextmanager
def misbehaving_server(tmp_path: Path, drain: float = 30) -> Iterator[StdioClient]:
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "tests.transport.misbehaving_server",
        "stdio",
        str(drain),
    ]
    with stdio_server(command, clean_environment(tmp_path), ROOT, with_coverage=True) as client:
        yield client


def call(number: int | str, name: str, **arguments: object) -> bytes:
    return request(number, "tools/call", name=name, arguments=arguments)


def read_stderr_line(client: StdioClient) -> str:
    assert client.process.stderr
    return client.process.stderr.readline().decode().strip()


def run_with_input(tmp_path: Path, data: bytes) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        junto_command("mcp"),
        input=data,
        capture_output=True,
        env=environment_with_roots(tmp_path),
        cwd=tmp_path,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def parse_messages(output: bytes) -> list[Json]:
    return [json.loads(text) for text in output.splitlines()]


@pytest.mark.feature("F001", "F010", "F244", "F245")
def test_tools_can_be_listed_through_a_pipe_without_a_handshake(tmp_path: Path) -> None:
    completed = run_with_input(tmp_path, TOOLS_LIST)

    (answer,) = parse_messages(completed.stdout)
    assert [tool["name"] for tool in answer["result"]["tools"]] == tool_names()
    assert completed.returncode == 0
    assert completed.stderr.startswith(b"No key is set, so the embedded model")
    assert completed.stderr.count(b"\n") == 1


def test_tools_can_be_listed_with_the_2026_envelope(tmp_path: Path) -> None:
    completed = run_with_input(tmp_path, request(1, "tools/list", _meta=ENVELOPE))

    (answer,) = parse_messages(completed.stdout)
    assert answer["result"]["resultType"] == "complete"
    assert len(answer["result"]["tools"]) == len(tool_names())


@pytest.mark.feature("F012", "F013", "F014")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_handshake_in_any_version_is_answered(tmp_path: Path, version: str) -> None:
    handshake = request(0, "initialize", **HANDSHAKE | {"protocolVersion": version})

    completed = run_with_input(
        tmp_path, handshake + notification("notifications/initialized") + TOOLS_LIST
    )

    first, second = parse_messages(completed.stdout)
    assert first["result"]["protocolVersion"] == version
    assert first["result"]["serverInfo"]["name"] == "junto"
    assert 0 < len(first["result"]["instructions"]) <= 2048
    assert {"tools", "prompts", "resources", "completions", "logging"} <= set(
        first["result"]["capabilities"]
    )
    assert len(second["result"]["tools"]) == len(tool_names())


def test_discovery_includes_the_instructions(tmp_path: Path) -> None:
    (answer,) = parse_messages(
        run_with_input(tmp_path, request(1, "server/discover", _meta=ENVELOPE)).stdout
    )

    assert "list_models" in answer["result"]["instructions"]
    assert "2026-07-28" in answer["result"]["supportedVersions"]


def test_resources_prompts_and_completions_are_served(tmp_path: Path) -> None:
    prompt = {"type": "ref/prompt", "name": "code_review"}
    requests = [
        request(1, "resources/read", uri="config://server"),
        request(2, "resources/read", uri="status://health"),
        request(3, "prompts/get", name="explain_code", arguments={"code": "pass"}),
        request(4, "completion/complete", ref=prompt, argument={"name": "language", "value": "ru"}),
        request(5, "resources/list"),
        request(6, "resources/templates/list"),
        request(7, "prompts/list"),
        request(8, "logging/setLevel", level="debug"),
        request(9, "ping"),
    ]

    answers = {
        answer["id"]: answer["result"]
        for answer in parse_messages(run_with_input(tmp_path, b"".join(requests)).stdout)
    }

    config = json.loads(answers[1]["contents"][0]["text"])
    assert config["http.port"] == {"value": 32701, "origin": "default"}
    assert json.loads(answers[2]["contents"][0]["text"])["status"] == "ok"
    assert "pass" in answers[3]["messages"][0]["content"]["text"]
    assert answers[4]["completion"]["values"] == ["ruby", "rust"]
    assert len(answers[5]["resources"]) == 2
    assert [t["uriTemplate"] for t in answers[6]["resourceTemplates"]] == [
        "conversation://{id}",
        "document://{id}",
        "file:///{path}",
    ]
    assert len(answers[7]["prompts"]) == 4
    assert answers[8] == answers[9] == {}


@pytest.mark.feature("F021")
def test_requests_run_concurrently(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as client:
        client.send(call(1, "slow", seconds=60) + call(2, "slow", text="quick"))

        answer = client.receive()

    assert answer["id"] == 2
    assert answer["result"]["structuredContent"] == {"said": "quick"}


def test_calls_already_accepted_are_answered_after_the_input_ends(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as client:
        client.send(call(1, "slow", seconds=0.5) + call("two", "slow", seconds=0.2))

        code, rest = client.finish()

    assert [answer["id"] for answer in parse_messages(rest)] == ["two", 1]
    assert code == 0


def test_a_call_that_never_ends_is_not_waited_for_forever(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path, drain=0.3) as client:
        client.send(call(1, "slow", seconds=600))

        code, rest = client.finish()

    (answer,) = parse_messages(rest)
    assert answer["error"]["message"] == "Connection closed"
    assert code == 0


@pytest.mark.feature("F011")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_running_calls_finish(tmp_path: Path, number: signal.Signals) -> None:
    with misbehaving_server(tmp_path) as client:
        client.send(call(1, "slow", seconds=0.5))
        assert read_stderr_line(client) == "started"

        client.process.send_signal(number)

        assert client.receive()["result"]["structuredContent"] == {"said": "done"}
        assert client.process.wait(TIMEOUT_SECONDS) == 0


def test_a_second_signal_cancels_running_calls(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as client:
        client.send(call(1, "slow", seconds=600))
        assert read_stderr_line(client) == "started"

        client.process.send_signal(signal.SIGTERM)
        client.process.send_signal(signal.SIGINT)

        assert "cancelled" in (read_stderr_line(client), read_stderr_line(client))
        assert client.process.wait(TIMEOUT_SECONDS) == 0


def test_a_cancelled_call_is_stopped_never_answered_and_not_waited_for(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as client:
        client.send(call(1, "slow", seconds=600))
        assert read_stderr_line(client) == "started"
        client.send(notification("notifications/cancelled", requestId=1))
        assert read_stderr_line(client) == "cancelled"

        code, rest = client.finish()

    assert (code, rest) == (0, b"")


def test_progress_is_sent_before_the_answer(tmp_path: Path) -> None:
    request_line = request(
        1, "tools/call", name="slow", arguments={"steps": 3}, _meta={"progressToken": "p"}
    )
    with misbehaving_server(tmp_path) as client:
        client.send(request_line)

        received = [client.receive() for _ in range(4)]

    assert [message["params"]["progress"] for message in received[:3]] == [0, 1, 2]
    assert {message["params"]["progressToken"] for message in received[:3]} == {"p"}
    assert received[3]["id"] == 1


@pytest.mark.feature("F002")
def test_nothing_but_the_protocol_reaches_standard_output(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as client:
        answer = client.ask(1, "tools/call", name="noisy", arguments={})
        _, rest = client.finish()
        stderr_lines = {read_stderr_line(client) for _ in range(4)}

    assert answer["result"]["structuredContent"] == {"said": "noise"}
    assert rest == b""
    # A child cannot read the client's messages either: its input is empty.
    assert {"printed by a library", "written to descriptor 1", "child", "''"} == stderr_lines


@pytest.mark.feature("F163")
def test_a_crash_is_a_generic_error_to_the_caller_and_a_traceback_in_the_log(
    tmp_path: Path,
) -> None:
    with misbehaving_server(tmp_path) as client:
        answers = [
            client.ask(1, "tools/call", name="crash", arguments={}),
            client.ask(2, "resources/read", uri="odd://broken"),
        ]
        logged = [json.loads(read_stderr_line(client)) for _ in range(2)]

    for answer, entry in zip(answers, logged, strict=True):
        assert answer["error"]["code"] == -32603
        assert "internal detail" not in json.dumps(answer)
        assert entry["trace"] in answer["error"]["message"]
        assert "internal detail" in entry["exception"]


def test_an_expected_error_outside_a_tool_is_a_protocol_error_with_its_message(
    tmp_path: Path,
) -> None:
    with misbehaving_server(tmp_path) as client:
        answer = client.ask(1, "resources/read", uri="odd://missing")

    assert answer["error"] == {"code": -32602, "message": "It was here yesterday."}


GARBAGE = {
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}': -32600,
    b'{"jsonrpc":"2.0","id":"\\ud800","method":1}': -32600,
    b"this is not json": -32700,
    b'{"half": ': -32700,
    b"\xff\xfe invalid utf-8": -32700,
    b'"\xc3\x28"': -32700,
    b"[" * 40_000: -32700,
    b'{"a":' * 16_000 + b"1" + b"}" * 16_000: -32700,
    b"9" * 50_000: -32700,
    b"[]": -32600,
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]': -32600,
    b"{}": -32600,
    b"null": -32600,
    b'{"jsonrpc":"1.0","id":7,"method":"ping"}': -32600,
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}': -32600,
    b'{"jsonrpc":"2.0","id":true,"method":5}': -32600,
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}': -32600,
    b"x" * 200_000: -32600,
}


def test_garbage_gets_an_error_and_the_next_message_an_answer(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as client:
        for garbage, code in GARBAGE.items():
            client.send(garbage + b"\n\n  \n")
            refusal = client.receive()
            answer = client.ask(2, "ping")

            assert refusal["error"]["code"] == code, garbage[:50]
            assert refusal["id"] == (7 if b'"id":7' in garbage else None)
            assert answer == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_a_thousand_garbage_lines_do_not_affect_valid_calls(tmp_path: Path) -> None:
    lines = [os.urandom(40).replace(b"\n", b" ") + b"!" for _ in range(1000)]

    completed = run_with_input(
        tmp_path, request(1, "ping") + b"\n".join(lines) + b"\n" + request(2, "ping")
    )

    answers = parse_messages(completed.stdout)
    assert [a["id"] for a in answers if "result" in a] == [1, 2]
    assert sum("error" in a for a in answers) == 1000
    assert completed.returncode == 0


def test_very_deep_or_long_input_is_refused_and_the_next_call_answered(
    tmp_path: Path,
) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    deeper = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 100_000
    long = call(2, "get_env", key="x" * 5 * 1024 * 1024)

    completed = run_with_input(
        tmp_path, b"\n".join([deep, deeper, long.strip(), request(3, "ping")])
    )

    answers = {answer["id"]: answer for answer in parse_messages(completed.stdout)}
    assert answers[None]["error"]["code"] == -32700
    assert answers[2]["result"]["isError"]
    assert answers[3]["result"] == {}
    assert len(completed.stdout) < 2000


def test_an_id_in_use_is_refused_and_the_first_call_continues(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as client:
        client.send(call(5, "slow", seconds=0.3, text="first") + call(5, "slow", text="second"))
        refusal = client.receive()
        answer = client.receive()
        again = client.ask(5, "ping")

    assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)
    assert answer["result"]["structuredContent"] == {"said": "first"}
    assert again["result"] == {}


def test_unknown_methods_and_invalid_parameters_are_errors(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as client:
        unknown = client.ask(1, "no/such/method")
        invalid = client.ask(2, "tools/call", name=5)
        no_such_tool = client.ask(3, "tools/call", name="nobody")
        bad_cursor = client.ask(4, "tools/list", cursor="what")
        client.send(notification("no/such/notification"))
        client.send(encode_line({"jsonrpc": "2.0", "id": 99, "result": {}}))
        alive = client.ask(5, "ping")

    assert unknown["error"]["code"] == -32601
    assert (
        invalid["error"]["code"]
        == no_such_tool["error"]["code"]
        == bad_cursor["error"]["code"]
        == -32602
    )
    assert alive["result"] == {}


def test_the_server_exits_when_the_client_closes_its_end(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path, drain=600) as client:
        assert client.process.stdout
        client.send(call(1, "slow", text="x" * 90_000))
        client.process.stdout.close()

        # The input is still open, but nobody reads the answers.
        assert client.process.wait(TIMEOUT_SECONDS) == 0


@pytest.mark.parametrize(
    "data", [b"x\n" * 3000, b"".join(request(f"{n}-" + "y" * 200, "ping") for n in range(900))]
)
def test_the_server_exits_at_end_of_input_although_the_client_never_reads(
    tmp_path: Path, data: bytes
) -> None:
    with misbehaving_server(tmp_path, drain=0.5) as client:
        assert client.process.stdin
        client.process.stdin.write(data)
        client.process.stdin.close()

        assert client.process.wait(TIMEOUT_SECONDS) == 0


def test_the_server_exits_at_the_second_signal_although_the_client_never_reads(
    tmp_path: Path,
) -> None:
    with misbehaving_server(tmp_path, drain=600) as client:
        client.send(b"".join(call(n, "slow", text="x" * 1000) for n in range(200)))
        client.send(call("last", "slow", seconds=600))
        while read_stderr_line(client) != "started":
            pass

        client.process.send_signal(signal.SIGTERM)
        client.process.send_signal(signal.SIGINT)

        assert client.process.wait(TIMEOUT_SECONDS) == 0


def test_too_many_calls_at_once_are_refused_one_by_one(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path, drain=0.1) as client:
        threading.Thread(target=_drain_stderr, args=(client,), daemon=True).start()
        client.send(b"".join(call(number, "slow", seconds=600) for number in range(10_001)))

        refusal = client.receive()

    assert (refusal["id"], refusal["error"]["code"]) == (10_000, -32603)


def _drain_stderr(client: StdioClient) -> None:
    """Keep the server's standard error from filling up."""
    assert client.process.stderr
    for _ in client.process.stderr:
        pass


def test_every_call_of_a_long_burst_is_answered(tmp_path: Path) -> None:
    completed = run_with_input(
        tmp_path, b"".join(request(number, "ping") for number in range(3000))
    )

    assert sorted(answer["id"] for answer in parse_messages(completed.stdout)) == list(range(3000))
    assert all(answer["result"] == {} for answer in parse_messages(completed.stdout))


def test_one_socket_can_be_both_input_and_output(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with (
        ours,
        subprocess.Popen(
            junto_command("mcp"),
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            env=clean_environment(tmp_path),
            cwd=tmp_path,
        ) as process,
    ):
        theirs.close()
        ours.settimeout(TIMEOUT_SECONDS)
        ours.sendall(request(1, "ping"))
        answer = ours.recv(1000)
        ours.shutdown(socket.SHUT_WR)

        assert json.loads(answer) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert process.wait(TIMEOUT_SECONDS) == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors_do_not_crash_the_server(tmp_path: Path, closed: str) -> None:
    command = " ".join(
        ["printf '%s' '", request(1, "ping").decode().strip(), "' |", *junto_command("mcp")]
    )

    completed = subprocess.run(
        ["sh", "-c", f"{command} {closed}"],
        env=clean_environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    assert completed.returncode == 0
    assert b"Traceback" not in completed.stderr
    assert (b'"result"' in completed.stdout) == (closed == "2>&-")


def test_a_full_disk_is_treated_as_a_client_that_has_left(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        completed = subprocess.run(
            junto_command("mcp"),
            input=request(1, "ping"),
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment_with_roots(tmp_path, ANTHROPIC_API_KEY="k"),
            cwd=tmp_path,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    assert (completed.returncode, completed.stderr) == (0, b"")


def test_a_numeric_id_and_the_same_id_as_text_are_equal(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as client:
        client.send(call(7, "slow", seconds=600))
        assert read_stderr_line(client) == "started"
        duplicate = client.ask("7", "ping")
        client.send(notification("notifications/cancelled", requestId="7"))
        assert read_stderr_line(client) == "cancelled"

        code, rest = client.finish()

    assert duplicate["error"]["message"] == "This id is already in use."
    assert (code, rest) == (0, b"")


def test_a_tool_that_cancels_itself_ends_only_its_own_call(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as client:
        client.send(
            call(1, "slow", seconds=0.3) + call(2, "cancel_itself") + call(3, "return_wrong_type")
        )

        answers = {answer["id"]: answer for answer in (client.receive() for _ in range(3))}

    assert answers[2]["result"]["structuredContent"]["code"] == "Cancelled"
    assert answers[3]["error"]["code"] == -32603
    assert answers[1]["result"]["structuredContent"] == {"said": "done"}


def test_files_can_be_input_and_output(tmp_path: Path) -> None:
    input_path, output_path = tmp_path / "in", tmp_path / "out"
    input_path.write_bytes(request(1, "ping") + b'{"jsonrpc":"2.0","id":2,"method":"ping"}')

    with input_path.open("rb") as stdin, output_path.open("wb") as stdout:
        completed = subprocess.run(
            junto_command("mcp"),
            stdin=stdin,
            stdout=stdout,
            env=clean_environment(tmp_path),
            cwd=tmp_path,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    assert [answer["id"] for answer in parse_messages(output_path.read_bytes())] == [1, 2]
    assert completed.returncode == 0


def test_empty_input_exits_with_zero(tmp_path: Path) -> None:
    completed = subprocess.run(
        junto_command("mcp"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=clean_environment(tmp_path),
        cwd=tmp_path,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    assert (completed.returncode, completed.stdout) == (0, b"")


def test_the_pipe_is_left_in_blocking_mode(tmp_path: Path) -> None:
    read_fd, write_fd = os.pipe()
    with os.fdopen(write_fd, "wb") as pipe, os.fdopen(read_fd, "rb"):
        pipe.write(request(1, "ping"))
        pipe.flush()
        with subprocess.Popen(
            junto_command("mcp"),
            stdin=read_fd,
            stdout=subprocess.PIPE,
            env=clean_environment(tmp_path),
            cwd=tmp_path,
        ) as process:
            assert process.stdout
            assert process.stdout.readline()
            process.terminate()
            process.wait(TIMEOUT_SECONDS)

        assert os.get_blocking(read_fd)


def _find_network_sockets(pid: int) -> set[str]:
    """Return the local addresses of the network sockets of a process and its descendants."""
    pids = {pid}
    for entry in sorted(Path("/proc").glob("[0-9]*"), key=lambda each: int(each.name)):
        with contextlib.suppress(OSError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            pids |= {int(entry.name)} if parent in pids else set()
    open_files = set()
    for owner in pids:
        with contextlib.suppress(OSError):
            for link in Path(f"/proc/{owner}/fd").iterdir():
                with contextlib.suppress(OSError):
                    open_files.add(str(link.readlink()))
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = row.split()
            if f"socket:[{words[9]}]" in open_files:
                found.add(words[1])
    return found


@pytest.mark.feature("F025")
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_stdio_opens_no_network_socket_and_trusts_the_user_who_started_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with stdio_server(
        junto_command("mcp"), environment_with_roots(tmp_path), tmp_path, with_coverage=True
    ) as client:
        # No key and no login: only the user who started the process can write to its pipe.
        client.ask(1, "initialize", **HANDSHAKE)
        reply = client.ask(2, "tools/call", name="read_file", arguments={"path": "notes.txt"})
        owner = Path(f"/proc/{client.process.pid}").stat().st_uid
        sockets = _find_network_sockets(client.process.pid)
        code, _ = client.finish()

    assert reply["result"]["content"][0]["text"] == "mine"
    assert owner == os.getuid()
    assert sockets == set()
    assert code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_an_open_network_socket_would_be_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        assert any(each.endswith(f":{port:04X}") for each in _find_network_sockets(os.getpid()))


@pytest.mark.feature("F185")
def test_a_missing_dependency_disables_only_what_needs_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environment = environment_with_roots(
        tmp_path,
        JUNTO_LOGGING_OUTPUT="both",
        JUNTO_LOGGING_DIRECTORY=str(tmp_path / "file" / "logs"),
        JUNTO_DATABASE_URL="postgresql://127.0.0.1:9/nobody?connect_timeout=2",
        JUNTO_EMBEDDED_ENABLED="false",
    )
    with stdio_server(junto_command("mcp"), environment, tmp_path, with_coverage=True) as client:
        handshake = client.ask(1, "initialize", **HANDSHAKE)
        clock = client.ask(2, "tools/call", name="current_time", arguments={})
        chat = client.ask(3, "tools/call", name="chat", arguments={"message": "Hi"})
        code, _ = client.finish()
        assert client.process.stderr
        stderr = client.process.stderr.read().decode()
    program = str(tmp_path / "no_such_program")
    environment = environment_with_roots(
        tmp_path, JUNTO_AGENT_PROGRAM=program, JUNTO_EMBEDDED_ENABLED="false"
    )
    with stdio_server(junto_command("mcp"), environment, tmp_path, with_coverage=True) as client:
        agent_query = client.ask(
            4, "tools/call", name="claude_code_query", arguments={"prompt": "Hi"}
        )
        client.finish()

    assert handshake["result"]["serverInfo"]["name"] == "junto"
    assert "isError" not in clock["result"] or not clock["result"]["isError"]
    assert chat["result"]["isError"]
    assert "error" in agent_query or agent_query["result"]["isError"]
    assert code == 0
    assert "no log files in" in stderr
    assert "There is no model to ask yet" in stderr
    assert "Traceback" not in stderr
