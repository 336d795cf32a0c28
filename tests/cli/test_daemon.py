"""`junto start`, `stop`, `restart` and `status`, on real processes."""

import fcntl
import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import SECONDS, Reply
from tests.households import Household, household
from tests.processes import until
from tests.server_upstream import served_upstream

# Every field is there, and a pid of -1 would stand for every process.
WRONG = json.dumps(
    dict.fromkeys(("id", "born", "url", "version", "settings", "log", "config"), "")
    | {"pid": -1, "since": 0.0, "drain": 0, "flags": {}}
)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Household]:
    with household(tmp_path) as found:
        yield found


@pytest.fixture
def stranger() -> Iterator[int]:
    """Return a port that another program listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def bystander() -> Iterator["subprocess.Popen[bytes]"]:
    """Return a process that has nothing to do with any of this, and must live."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        assert process.poll() is None
        process.kill()


@pytest.mark.feature("F240")
def test_a_server_is_started_once_seen_and_stopped(house: Household) -> None:
    (house.home / "uvicorn.py").write_text("raise SystemExit('planted')")
    before = house.run("status")
    started = house.run("start")
    again = house.run("start")
    seen = house.run("status")
    facts = json.loads(house.run("status", "--json").stdout)
    health = house.http().get("/health").json()
    session = os.getsid(facts["pid"])
    stopped = house.run("stop")
    after = house.run("stop")

    assert (before.returncode, before.stdout) == (3, "Not running.\n")
    assert (started.returncode, started.stderr) == (
        0,
        f"Started: Junto {health['version']} (pid {facts['pid']}).\n",
    )
    assert started.stdout == again.stdout == f"{facts['url']}\n"
    assert (again.returncode, again.stderr) == (0, f"Already running (pid {facts['pid']}).\n")
    assert (seen.returncode, seen.stderr) == (0, "")
    assert seen.stdout.splitlines()[1:] == [
        f"  serves   {facts['url']}",
        f"  version  {health['version']}",
        f"  log      {house.log}",
    ]
    assert (facts["state"], facts["healthy"], facts["changed"]) == ("running", True, [])
    assert session == facts["pid"]
    assert (stopped.returncode, stopped.stderr) == (0, f"Stopped (pid {facts['pid']}).\n")
    assert (after.returncode, after.stderr) == (0, "Not running.\n")
    assert not house.servers()
    assert not house.record.exists()
    assert stat.S_IMODE(house.log.stat().st_mode) == 0o600
    assert stat.S_IMODE(house.folder.stat().st_mode) == 0o700
    assert "Junto has stopped." in house.log.read_text()


def test_several_starts_at_once_start_one_server(house: Household) -> None:
    starts = [house.begun("start") for _ in range(4)]
    told = [process.communicate(timeout=SECONDS) for process in starts]

    assert [process.returncode for process in starts] == [0] * 4
    assert len({out for out, _ in told}) == 1
    assert sum(err.startswith("Started") for _, err in told) == 1
    assert len(house.servers()) == 1


def test_what_a_killed_server_leaves_leads_to_nobody_and_the_next_start_starts_one(
    house: Household, bystander: "subprocess.Popen[bytes]"
) -> None:
    house.run("start")
    told = house.told()
    first = house.killed()
    house.record.write_text(json.dumps(told | {"pid": bystander.pid}))

    status, stop, start = house.run("status"), house.run("stop"), house.run("start")

    assert (status.returncode, status.stdout) == (3, "Not running.\n")
    assert (stop.returncode, stop.stderr) == (0, "Not running.\n")
    assert start.stderr.startswith("Started")
    assert house.servers() not in ([], [first], [bystander.pid])


def test_a_number_that_has_gone_to_another_process_is_not_signalled(
    house: Household, bystander: "subprocess.Popen[bytes]"
) -> None:
    house.run("start")
    told = house.told()
    house.record.write_text(json.dumps(told | {"pid": bystander.pid}))

    stop = house.run("stop")
    house.record.write_text(json.dumps(told))
    then = house.run("stop")

    assert stop.returncode == 1
    assert "none was touched" in stop.stderr
    assert (then.returncode, then.stderr) == (0, f"Stopped (pid {told['pid']}).\n")


@pytest.mark.parametrize("garbage", ["", "[]", '{"pid": 1}', WRONG])
def test_garbage_in_the_file_is_no_reason_to_signal_anybody(house: Household, garbage: str) -> None:
    house.folder.mkdir(parents=True, mode=0o700)
    house.record.write_text(garbage)
    with (house.folder / "server.lock").open("w") as lock:
        idle = house.run("status")
        fcntl.flock(lock, fcntl.LOCK_EX)
        held, stop = house.run("status", "--json"), house.run("stop")

    assert (idle.returncode, idle.stdout) == (3, "Not running.\n")
    assert (held.returncode, json.loads(held.stdout)["state"]) == (3, "unsettled")
    assert stop.returncode == 1
    assert "none was touched" in stop.stderr


def test_another_program_at_the_port_is_named_and_left_alone(
    house: Household, stranger: int
) -> None:
    port = str(stranger)

    start = house.run("start", "--port", port)
    status = house.run("status", "--port", port)
    stop = house.run("stop", "--port", port)
    restart = house.run("restart", "--port", port)

    assert (start.returncode, start.stdout) == (1, "")
    assert f"Port {port} on 127.0.0.1 cannot be had" in start.stderr
    told = f"Not running. 127.0.0.1:{port} is held by a program not started in the background"
    assert (status.returncode, stop.returncode, restart.returncode) == (3, 0, 1)
    assert status.stdout.startswith(told)
    assert stop.stderr.startswith(told)
    socket.create_connection(("127.0.0.1", stranger)).close()


def test_a_junto_in_the_foreground_is_left_alone_too(house: Household) -> None:
    with house.begun("serve") as process:
        assert process.stderr
        port = process.stderr.readline().strip().removesuffix("/mcp").rpartition(":")[2]

        stop = house.run("stop", "--port", port)

        assert f"127.0.0.1:{port} is held by a Junto not started" in stop.stderr
        assert process.poll() is None
        process.terminate()
        process.communicate(timeout=SECONDS)


def test_stopping_waits_for_the_calls_under_way(tmp_path: Path) -> None:
    replies: list[Reply] = []
    with served_upstream() as upstream:
        model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        with household(tmp_path, JUNTO_MODELS=json.dumps([model])) as house:
            house.run("start")
            client = house.http()
            arguments = {"message": "wait 1"}
            call = threading.Thread(
                target=lambda: replies.append(
                    client.legacy("tools/call", name="chat", arguments=arguments)
                )
            )
            call.start()
            assert until(lambda: bool(upstream.bodies))

            stop = house.run("stop")
            call.join(SECONDS)

    assert stop.stderr.startswith("Stopped")
    assert not replies[0].json()["result"]["isError"]


@pytest.mark.feature("F239")
def test_what_has_changed_since_the_start_is_applied_by_a_restart(house: Household) -> None:
    key = {"ANTHROPIC_API_KEY": "sk-ant-never-to-be-seen-1"}
    house.run("start")
    same = house.run("status")
    told_then = house.told()
    house.record.write_text(json.dumps(told_then | {"version": "9.9", "later": 1}))
    older = house.run("status")
    house.record.write_text(json.dumps(told_then))

    changed = house.run("status", **key)
    facts = json.loads(house.run("status", "--json", **key).stdout)
    told = house.run("start", **key)
    restarted = house.run("restart", **key)
    applied = json.loads(house.run("status", "--json", **key).stdout)

    assert "restart" not in same.stdout + same.stderr
    assert older.stderr == "Its version differs from yours: `junto restart` to apply.\n"
    assert changed.stderr == "Its configuration differs from yours: `junto restart` to apply.\n"
    assert facts["changed"] == ["configuration"]
    assert "`junto restart` to apply" in told.stderr
    assert restarted.stderr.startswith(f"Stopped (pid {facts['pid']}). Started: Junto")
    assert (applied["changed"], applied["pid"] != facts["pid"]) == ([], True)
    assert "never-to-be-seen" not in house.record.read_text()


def test_a_restart_keeps_the_options_of_the_start(house: Household, tmp_path: Path) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("http:\n  port: 0\n")
    first = house.run("restart", "--config", str(config), "--log-level", "error")
    told = house.told()

    wrong = house.run("restart", JUNTO_HTTP_DRAIN="soon")
    alive = house.servers()
    second = house.run("restart")

    assert (wrong.returncode, alive) == (2, [told["pid"]])  # what cannot start again is not stopped
    assert first.stderr.startswith("It was not running. Started")
    assert second.returncode == 0
    assert told["flags"] == house.told()["flags"] == {"logging.level": "error"}
    assert told["config"] == house.told()["config"] == str(config)


def test_the_log_is_set_aside_when_it_is_full(tmp_path: Path) -> None:
    log = tmp_path / "background.log"
    program = (
        "import os, sys; from pathlib import Path; from junto.telemetry.redirected import turned\n"
        "log = Path(sys.argv[1]); os.write(2, b'x' * 200); turned(log, 100)\n"
        "os.write(2, b'new'); turned(log, 100)"
    )
    with log.open("ab") as file:
        subprocess.run([sys.executable, "-c", program, str(log)], stderr=file, check=True)

    assert log.read_text() == "new"
    assert (tmp_path / "background.log.1").read_text() == "x" * 200
