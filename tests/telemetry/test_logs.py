import json
import logging
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from junto.security.redaction import Redactor
from junto.telemetry.log_files import SharedFileHandler
from junto.telemetry.logs import Log, LogSinks, configure_logging
from junto.telemetry.trace_context import get_trace_id, start_trace

SECRET = "a-secret-of-the-settings"  # noqa: S105


@contextmanager
def capture_stderr() -> Iterator[list[str]]:
    """Redirect descriptor 2 to a pipe, and fill the list with its lines at the end."""
    lines: list[str] = []
    read_fd, write_fd = os.pipe()
    saved_fd = os.dup(2)
    os.dup2(write_fd, 2)
    try:
        yield lines
    finally:
        os.dup2(saved_fd, 2)
        os.close(saved_fd)
        os.close(write_fd)
        with os.fdopen(read_fd) as pipe:
            lines += pipe.read().splitlines()


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.feature("F198", "F200", "F201", "F202", "F207", "F208")
def test_each_logger_writes_to_its_file_with_time_and_trace(tmp_path: Path) -> None:
    directory = tmp_path / "made" / "logs"

    with (
        configure_logging(LogSinks("warning", stderr=False, directory=directory), Redactor()),
        start_trace() as trace,
    ):
        Log.get("app").warning("careful", n=1)
        Log.get("audit").info("call", tool="x")
        Log.get("reasoning").info("thought")
        Log.get("tools.chat").info("used")
        Log.get("app").info("not important enough")

    lines = {path.name: read_json_lines(path) for path in directory.iterdir()}
    assert [line["event"] for line in lines["general.log"]] == ["careful"]
    assert [line["event"] for line in lines["audit.log"]] == ["call"]
    assert [line["event"] for line in lines["reasoning.log"]] == ["thought"]
    assert [line["event"] for line in lines["tools.log"]] == ["used"]
    line = lines["general.log"][0]
    assert line["trace"] == trace
    assert line["n"] == 1
    assert line["timestamp"].endswith("Z")
    assert line["timestamp"][10] == "T"


def test_log_files_are_private(tmp_path: Path) -> None:
    with configure_logging(LogSinks("info", stderr=False, directory=tmp_path / "logs"), Redactor()):
        Log.get("app").info("x")

    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "logs" / "general.log").stat().st_mode) == 0o600


@pytest.mark.feature("F170")
def test_no_secret_reaches_any_sink_not_even_in_a_traceback(tmp_path: Path) -> None:
    with (
        capture_stderr() as lines,
        configure_logging(LogSinks("debug", directory=tmp_path), Redactor([SECRET])),
    ):
        Log.get("app").info(
            f"event with {SECRET}", header=f"Bearer {SECRET}", nested={"a": [SECRET]}
        )
        logging.getLogger("some.library").warning("a library says %s", SECRET)
        try:
            raise ValueError(SECRET)  # noqa: TRY301
        except ValueError as error:
            Log.get("app").exception("failed", error)

    everything = "\n".join(lines) + (tmp_path / "general.log").read_text()
    assert SECRET not in everything
    assert everything.count("[redacted]") >= 8
    assert "Traceback" in everything


@pytest.mark.feature("F206")
def test_levels_filter_events_and_libraries_log_only_warnings() -> None:
    with capture_stderr() as lines, configure_logging(LogSinks("info"), Redactor()):
        Log.get("app").debug("detail")
        Log.get("app").info("news")
        logging.getLogger("library").info("chatter")
        logging.getLogger("library").warning("trouble")

    assert [json.loads(line)["event"] for line in lines] == ["news", "trouble"]


SILENT_SCRIPT = """
from junto.security.redaction import Redactor
from junto.telemetry.logs import Log, LogSinks, configure_logging

with configure_logging(LogSinks("debug", stderr=False), Redactor()):
    Log.get("app").exception("anybody there?", ValueError("secret"))
"""


def test_without_a_sink_nothing_is_logged() -> None:
    # In its own process, because pytest captures everything that is logged.
    completed = subprocess.run(
        [sys.executable, "-c", SILENT_SCRIPT], capture_output=True, check=True
    )

    assert completed.stdout + completed.stderr == b""


def test_a_full_file_is_rotated_and_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    first, second = SharedFileHandler(path, 300), SharedFileHandler(path, 300)

    for number in range(40):
        for handler in (first, second):  # as two processes would
            handler.emit(logging.LogRecord("x", 20, "", 0, f"line {number:03}", (), None))
    first.close()
    second.close()

    files = sorted(tmp_path.glob("x.log*"))
    assert {"x.log.1", "x.log.2", "x.log.lock"} <= {file.name for file in files}
    lines = "".join(file.read_text() for file in files).splitlines()
    assert sorted(lines) == sorted([f"line {number:03}" for number in range(40)] * 2)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_the_number_of_rotated_files_is_limited(tmp_path: Path) -> None:
    handler = SharedFileHandler(tmp_path / "x.log", 10)

    for number in range(20):
        handler.emit(logging.LogRecord("x", 20, "", 0, f"line {number:03}", (), None))
    handler.close()

    assert len(list(tmp_path.glob("x.log.[0-9]"))) == 5


def test_a_caller_cannot_forge_lines_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    with capture_stderr() as lines, configure_logging(LogSinks("info"), Redactor()):
        Log.get("app").info("x\nFORGED \x1b]0;pwn\x07", fact="a\nFORGED")

    assert len(lines) == 1
    assert "\x07" not in lines[0]


def test_a_terminal_gets_columns_instead_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    with capture_stderr() as lines, configure_logging(LogSinks("info"), Redactor()):
        Log.get("app").info("hello", who="you")

    assert "hello" in lines[0]
    assert not lines[0].startswith("{")


@pytest.mark.feature("F203", "F185")
def test_an_unusable_log_directory_disables_only_the_log_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()

    with (
        capture_stderr() as lines,
        configure_logging(LogSinks("info", directory=tmp_path / "file" / "logs"), Redactor()),
    ):
        Log.get("app").info("still here")

    assert "no log files in" in capsys.readouterr().err
    assert json.loads(lines[0])["event"] == "still here"


def test_a_line_that_cannot_be_formatted_is_dropped_silently(tmp_path: Path) -> None:
    class Unprintable:
        @override
        def __repr__(self) -> str:
            raise RuntimeError

    with (
        capture_stderr() as lines,
        configure_logging(LogSinks("info", directory=tmp_path), Redactor()),
    ):
        Log.get("app").info("bad", fact=Unprintable())
        Log.get("app").info("good")

    assert [json.loads(line)["event"] for line in lines] == ["good"]
    assert [line["event"] for line in read_json_lines(tmp_path / "general.log")] == ["good"]


VERBOSE_SCRIPT = """
from junto.security.redaction import Redactor
from junto.telemetry.logs import Log, LogSinks, configure_logging

with configure_logging(LogSinks("info"), Redactor()):
    for number in range(3000):
        Log.get("app").info("x" * 100, number=number)
    print("still here")
"""


def test_a_stderr_pipe_that_nobody_reads_does_not_block_the_program() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", VERBOSE_SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr

        assert process.stdout.readline() == b"still here\n"
        assert process.wait(30) == 0
        # The pipe holds the first lines in order; the rest was dropped without blocking.
        numbers = [json.loads(line)["number"] for line in process.stderr.read().splitlines()[:-1]]
        assert numbers == list(range(len(numbers)))
        assert 100 < len(numbers) < 3000


def test_the_trace_id_of_the_caller_is_used() -> None:
    caller_trace = "0af7651916cd43dd8448eb211c80319c"

    with start_trace({"traceparent": f"00-{caller_trace}-b7ad6b7169203331-01"}) as trace:
        assert trace == get_trace_id() == caller_trace
    with start_trace(None, {"traceparent": f"00-{caller_trace}-b7ad6b7169203331-01"}) as trace:
        assert trace == caller_trace
    with start_trace({"traceparent": "nonsense"}) as trace:
        assert len(trace) == 32
    assert get_trace_id() is None
