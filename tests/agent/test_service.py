"""What Claude Code does for a client: the real program, and a model on loopback."""

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

from tests.agent.harness import (
    KEY,
    bash,
    facts,
    on_http,
    on_stdio,
    query,
    says,
    steps,
    told,
    whole,
    write,
)
from tests.clients import HANDSHAKE, Json
from tests.processes import until
from tests.server_upstream import ServedUpstream, served_upstream

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


@pytest.fixture(scope="module")
def upstream() -> Iterator[ServedUpstream]:
    with served_upstream() as upstream:
        yield upstream


@pytest.mark.feature("F105", "F106", "F108", "F117", "F118", "F119", "F249")
def test_a_run_writes_a_file_runs_a_command_and_answers(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    file = tmp_path / "work" / "a.txt"
    prompt = steps(write(file, "hello"), bash("cat a.txt; echo again"), says("It is written."))
    with on_stdio(tmp_path, upstream) as client:
        client.ask(0, "initialize", **HANDSHAKE)
        result, before = told(client, "claude_code_query", {"progressToken": 1}, prompt=prompt)
        events = facts(client, "job")["jobs"][0]
        log = facts(client, "job", jobId=events["jobId"], action="events")
        [used] = facts(client, "usage")["lines"]

    ran = result["structuredContent"]
    assert file.read_text() == "hello"
    assert ran["result"] == {"success": True, "summary": "It is written."}
    assert ran["messageCount"] == len(ran["messages"])
    assert not ran["truncated"]
    assert ran["executionTime"] > 0
    assert ran["usage"]["turns"] == 3
    assert ran["usage"]["costUsd"] > 0
    assert (used["name"], used["calls"]) == ("claude-code", 1)
    assert used["costUsd"] == ran["usage"]["costUsd"]
    assert used["outputTokens"] == ran["usage"]["outputTokens"]
    assert result["content"][0]["text"].startswith("It is written.")
    assert not result["isError"]
    results = [_result_of(message) for message in ran["messages"] if message["type"] == "user"]
    assert results[1] == "hello\nagain" or results[1].startswith("hello")
    # Live, in order and without gap, in one shape; and again in the log of the job.
    live = [json.loads(each["params"]["data"]) for each in before if _is_log(each)]
    assert {each["params"]["level"] for each in before if _is_log(each)} == {"info"}
    assert [each["sequence"] for each in live] == list(range(1, len(live) + 1))
    assert {each["type"] for each in live} == {"claude_code_message"}
    assert {each["sessionId"] for each in live} == {ran["sessionId"]}
    assert [each["message"] for each in live] == ran["messages"]
    assert live[0]["message"]["type"] == "system"
    assert live[-1]["message"]["type"] == "result"
    logged = [each["data"] for each in log["events"] if each["kind"] == "message"]
    assert logged == live
    # And in words.
    notes = [each["params"]["message"] for each in before if not _is_log(each)]
    assert any("writing a.txt" in note for note in notes)
    assert any("running cat a.txt; echo again" in note for note in notes)


def _is_log(message: Json) -> bool:
    return bool(message["method"] == "notifications/message")


def _result_of(message: Json) -> str:
    return str(message["message"]["content"][0]["content"])


@pytest.mark.feature("F107")
def test_a_session_goes_on_and_branches(tmp_path: Path, upstream: ServedUpstream) -> None:
    with on_stdio(tmp_path, upstream) as client:
        first = query(client, steps(says("one")))
        id_ = first["sessionId"]
        second = query(client, steps(says("two")), sessionId=f' "{id_.upper()}" ')
        heard = len(upstream.bodies[-1]["messages"])
        branch = query(client, steps(says("three")), sessionId=id_, options={"fork": True})
        on_branch = query(client, steps(says("four")), sessionId=branch["sessionId"])
        branched = json.dumps(upstream.bodies[-1]["messages"])
        unknown = query(client, "hi", sessionId="00000000-0000-4000-8000-000000000000")
        nonsense = query(client, "hi", sessionId="../../etc")
        third = query(client, steps(says("five")), sessionId=id_)
        heard_third = json.dumps(upstream.bodies[-1]["messages"])
    # Somewhere else, and later.
    with on_http(tmp_path, upstream) as (client, _):
        fourth = query(client, steps(says("six")), sessionId=id_)

    assert second["sessionId"] == third["sessionId"] == fourth["sessionId"] == id_
    assert heard >= 3
    assert branch["sessionId"] == on_branch["sessionId"] != id_
    assert all(f'"text": "{word}"' in branched for word in ("one", "two", "three"))
    assert all(f'"text": "{word}"' in heard_third for word in ("one", "two"))
    assert '"text": "three"' not in heard_third
    # What each cost, and not what all of them did.
    assert second["usage"] == third["usage"] == fourth["usage"] == on_branch["usage"]
    assert unknown["code"] == "NotFound"
    assert nonsense["code"] == "ValidationError"
    assert fourth["result"]["summary"] == "six"


def test_pictures_and_documents_in_the_prompt_arrive(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    paper = base64.b64encode(b"%PDF-1.4\n%%EOF\n").decode()
    document = {"inlineData": {"mimeType": "application/pdf", "data": paper}}
    with on_stdio(tmp_path, upstream) as client:
        seen = query(client, steps(says("I see")), parts=[picture, document])

    blocks = [
        block
        for message in upstream.bodies[-1]["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    assert seen["result"]["summary"] == "I see"
    assert [each["source"]["media_type"] for each in blocks if each["type"] == "image"] == [
        "image/png"
    ]
    assert [each["source"]["data"] for each in blocks if each["type"] == "document"] == [paper]


@pytest.mark.feature("F109", "F110", "F111", "F113", "F114", "F115", "F116", "F120", "F130")
def test_options_do_what_they_say(tmp_path: Path, upstream: ServedUpstream) -> None:
    (tmp_path / "work" / "deep").mkdir(parents=True)
    loop = [bash(f"echo {number}") for number in range(5)]
    entry = [{"id": "house", "provider": "anthropic", "modelName": "claude-haiku-4-5"}]
    with on_stdio(
        tmp_path, upstream, JUNTO_AGENT_OVERRIDES="[]", JUNTO_MODELS=json.dumps(entry)
    ) as client:
        closed = query(client, "hi", options={"maxTurns": 1})
        more = query(client, "hi", options={"allowedTools": ["WebFetch"]})
    with on_stdio(
        tmp_path, upstream, JUNTO_AGENT_MAX_MESSAGES="3", JUNTO_MODELS=json.dumps(entry)
    ) as client:
        where = query(client, steps(bash("pwd"), says("ok")), options={"cwd": "deep"})
        turns = query(client, steps(*loop), options={"maxTurns": 2, "maxMessages": 100})
        none = query(client, steps(says("ok")), options={"maxMessages": 0})
        last = query(client, steps(*loop, says("ok")))
        plain = query(
            client,
            steps(says("ok")),
            options={"includeSystemMessages": False, "maxMessages": 100, "model": "house"},
        )
        model = upstream.bodies[-1]["model"]
        words = "Be brief. " * 20_000
        query(client, steps(says("ok")), options={"appendSystemPrompt": words})
        system = json.dumps(upstream.bodies[-1]["system"])
        forbidden = query(
            client, steps(bash("echo hi"), says("ok")), options={"disallowedTools": ["bash"]}
        )
        offered = {each["name"] for each in upstream.bodies[-1]["tools"]}
        outside = query(client, "hi", options={"cwd": "/etc"})
        long = query(client, "hi", options={"timeoutMs": 10**9})
        odd = query(client, "hi", options={"model": "--dangerous"})
        tool = query(client, "hi", options={"disallowedTools": ["Bash, --x"]})
        unforked = query(client, "hi", options={"fork": True})

    assert closed["code"] == more["code"] == "PermissionDenied"
    assert "agent.overrides" in closed["message"]
    assert _result_of(_users(where)[0]) == str(tmp_path / "work" / "deep")
    assert turns["code"] == "ExecutionError"
    assert "maxTurns" in turns["message"]
    assert turns["messages"][-1]["type"] == "error"
    assert none["messages"] == []
    assert none["truncated"]
    assert none["result"]["summary"] == "ok"
    assert len(last["messages"]) == 3
    assert last["truncated"]
    assert last["messageCount"] > 10
    assert "system" not in {each["type"] for each in plain["messages"]}
    assert model == "claude-haiku-4-5"
    assert words.strip() in system
    assert "Bash" not in offered
    assert forbidden["result"]["success"]
    assert outside["code"] == "SecurityError"
    assert long["code"] == odd["code"] == tool["code"] == unforked["code"] == "ValidationError"


def _users(ran: Json) -> list[Json]:
    return [message for message in ran["messages"] if message["type"] == "user"]


def test_a_running_agent_takes_further_messages(tmp_path: Path, upstream: ServedUpstream) -> None:
    flag = tmp_path / "work" / "go"
    waiting = bash(f"until [ -e {flag} ]; do sleep 0.1; done")
    with on_http(tmp_path, upstream) as (client, _):
        job = query(client, steps(waiting, says("I waited")), background=True)["jobId"]

        def state() -> Json:
            return facts(client, "job", jobId=job, action="events")

        assert until(lambda: "running until" in json.dumps(state()))
        sent = facts(client, "job", jobId=job, action="send", message=steps(says("I heard you")))
        empty = facts(client, "job", jobId=job, action="send")
        flag.touch()
        done = facts(client, "job", jobId=job, action="result", waitSeconds=30)
        late = facts(client, "job", jobId=job, action="send", message="too late")

    assert sent["state"] == "running"
    assert empty["code"] == "ValidationError"
    assert done["state"] == "completed"
    assert done["result"]["result"]["summary"] == "I heard you"
    assert late["code"] == "ValidationError"
    assert "sessionId" in late["message"]


def test_a_message_comes_from_another_server_too(tmp_path: Path, upstream: ServedUpstream) -> None:
    flag = tmp_path / "work" / "go"
    waiting = bash(f"until [ -e {flag} ]; do sleep 0.1; done")
    with on_http(tmp_path, upstream) as (here, _), on_http(tmp_path, upstream) as (there, _):
        job = query(here, steps(waiting, says("I waited")), background=True)["jobId"]
        assert until(
            lambda: "running until" in json.dumps(facts(here, "job", jobId=job, action="events"))
        )
        sent = facts(there, "job", jobId=job, action="send", message=steps(says("I heard you")))
        # It looks for letters every second.
        assert until(lambda: _took_a_message(tmp_path))
        flag.touch()
        done = facts(there, "job", jobId=job, action="result", waitSeconds=30)

    assert sent["state"] == "running"
    assert done["result"]["result"]["summary"] == "I heard you"


def test_a_session_does_one_thing_at_a_time_on_all_servers(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    flag = tmp_path / "work" / "go"
    waiting = bash(f"until [ -e {flag} ]; do sleep 0.1; done")
    with on_http(tmp_path, upstream) as (here, _), on_http(tmp_path, upstream) as (there, _):
        id_ = query(here, steps(says("one")))["sessionId"]
        job = query(here, steps(waiting, says("two")), sessionId=id_, background=True)["jobId"]
        assert until(
            lambda: "running until" in json.dumps(facts(here, "job", jobId=job, action="events"))
        )
        busy = [query(each, steps(says("x")), sessionId=id_) for each in (here, there)]
        branch = query(there, steps(says("beside")), sessionId=id_, options={"fork": True})
        flag.touch()
        done = facts(there, "job", jobId=job, waitSeconds=30)
        after = query(there, steps(says("three")), sessionId=id_)

    assert [each["code"] for each in busy] == ["ValidationError"] * 2
    assert "fork: true" in busy[0]["message"]
    assert branch["result"]["summary"] == "beside"
    assert done["state"] == "completed"
    assert after["result"]["summary"] == "three"


def _took_a_message(home: Path) -> bool:
    with contextlib.closing(sqlite3.connect(home / "data" / "junto" / "junto.db")) as db:
        return not db.execute("SELECT 1 FROM job_letters").fetchall()


@pytest.mark.feature("F132", "F133", "F134", "F137")
def test_nothing_of_ours_reaches_the_agents_shell(tmp_path: Path, upstream: ServedUpstream) -> None:
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
    look = bash(
        "env; tr '\\0' '\\n' < /proc/$PPID/environ; touch ../outside /tmp/junto-outside; "
        "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep PLANTED"
    )
    with on_stdio(tmp_path, upstream, PLANTED_WORD="planted-in-ours", DATABASE="x") as client:
        before = len(upstream.bodies)
        ran = query(client, steps(look, says("done")) + " and read @/etc/passwd")
        echoed = query(client, steps(bash(f"echo {KEY[:20]}{KEY[20:]}"), says(KEY)))

    output = _result_of(_users(ran)[0])
    names = {line.partition("=")[0] for line in output.splitlines() if "=" in line}
    assert "PATH" in names
    assert not names & {
        "PLANTED_WORD", "DATABASE", "ANTHROPIC_API_KEY", "JUNTO_TOOLS_ROOTS", "FROM_PROFILE",
        "FROM_BASHRC",
    }  # fmt: skip
    assert "planted" not in output.replace("PLANTED", "")
    assert KEY not in json.dumps(ran)
    assert KEY not in json.dumps(echoed)
    assert not (work / "hooked").exists()
    assert not (work / "started").exists()
    assert not (tmp_path / "outside").exists()
    assert not Path("/tmp/junto-outside").exists()  # noqa: S108 - that is the point
    assert "root:" not in json.dumps(upstream.bodies[before:])


@pytest.mark.feature("F125", "F128", "F249")
def test_each_failure_says_what_to_do(tmp_path: Path, upstream: ServedUpstream) -> None:
    with on_stdio(tmp_path, upstream) as client:
        bad_key = query(client, steps({"status": 401}))
        upstream.refusals = 0
        recovered = query(client, steps({"status": 529, "times": 2, "text": "at last"}))
        overloaded = query(client, steps({"status": 529}))
        no_model = query(client, steps({"status": 404}))
        wrong = query(client, steps({"status": 400}))
    with on_stdio(tmp_path, upstream, ANTHROPIC_API_KEY="") as client:
        no_key = query(client, "hi")
    with on_stdio(tmp_path, upstream, ANTHROPIC_BASE_URL="http://127.0.0.1:9") as client:
        unreached = query(client, "hi")
    with on_stdio(tmp_path, upstream, JUNTO_AGENT_PROGRAM="/bin/false") as client:
        broken = query(client, "hi")

    assert bad_key["code"] == "AuthenticationFailed"
    assert "ANTHROPIC_API_KEY" in bad_key["message"]
    assert bad_key["executionTime"] < 10_000
    assert bad_key["result"]["error"] == bad_key["message"]
    assert recovered["result"] == {"success": True, "summary": "at last"}
    assert overloaded["code"] == "RateLimited"
    assert overloaded["retryable"]
    assert no_model["code"] == "NotFound"
    assert wrong["code"] == "ExecutionError"
    assert no_key["code"] == "AuthenticationFailed"
    assert "ANTHROPIC_API_KEY" in no_key["message"]
    assert unreached["code"] == "NetworkError"
    assert unreached["retryable"]
    assert broken["code"] == "ExecutionError"
    assert "did not start" in broken["message"]


def test_eight_runs_at_once_all_finish(tmp_path: Path, upstream: ServedUpstream) -> None:
    with on_http(tmp_path, upstream, JUNTO_AGENT_CONCURRENT="3") as (client, _):
        with ThreadPoolExecutor(8) as people:
            ran = list(
                people.map(
                    lambda number: query(
                        client, steps(bash(f"echo {number} > {number}.txt"), says(f"did {number}"))
                    ),
                    range(8),
                )
            )
        numbers = client.get("/metrics").body.decode()

    assert [each["result"]["summary"] for each in ran] == [f"did {number}" for number in range(8)]
    assert len({each["sessionId"] for each in ran}) == 8
    assert all((tmp_path / "work" / f"{number}.txt").exists() for number in range(8))
    assert 'agent_runs_total{status="ok"} 8.0' in numbers
    assert "agent_running 0.0" in numbers
    assert "agent_run_duration_seconds_count 8.0" in numbers
    assert "agent_run_turns_sum 16.0" in numbers
    assert "agent_cost_usd_total" in numbers


@pytest.mark.feature("F131")
def test_the_tool_is_there_only_where_it_may_be(tmp_path: Path, upstream: ServedUpstream) -> None:
    with on_stdio(tmp_path, upstream, CLAUDE_CODE_ENABLE="false") as client:
        listed = client.ask(1, "tools/list")["result"]["tools"]
        refused = client.ask(2, "tools/call", name="claude_code_query", arguments={"prompt": "x"})
    with on_http(tmp_path, upstream, JUNTO_TOOLS_OVER_HTTP="read") as (web, _):
        over_http = web.legacy("tools/list").json()["result"]["tools"]

    names = {each["name"] for each in (*listed, *over_http)}
    assert "claude_code_query" not in names
    assert "error" in refused


def test_what_nobody_can_agree_to_is_denied_and_said(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    prompt = steps(bash("python3 -c \"open('made', 'w')\""), says("I could not."))
    with on_stdio(tmp_path, upstream, JUNTO_AGENT_ALLOWED_TOOLS="") as client:
        result = whole(client, "claude_code_query", prompt=prompt)
        wider = query(client, "hi", options={"permissionMode": "bypassPermissions"})

    ran = result["structuredContent"]
    assert not (tmp_path / "work" / "made").exists()
    assert ran["result"]["denied"] == ["running python3 -c \"open('made', 'w')\""]
    assert "agent.allowed_tools" in _result_of(_users(ran)[0])
    assert "Not allowed" in result["content"][0]["text"]
    assert wider["code"] == "PermissionDenied"
    assert "agent.allow_bypass" in wider["message"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_as_root_it_bypasses_as_another_user(upstream: ServedUpstream) -> None:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        home.chmod(0o755)
        (home / "tmp").mkdir()
        (home / "work").mkdir()
        for folder in ("tmp", "work"):
            shutil.chown(home / folder, "nobody")
        prompt = steps(bash("python3 -c 'import os; print(os.getuid())' > who"), says("ok"))
        bypass = {"permissionMode": "bypassPermissions"}
        more = {"JUNTO_AGENT_ALLOW_BYPASS": "true", "JUNTO_AGENT_ALLOWED_TOOLS": "[]"}
        with on_stdio(home, upstream, **more) as client:
            as_root = query(client, prompt, options=bypass)
        with on_stdio(home, upstream, JUNTO_AGENT_USER="nobody", **more) as client:
            ran = query(client, prompt, options=bypass)
        who = (home / "work" / "who").read_text().strip()

    assert as_root["code"] == "PermissionDenied"
    assert "agent.user" in as_root["message"]
    assert ran["result"] == {"success": True, "summary": "ok"}
    assert who == str(pwd.getpwnam("nobody").pw_uid)


@pytest.mark.feature("F126", "F138", "F140", "F141", "F142", "F143", "F144")
def test_every_run_is_written_down_and_a_failure_is_told_twice(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with on_stdio(tmp_path, upstream, JUNTO_LOGGING_LEVEL="info") as client:
        client.ask(0, "initialize", **HANDSHAKE)
        query(client, steps(says("ok")))
        failed, before = told(client, "claude_code_query", prompt=steps({"status": 401}))
        client.process.terminate()
        errors = client.process.communicate()[1].decode()

    runs = [json.loads(line) for line in errors.splitlines() if "agent run" in line]
    assert [run["status"] for run in runs] == ["ok", "AuthenticationFailed"]
    assert runs[0]["turns"] == 1
    assert runs[0]["cost"] > 0
    assert runs[0]["seconds"] > 0
    assert runs[0]["mode"] == "acceptEdits"
    last = before[-1]["params"]
    message = json.loads(last["data"])["message"]
    assert last["level"] == "error"
    assert message["error"] == failed["structuredContent"]["result"]["error"]
    assert KEY not in errors
