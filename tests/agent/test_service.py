"""Runs of the real Claude Code, started by a client, against a fake model server."""

import base64
import contextlib
import json
import os
import pwd
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.agent.claude_code_server import (
    API_KEY,
    bash,
    call_and_collect,
    call_for_content,
    call_tool,
    http_client,
    run_agent,
    say,
    stdio_client,
    steps,
    write,
)
from tests.clients import HANDSHAKE, Json
from tests.fake_model_server import FakeModelServer, fake_model_server
from tests.processes import wait_until

PIXEL_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


@pytest.fixture(scope="module")
def upstream() -> Iterator[FakeModelServer]:
    with fake_model_server() as upstream:
        yield upstream


@pytest.mark.feature("F105", "F106", "F108", "F117", "F118", "F119", "F249")
def test_a_run_writes_a_file_runs_a_command_and_answers(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    file = tmp_path / "work" / "a.txt"
    # It takes a moment, because progress is sent at most twenty times a second.
    command = bash("cat a.txt; echo again; sleep 0.5")
    prompt = steps(write(file, "hello"), command, say("It is written."))
    with stdio_client(tmp_path, upstream) as client:
        client.ask(0, "initialize", **HANDSHAKE)
        result, notifications = call_and_collect(
            client, "claude_code_query", {"progressToken": 1}, prompt=prompt
        )
        job = call_for_content(client, "job")["jobs"][0]
        log = call_for_content(client, "job", jobId=job["jobId"], action="events")
        [usage] = call_for_content(client, "usage")["lines"]

    content = result["structuredContent"]
    assert file.read_text() == "hello"
    assert content["result"] == {"success": True, "summary": "It is written."}
    assert content["messageCount"] == len(content["messages"])
    assert not content["truncated"]
    assert content["executionTime"] > 0
    assert content["usage"]["turns"] == 3
    assert content["usage"]["costUsd"] > 0
    assert (usage["name"], usage["calls"]) == ("claude-code", 1)
    assert usage["costUsd"] == content["usage"]["costUsd"]
    assert usage["outputTokens"] == content["usage"]["outputTokens"]
    assert result["content"][0]["text"].startswith("It is written.")
    assert not result["isError"]
    outputs = [
        _tool_output(message) for message in content["messages"] if message["type"] == "user"
    ]
    assert outputs[1] == "hello\nagain" or outputs[1].startswith("hello")
    # Messages are streamed in order and without gaps, and the job's log contains the same ones.
    streamed = [json.loads(each["params"]["data"]) for each in notifications if _is_log(each)]
    assert {each["params"]["level"] for each in notifications if _is_log(each)} == {"info"}
    assert [each["sequence"] for each in streamed] == list(range(1, len(streamed) + 1))
    assert {each["type"] for each in streamed} == {"claude_code_message"}
    assert {each["sessionId"] for each in streamed} == {content["sessionId"]}
    assert [each["message"] for each in streamed] == content["messages"]
    assert streamed[0]["message"]["type"] == "system"
    assert streamed[-1]["message"]["type"] == "result"
    logged = [each["data"] for each in log["events"] if each["kind"] == "message"]
    assert logged == streamed
    # Progress notifications describe them in words.
    statuses = [each["params"]["message"] for each in notifications if not _is_log(each)]
    assert any("writing a.txt" in status for status in statuses)
    assert any("running cat a.txt; echo again" in status for status in statuses)


def _is_log(message: Json) -> bool:
    return bool(message["method"] == "notifications/message")


def _tool_output(message: Json) -> str:
    return str(message["message"]["content"][0]["content"])


@pytest.mark.feature("F107")
def test_a_session_can_be_resumed_and_forked(tmp_path: Path, upstream: FakeModelServer) -> None:
    with stdio_client(tmp_path, upstream) as client:
        first = run_agent(client, steps(say("one")))
        id_ = first["sessionId"]
        second = run_agent(client, steps(say("two")), sessionId=f' "{id_.upper()}" ')
        message_count = len(upstream.bodies[-1]["messages"])
        fork = run_agent(client, steps(say("three")), sessionId=id_, options={"fork": True})
        resumed_fork = run_agent(client, steps(say("four")), sessionId=fork["sessionId"])
        fork_messages = json.dumps(upstream.bodies[-1]["messages"])
        unknown = run_agent(client, "hi", sessionId="00000000-0000-4000-8000-000000000000")
        malformed = run_agent(client, "hi", sessionId="../../etc")
        third = run_agent(client, steps(say("five")), sessionId=id_)
        third_messages = json.dumps(upstream.bodies[-1]["messages"])
    # Another server resumes the session later.
    with http_client(tmp_path, upstream) as (client, _):
        fourth = run_agent(client, steps(say("six")), sessionId=id_)

    assert second["sessionId"] == third["sessionId"] == fourth["sessionId"] == id_
    assert message_count >= 3
    assert fork["sessionId"] == resumed_fork["sessionId"] != id_
    assert all(f'"text": "{word}"' in fork_messages for word in ("one", "two", "three"))
    assert all(f'"text": "{word}"' in third_messages for word in ("one", "two"))
    assert '"text": "three"' not in third_messages
    # Usage counts one run, not the whole session.
    assert second["usage"] == third["usage"] == fourth["usage"] == resumed_fork["usage"]
    assert unknown["code"] == "NotFound"
    assert malformed["code"] == "ValidationError"
    assert fourth["result"]["summary"] == "six"


def test_images_and_documents_in_the_prompt_reach_the_model(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": PIXEL_PNG}}
    pdf = base64.b64encode(b"%PDF-1.4\n%%EOF\n").decode()
    document = {"inlineData": {"mimeType": "application/pdf", "data": pdf}}
    with stdio_client(tmp_path, upstream) as client:
        content = run_agent(client, steps(say("I see")), parts=[image, document])

    blocks = [
        block
        for message in upstream.bodies[-1]["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    assert content["result"]["summary"] == "I see"
    assert [each["source"]["media_type"] for each in blocks if each["type"] == "image"] == [
        "image/png"
    ]
    assert [each["source"]["data"] for each in blocks if each["type"] == "document"] == [pdf]


@pytest.mark.feature("F109", "F110", "F111", "F113", "F114", "F115", "F116", "F120", "F130")
def test_options_are_applied_or_rejected(tmp_path: Path, upstream: FakeModelServer) -> None:
    (tmp_path / "work" / "deep").mkdir(parents=True)
    commands = [bash(f"echo {number}") for number in range(5)]
    entry = [{"id": "house", "provider": "anthropic", "modelName": "claude-haiku-4-5"}]
    with stdio_client(
        tmp_path, upstream, JUNTO_AGENT_OVERRIDES="[]", JUNTO_MODELS=json.dumps(entry)
    ) as client:
        denied_turns = run_agent(client, "hi", options={"maxTurns": 1})
        denied_tools = run_agent(client, "hi", options={"allowedTools": ["WebFetch"]})
    with stdio_client(
        tmp_path, upstream, JUNTO_AGENT_MAX_MESSAGES="3", JUNTO_MODELS=json.dumps(entry)
    ) as client:
        in_subfolder = run_agent(client, steps(bash("pwd"), say("ok")), options={"cwd": "deep"})
        out_of_turns = run_agent(
            client, steps(*commands), options={"maxTurns": 2, "maxMessages": 100}
        )
        no_messages = run_agent(client, steps(say("ok")), options={"maxMessages": 0})
        last_messages = run_agent(client, steps(*commands, say("ok")))
        without_system = run_agent(
            client,
            steps(say("ok")),
            options={"includeSystemMessages": False, "maxMessages": 100, "model": "house"},
        )
        model = upstream.bodies[-1]["model"]
        system_prompt = "Be brief. " * 20_000
        run_agent(client, steps(say("ok")), options={"appendSystemPrompt": system_prompt})
        sent_system = json.dumps(upstream.bodies[-1]["system"])
        forbidden = run_agent(
            client, steps(bash("echo hi"), say("ok")), options={"disallowedTools": ["bash"]}
        )
        offered_tools = {each["name"] for each in upstream.bodies[-1]["tools"]}
        outside_roots = run_agent(client, "hi", options={"cwd": "/etc"})
        too_long = run_agent(client, "hi", options={"timeoutMs": 10**9})
        bad_model = run_agent(client, "hi", options={"model": "--dangerous"})
        bad_tool = run_agent(client, "hi", options={"disallowedTools": ["Bash, --x"]})
        fork_without_session = run_agent(client, "hi", options={"fork": True})

    assert denied_turns["code"] == denied_tools["code"] == "PermissionDenied"
    assert "agent.overrides" in denied_turns["message"]
    assert _tool_output(_user_messages(in_subfolder)[0]) == str(tmp_path / "work" / "deep")
    assert out_of_turns["code"] == "ExecutionError"
    assert "maxTurns" in out_of_turns["message"]
    assert out_of_turns["messages"][-1]["type"] == "error"
    assert no_messages["messages"] == []
    assert no_messages["truncated"]
    assert no_messages["result"]["summary"] == "ok"
    assert len(last_messages["messages"]) == 3
    assert last_messages["truncated"]
    assert last_messages["messageCount"] > 10
    assert "system" not in {each["type"] for each in without_system["messages"]}
    assert model == "claude-haiku-4-5"
    assert system_prompt.strip() in sent_system
    assert "Bash" not in offered_tools
    assert forbidden["result"]["success"]
    assert outside_roots["code"] == "SecurityError"
    assert (
        too_long["code"]
        == bad_model["code"]
        == bad_tool["code"]
        == fork_without_session["code"]
        == "ValidationError"
    )


def _user_messages(content: Json) -> list[Json]:
    return [message for message in content["messages"] if message["type"] == "user"]


def test_a_running_agent_accepts_further_messages(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    flag = tmp_path / "work" / "go"
    wait = bash(f"until [ -e {flag} ]; do sleep 0.1; done")
    with http_client(tmp_path, upstream) as (client, _):
        job = run_agent(client, steps(wait, say("I waited")), background=True)["jobId"]

        def fetch_events() -> Json:
            return call_for_content(client, "job", jobId=job, action="events")

        assert wait_until(lambda: "running until" in json.dumps(fetch_events()))
        sent = call_for_content(
            client, "job", jobId=job, action="send", message=steps(say("I heard you"))
        )
        empty = call_for_content(client, "job", jobId=job, action="send")
        flag.touch()
        done = call_for_content(client, "job", jobId=job, action="result", waitSeconds=30)
        late = call_for_content(client, "job", jobId=job, action="send", message="too late")

    assert sent["state"] == "running"
    assert empty["code"] == "ValidationError"
    assert done["state"] == "completed"
    assert done["result"]["result"]["summary"] == "I heard you"
    assert late["code"] == "ValidationError"
    assert "sessionId" in late["message"]


def test_a_message_can_be_sent_from_another_server(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    flag = tmp_path / "work" / "go"
    wait = bash(f"until [ -e {flag} ]; do sleep 0.1; done")
    with (
        http_client(tmp_path, upstream) as (here, _),
        http_client(tmp_path, upstream) as (there, _),
    ):
        job = run_agent(here, steps(wait, say("I waited")), background=True)["jobId"]
        assert wait_until(
            lambda: (
                "running until"
                in json.dumps(call_for_content(here, "job", jobId=job, action="events"))
            )
        )
        sent = call_for_content(
            there, "job", jobId=job, action="send", message=steps(say("I heard you"))
        )
        # The run polls its mailbox every second.
        assert wait_until(lambda: _mailbox_is_empty(tmp_path))
        flag.touch()
        done = call_for_content(there, "job", jobId=job, action="result", waitSeconds=30)

    assert sent["state"] == "running"
    assert done["result"]["result"]["summary"] == "I heard you"


def test_a_session_runs_once_at_a_time_across_servers(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    flag = tmp_path / "work" / "go"
    wait = bash(f"until [ -e {flag} ]; do sleep 0.1; done")
    with (
        http_client(tmp_path, upstream) as (here, _),
        http_client(tmp_path, upstream) as (there, _),
    ):
        id_ = run_agent(here, steps(say("one")))["sessionId"]
        job = run_agent(here, steps(wait, say("two")), sessionId=id_, background=True)["jobId"]
        assert wait_until(
            lambda: (
                "running until"
                in json.dumps(call_for_content(here, "job", jobId=job, action="events"))
            )
        )
        busy = [run_agent(each, steps(say("x")), sessionId=id_) for each in (here, there)]
        fork = run_agent(there, steps(say("beside")), sessionId=id_, options={"fork": True})
        flag.touch()
        done = call_for_content(there, "job", jobId=job, waitSeconds=30)
        after = run_agent(there, steps(say("three")), sessionId=id_)

    assert [each["code"] for each in busy] == ["ValidationError"] * 2
    assert "fork: true" in busy[0]["message"]
    assert fork["result"]["summary"] == "beside"
    assert done["state"] == "completed"
    assert after["result"]["summary"] == "three"


def _mailbox_is_empty(home: Path) -> bool:
    with contextlib.closing(sqlite3.connect(home / "data" / "junto" / "junto.db")) as db:
        return not db.execute("SELECT 1 FROM job_letters").fetchall()


@pytest.mark.feature("F132", "F133", "F134", "F137")
def test_the_agents_shell_is_isolated_from_the_server_and_project_settings(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    (tmp_path / ".profile").write_text("export FROM_PROFILE=planted\n")
    (tmp_path / ".bashrc").write_text("export FROM_BASHRC=planted\n")
    hooks = {
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch hooked"}]}]}
    }
    work = tmp_path / "work"
    (work / ".claude").mkdir(parents=True)
    (work / ".claude" / "settings.json").write_text(json.dumps(hooks))
    servers = {"mcpServers": {"planted": {"command": "touch", "args": ["started"]}}}
    (work / ".mcp.json").write_text(json.dumps(servers))
    inspect = bash(
        "env; tr '\\0' '\\n' < /proc/$PPID/environ; touch ../outside /tmp/junto-outside; "
        "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep PLANTED"
    )
    with stdio_client(tmp_path, upstream, PLANTED_WORD="planted-in-ours", DATABASE="x") as client:
        earlier_requests = len(upstream.bodies)
        content = run_agent(client, steps(inspect, say("done")) + " and read @/etc/passwd")
        echoed = run_agent(client, steps(bash(f"echo {API_KEY[:20]}{API_KEY[20:]}"), say(API_KEY)))

    output = _tool_output(_user_messages(content)[0])
    names = {line.partition("=")[0] for line in output.splitlines() if "=" in line}
    assert "PATH" in names
    assert not names & {
        "PLANTED_WORD", "DATABASE", "ANTHROPIC_API_KEY", "JUNTO_TOOLS_ROOTS", "FROM_PROFILE",
        "FROM_BASHRC",
    }  # fmt: skip
    assert "planted" not in output.replace("PLANTED", "")
    assert API_KEY not in json.dumps(content)
    assert API_KEY not in json.dumps(echoed)
    assert not (work / "hooked").exists()
    assert not (work / "started").exists()
    assert not (tmp_path / "outside").exists()
    assert not Path("/tmp/junto-outside").exists()  # noqa: S108 - that is the point
    assert "root:" not in json.dumps(upstream.bodies[earlier_requests:])


@pytest.mark.feature("F125", "F128", "F249")
def test_each_failure_tells_what_to_do(tmp_path: Path, upstream: FakeModelServer) -> None:
    with stdio_client(tmp_path, upstream) as client:
        bad_key = run_agent(client, steps({"status": 401}))
        upstream.refusals = 0
        recovered = run_agent(client, steps({"status": 529, "times": 2, "text": "at last"}))
        overloaded = run_agent(client, steps({"status": 529}))
        no_model = run_agent(client, steps({"status": 404}))
        bad_request = run_agent(client, steps({"status": 400}))
    with stdio_client(tmp_path, upstream, ANTHROPIC_API_KEY="") as client:
        no_key = run_agent(client, "hi")
    with stdio_client(tmp_path, upstream, ANTHROPIC_BASE_URL="http://127.0.0.1:9") as client:
        unreachable = run_agent(client, "hi")
    with stdio_client(tmp_path, upstream, JUNTO_AGENT_PROGRAM="/bin/false") as client:
        broken = run_agent(client, "hi")

    assert bad_key["code"] == "AuthenticationFailed"
    assert "ANTHROPIC_API_KEY" in bad_key["message"]
    assert bad_key["executionTime"] < 10_000
    assert bad_key["result"]["error"] == bad_key["message"]
    assert recovered["result"] == {"success": True, "summary": "at last"}
    assert overloaded["code"] == "RateLimited"
    assert overloaded["retryable"]
    assert no_model["code"] == "NotFound"
    assert bad_request["code"] == "ExecutionError"
    assert no_key["code"] == "AuthenticationFailed"
    assert "ANTHROPIC_API_KEY" in no_key["message"]
    assert unreachable["code"] == "NetworkError"
    assert unreachable["retryable"]
    assert broken["code"] == "ExecutionError"
    assert "did not start" in broken["message"]


def test_eight_concurrent_runs_all_finish(tmp_path: Path, upstream: FakeModelServer) -> None:
    with http_client(tmp_path, upstream, JUNTO_AGENT_CONCURRENT="3") as (client, _):
        with ThreadPoolExecutor(8) as pool:
            runs = list(
                pool.map(
                    lambda number: run_agent(
                        client, steps(bash(f"echo {number} > {number}.txt"), say(f"did {number}"))
                    ),
                    range(8),
                )
            )
        metrics = client.get("/metrics").body.decode()

    assert [each["result"]["summary"] for each in runs] == [f"did {number}" for number in range(8)]
    assert len({each["sessionId"] for each in runs}) == 8
    assert all((tmp_path / "work" / f"{number}.txt").exists() for number in range(8))
    assert 'agent_runs_total{status="ok"} 8.0' in metrics
    assert "agent_running 0.0" in metrics
    assert "agent_run_duration_seconds_count 8.0" in metrics
    assert "agent_run_turns_sum 16.0" in metrics
    assert "agent_cost_usd_total" in metrics


@pytest.mark.feature("F131")
def test_the_tool_is_listed_only_where_it_is_enabled(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with stdio_client(tmp_path, upstream, CLAUDE_CODE_ENABLE="false") as client:
        listed = client.ask(1, "tools/list")["result"]["tools"]
        refused = client.ask(2, "tools/call", name="claude_code_query", arguments={"prompt": "x"})
    with http_client(tmp_path, upstream, JUNTO_TOOLS_OVER_HTTP="read") as (http, _):
        over_http = http.legacy("tools/list").json()["result"]["tools"]

    names = {each["name"] for each in (*listed, *over_http)}
    assert "claude_code_query" not in names
    assert "error" in refused


def test_a_permission_nobody_can_grant_is_denied_and_reported(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    prompt = steps(bash("python3 -c \"open('made', 'w')\""), say("I could not."))
    with stdio_client(tmp_path, upstream, JUNTO_AGENT_ALLOWED_TOOLS="") as client:
        result = call_tool(client, "claude_code_query", prompt=prompt)
        bypass = run_agent(client, "hi", options={"permissionMode": "bypassPermissions"})

    content = result["structuredContent"]
    assert not (tmp_path / "work" / "made").exists()
    assert content["result"]["denied"] == ["running python3 -c \"open('made', 'w')\""]
    assert "agent.allowed_tools" in _tool_output(_user_messages(content)[0])
    assert "Not allowed" in result["content"][0]["text"]
    assert bypass["code"] == "PermissionDenied"
    assert "agent.allow_bypass" in bypass["message"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_root_bypasses_permissions_only_as_another_user(upstream: FakeModelServer) -> None:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        home.chmod(0o755)
        (home / "tmp").mkdir()
        (home / "work").mkdir()
        for folder in ("tmp", "work"):
            shutil.chown(home / folder, "nobody")
        prompt = steps(bash("python3 -c 'import os; print(os.getuid())' > who"), say("ok"))
        bypass = {"permissionMode": "bypassPermissions"}
        variables = {"JUNTO_AGENT_ALLOW_BYPASS": "true", "JUNTO_AGENT_ALLOWED_TOOLS": "[]"}
        with stdio_client(home, upstream, **variables) as client:
            as_root = run_agent(client, prompt, options=bypass)
        with stdio_client(home, upstream, JUNTO_AGENT_USER="nobody", **variables) as client:
            as_nobody = run_agent(client, prompt, options=bypass)
        uid = (home / "work" / "who").read_text().strip()

    assert as_root["code"] == "PermissionDenied"
    assert "agent.user" in as_root["message"]
    assert as_nobody["result"] == {"success": True, "summary": "ok"}
    assert uid == str(pwd.getpwnam("nobody").pw_uid)


@pytest.mark.feature("F126", "F138", "F140", "F141", "F142", "F143", "F144")
def test_every_run_is_logged_and_a_failure_is_also_sent_as_a_notification(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with stdio_client(tmp_path, upstream, JUNTO_LOGGING_LEVEL="info") as client:
        client.ask(0, "initialize", **HANDSHAKE)
        run_agent(client, steps(say("ok")))
        failed, notifications = call_and_collect(
            client, "claude_code_query", prompt=steps({"status": 401})
        )
        client.process.terminate()
        stderr = client.process.communicate()[1].decode()

    runs = [json.loads(line) for line in stderr.splitlines() if "agent run" in line]
    assert [run["status"] for run in runs] == ["ok", "AuthenticationFailed"]
    assert runs[0]["turns"] == 1
    assert runs[0]["cost"] > 0
    assert runs[0]["seconds"] > 0
    assert runs[0]["mode"] == "acceptEdits"
    last = notifications[-1]["params"]
    message = json.loads(last["data"])["message"]
    assert last["level"] == "error"
    assert message["error"] == failed["structuredContent"]["result"]["error"]
    assert API_KEY not in stderr
