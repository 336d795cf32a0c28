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

from tests.clients import TIMEOUT_SECONDS, HttpReply
from tests.daemon_home import DaemonHome, daemon_home
from tests.fake_model_server import fake_model_server
from tests.processes import wait_until

# Every field is present, but a signal to pid -1 would reach every process.
INVALID_RECORD = json.dumps(
    dict.fromkeys(("id", "born", "url", "version", "settings", "log", "config"), "")
    | {"pid": -1, "since": 0.0, "drain": 0, "flags": {}}
)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonHome]:
    with daemon_home(tmp_path) as home:
        yield home


@pytest.fixture
def foreign_port() -> Iterator[int]:
    """Return a port that another program listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def unrelated_process() -> Iterator["subprocess.Popen[bytes]"]:
    """Return a process that Junto did not start, which must survive the test."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        assert process.poll() is None
        process.kill()


@pytest.mark.feature("F240")
def test_a_server_is_started_once_and_shown_by_status_until_stopped(daemon: DaemonHome) -> None:
    (daemon.home / "uvicorn.py").write_text("raise SystemExit('planted')")
    before = daemon.run("status")
    started = daemon.run("start")
    again = daemon.run("start")
    status = daemon.run("status")
    facts = json.loads(daemon.run("status", "--json").stdout)
    health = daemon.http_client().get("/health").json()
    session = os.getsid(facts["pid"])
    stopped = daemon.run("stop")
    after = daemon.run("stop")

    assert (before.returncode, before.stdout) == (3, "Not running.\n")
    assert (started.returncode, started.stderr) == (
        0,
        f"Started: Junto {health['version']} (pid {facts['pid']}).\n",
    )
    assert started.stdout == again.stdout == f"{facts['url']}\n"
    assert (again.returncode, again.stderr) == (0, f"Already running (pid {facts['pid']}).\n")
    assert (status.returncode, status.stderr) == (0, "")
    assert status.stdout.splitlines()[1:] == [
        f"  serves   {facts['url']}",
        f"  version  {health['version']}",
        f"  log      {daemon.log_path}",
    ]
    assert (facts["state"], facts["healthy"], facts["changed"]) == ("running", True, [])
    assert session == facts["pid"]
    assert (stopped.returncode, stopped.stderr) == (0, f"Stopped (pid {facts['pid']}).\n")
    assert (after.returncode, after.stderr) == (0, "Not running.\n")
    assert not daemon.find_pids()
    assert not daemon.record_path.exists()
    assert stat.S_IMODE(daemon.log_path.stat().st_mode) == 0o600
    assert stat.S_IMODE(daemon.daemon_dir.stat().st_mode) == 0o700
    assert "Junto has stopped." in daemon.log_path.read_text()


def test_concurrent_starts_start_one_server(daemon: DaemonHome) -> None:
    starts = [daemon.spawn("start") for _ in range(4)]
    outputs = [process.communicate(timeout=TIMEOUT_SECONDS) for process in starts]

    assert [process.returncode for process in starts] == [0] * 4
    assert len({out for out, _ in outputs}) == 1
    assert sum(err.startswith("Started") for _, err in outputs) == 1
    assert len(daemon.find_pids()) == 1


def test_the_record_of_a_killed_server_is_ignored_and_a_new_server_starts(
    daemon: DaemonHome, unrelated_process: "subprocess.Popen[bytes]"
) -> None:
    daemon.run("start")
    record = daemon.read_record()
    killed_pid = daemon.kill()
    daemon.record_path.write_text(json.dumps(record | {"pid": unrelated_process.pid}))

    status, stop, start = daemon.run("status"), daemon.run("stop"), daemon.run("start")

    assert (status.returncode, status.stdout) == (3, "Not running.\n")
    assert (stop.returncode, stop.stderr) == (0, "Not running.\n")
    assert start.stderr.startswith("Started")
    assert daemon.find_pids() not in ([], [killed_pid], [unrelated_process.pid])


def test_a_pid_that_belongs_to_another_process_is_not_signalled(
    daemon: DaemonHome, unrelated_process: "subprocess.Popen[bytes]"
) -> None:
    daemon.run("start")
    record = daemon.read_record()
    daemon.record_path.write_text(json.dumps(record | {"pid": unrelated_process.pid}))

    stop = daemon.run("stop")
    daemon.record_path.write_text(json.dumps(record))
    second_stop = daemon.run("stop")

    assert stop.returncode == 1
    assert "none was touched" in stop.stderr
    assert (second_stop.returncode, second_stop.stderr) == (0, f"Stopped (pid {record['pid']}).\n")


@pytest.mark.parametrize("content", ["", "[]", '{"pid": 1}', INVALID_RECORD])
def test_with_an_invalid_record_no_process_is_signalled(daemon: DaemonHome, content: str) -> None:
    daemon.daemon_dir.mkdir(parents=True, mode=0o700)
    daemon.record_path.write_text(content)
    with (daemon.daemon_dir / "server.lock").open("w") as lock:
        idle = daemon.run("status")
        fcntl.flock(lock, fcntl.LOCK_EX)
        held, stop = daemon.run("status", "--json"), daemon.run("stop")

    assert (idle.returncode, idle.stdout) == (3, "Not running.\n")
    assert (held.returncode, json.loads(held.stdout)["state"]) == (3, "unsettled")
    assert stop.returncode == 1
    assert "none was touched" in stop.stderr


def test_another_program_on_the_port_is_reported_and_left_alone(
    daemon: DaemonHome, foreign_port: int
) -> None:
    port = str(foreign_port)

    start = daemon.run("start", "--port", port)
    status = daemon.run("status", "--port", port)
    stop = daemon.run("stop", "--port", port)
    restart = daemon.run("restart", "--port", port)

    assert (start.returncode, start.stdout) == (1, "")
    assert f"Port {port} on 127.0.0.1 cannot be had" in start.stderr
    message = f"Not running. 127.0.0.1:{port} is held by a program not started in the background"
    assert (status.returncode, stop.returncode, restart.returncode) == (3, 0, 1)
    assert status.stdout.startswith(message)
    assert stop.stderr.startswith(message)
    socket.create_connection(("127.0.0.1", foreign_port)).close()


def test_a_foreground_server_is_reported_and_left_alone(daemon: DaemonHome) -> None:
    with daemon.spawn("serve") as process:
        assert process.stderr
        port = process.stderr.readline().strip().removesuffix("/mcp").rpartition(":")[2]

        stop = daemon.run("stop", "--port", port)

        assert f"127.0.0.1:{port} is held by a Junto not started" in stop.stderr
        assert process.poll() is None
        process.terminate()
        process.communicate(timeout=TIMEOUT_SECONDS)


def test_stop_waits_for_calls_in_progress(tmp_path: Path) -> None:
    replies: list[HttpReply] = []
    with fake_model_server() as upstream:
        model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        with daemon_home(tmp_path, JUNTO_MODELS=json.dumps([model])) as daemon:
            daemon.run("start")
            client = daemon.http_client()
            arguments = {"message": "wait 1"}
            call = threading.Thread(
                target=lambda: replies.append(
                    client.legacy("tools/call", name="chat", arguments=arguments)
                )
            )
            call.start()
            assert wait_until(lambda: bool(upstream.bodies))

            stop = daemon.run("stop")
            call.join(TIMEOUT_SECONDS)

    assert stop.stderr.startswith("Stopped")
    assert not replies[0].json()["result"]["isError"]


@pytest.mark.feature("F239")
def test_changes_since_the_start_are_applied_by_a_restart(daemon: DaemonHome) -> None:
    key = {"ANTHROPIC_API_KEY": "sk-ant-never-to-be-seen-1"}
    daemon.run("start")
    unchanged = daemon.run("status")
    record = daemon.read_record()
    daemon.record_path.write_text(json.dumps(record | {"version": "9.9", "later": 1}))
    other_version = daemon.run("status")
    daemon.record_path.write_text(json.dumps(record))

    changed = daemon.run("status", **key)
    facts = json.loads(daemon.run("status", "--json", **key).stdout)
    start = daemon.run("start", **key)
    restarted = daemon.run("restart", **key)
    applied = json.loads(daemon.run("status", "--json", **key).stdout)

    assert "restart" not in unchanged.stdout + unchanged.stderr
    assert other_version.stderr == "Its version differs from yours: `junto restart` to apply.\n"
    assert changed.stderr == "Its configuration differs from yours: `junto restart` to apply.\n"
    assert facts["changed"] == ["configuration"]
    assert "`junto restart` to apply" in start.stderr
    assert restarted.stderr.startswith(f"Stopped (pid {facts['pid']}). Started: Junto")
    assert (applied["changed"], applied["pid"] != facts["pid"]) == ([], True)
    assert "never-to-be-seen" not in daemon.record_path.read_text()


def test_a_restart_keeps_the_options_of_the_start(daemon: DaemonHome, tmp_path: Path) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("http:\n  port: 0\n")
    first = daemon.run("restart", "--config", str(config), "--log-level", "error")
    record = daemon.read_record()

    invalid = daemon.run("restart", JUNTO_HTTP_DRAIN="soon")
    pids = daemon.find_pids()
    second = daemon.run("restart")

    assert (invalid.returncode, pids) == (2, [record["pid"]])  # the server keeps running
    assert first.stderr.startswith("It was not running. Started")
    assert second.returncode == 0
    assert record["flags"] == daemon.read_record()["flags"] == {"logging.level": "error"}
    assert record["config"] == daemon.read_record()["config"] == str(config)


def test_a_full_log_is_rotated(tmp_path: Path) -> None:
    log = tmp_path / "background.log"
    program = (
        "import os, sys; from pathlib import Path\n"
        "from junto.telemetry.log_files import rotate_output\n"
        "log = Path(sys.argv[1]); os.write(2, b'x' * 200); rotate_output(log, 100)\n"
        "os.write(2, b'new'); rotate_output(log, 100)"
    )
    with log.open("ab") as file:
        subprocess.run([sys.executable, "-c", program, str(log)], stderr=file, check=True)

    assert log.read_text() == "new"
    assert (tmp_path / "background.log.1").read_text() == "x" * 200
