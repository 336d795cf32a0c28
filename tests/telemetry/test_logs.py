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

from junto.security.secrets import Redactor
from junto.telemetry.files import SharedFileHandler
from junto.telemetry.logs import Log, Sinks, logging_to
from junto.telemetry.traces import current_trace, traced

SECRET = "a-secret-of-the-settings"  # noqa: S105


@contextmanager
def captured_stderr() -> Iterator[list[str]]:
    """Point descriptor 2 at a pipe, and collect its lines at the end of the block."""
    lines: list[str] = []
    reading, writing = os.pipe()
    keep = os.dup(2)
    os.dup2(writing, 2)
    try:
        yield lines
    finally:
        os.dup2(keep, 2)
        os.close(keep)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            lines += pipe.read().splitlines()


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.feature("F198", "F200", "F201", "F202", "F207", "F208")
def test_each_kind_of_line_goes_to_its_file_with_time_and_trace(tmp_path: Path) -> None:
    directory = tmp_path / "made" / "logs"

    with (
        logging_to(Sinks("warning", stderr=False, directory=directory), Redactor()),
        traced() as trace,
    ):
        Log.of("app").warning("careful", n=1)
        Log.of("audit").info("call", tool="x")
        Log.of("reasoning").info("thought")
        Log.of("tools.chat").info("used")
        Log.of("app").info("not important enough")

    lines = {path.name: read(path) for path in directory.iterdir()}
    assert [line["event"] for line in lines["general.log"]] == ["careful"]
    assert [line["event"] for line in lines["audit.log"]] == ["call"]
    assert [line["event"] for line in lines["reasoning.log"]] == ["thought"]
    assert [line["event"] for line in lines["tools.log"]] == ["used"]
    line = lines["general.log"][0]
    assert line["trace"] == trace
    assert line["n"] == 1
    assert line["timestamp"].endswith("Z")
    assert line["timestamp"][10] == "T"


def test_log_files_are_nobody_elses_to_read(tmp_path: Path) -> None:
    with logging_to(Sinks("info", stderr=False, directory=tmp_path / "logs"), Redactor()):
        Log.of("app").info("x")

    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "logs" / "general.log").stat().st_mode) == 0o600


@pytest.mark.feature("F170")
def test_no_secret_reaches_any_sink_not_even_in_a_traceback(tmp_path: Path) -> None:
    with (
        captured_stderr() as lines,
        logging_to(Sinks("debug", directory=tmp_path), Redactor([SECRET])),
    ):
        Log.of("app").info(
            f"event with {SECRET}", header=f"Bearer {SECRET}", nested={"a": [SECRET]}
        )
        logging.getLogger("some.library").warning("a library says %s", SECRET)
        try:
            raise ValueError(SECRET)  # noqa: TRY301
        except ValueError as error:
            Log.of("app").crash("failed", error)

    everything = "\n".join(lines) + (tmp_path / "general.log").read_text()
    assert SECRET not in everything
    assert everything.count("[redacted]") >= 8
    assert "Traceback" in everything


@pytest.mark.feature("F206")
def test_levels_decide_what_is_kept_and_libraries_speak_only_of_trouble() -> None:
    with captured_stderr() as lines, logging_to(Sinks("info"), Redactor()):
        Log.of("app").debug("detail")
        Log.of("app").info("news")
        logging.getLogger("library").info("chatter")
        logging.getLogger("library").warning("trouble")

    assert [json.loads(line)["event"] for line in lines] == ["news", "trouble"]


SILENT = """
from junto.security.secrets import Redactor
from junto.telemetry.logs import Log, Sinks, logging_to

with logging_to(Sinks("debug", stderr=False), Redactor()):
    Log.of("app").crash("anybody there?", ValueError("secret"))
"""


def test_no_sink_means_silence() -> None:
    # In a process of its own, because pytest listens to everything.
    done = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, check=True)

    assert done.stdout + done.stderr == b""


def test_a_full_file_is_set_aside_and_stays_private(tmp_path: Path) -> None:
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


def test_only_so_many_old_files_are_kept(tmp_path: Path) -> None:
    handler = SharedFileHandler(tmp_path / "x.log", 10)

    for number in range(20):
        handler.emit(logging.LogRecord("x", 20, "", 0, f"line {number:03}", (), None))
    handler.close()

    assert len(list(tmp_path.glob("x.log.[0-9]"))) == 5


def test_a_caller_cannot_forge_lines_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    with captured_stderr() as lines, logging_to(Sinks("info"), Redactor()):
        Log.of("app").info("x\nFORGED \x1b]0;pwn\x07", fact="a\nFORGED")

    assert len(lines) == 1
    assert "\x07" not in lines[0]


def test_people_get_columns_instead_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    with captured_stderr() as lines, logging_to(Sinks("info"), Redactor()):
        Log.of("app").info("hello", who="you")

    assert "hello" in lines[0]
    assert not lines[0].startswith("{")


@pytest.mark.feature("F203", "F185")
def test_a_folder_that_cannot_be_made_costs_the_files_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()

    with (
        captured_stderr() as lines,
        logging_to(Sinks("info", directory=tmp_path / "file" / "logs"), Redactor()),
    ):
        Log.of("app").info("still here")

    assert "no log files in" in capsys.readouterr().err
    assert json.loads(lines[0])["event"] == "still here"


def test_a_line_that_cannot_be_written_is_lost_silently(tmp_path: Path) -> None:
    class Unspeakable:
        @override
        def __repr__(self) -> str:
            raise RuntimeError

    with captured_stderr() as lines, logging_to(Sinks("info", directory=tmp_path), Redactor()):
        Log.of("app").info("bad", fact=Unspeakable())
        Log.of("app").info("good")

    assert [json.loads(line)["event"] for line in lines] == ["good"]
    assert [line["event"] for line in read(tmp_path / "general.log")] == ["good"]


TALKATIVE = """
from junto.security.secrets import Redactor
from junto.telemetry.logs import Log, Sinks, logging_to

with logging_to(Sinks("info"), Redactor()):
    for number in range(3000):
        Log.of("app").info("x" * 100, number=number)
    print("still here")
"""


def test_a_reader_who_does_not_read_stops_nobody() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TALKATIVE], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr

        assert process.stdout.readline() == b"still here\n"
        assert process.wait(30) == 0
        # As much as the pipe holds, in order; the rest was lost rather than waited for.
        numbers = [json.loads(line)["number"] for line in process.stderr.read().splitlines()[:-1]]
        assert numbers == list(range(len(numbers)))
        assert 100 < len(numbers) < 3000


def test_the_callers_trace_id_is_kept() -> None:
    theirs = "0af7651916cd43dd8448eb211c80319c"

    with traced({"traceparent": f"00-{theirs}-b7ad6b7169203331-01"}) as trace:
        assert trace == current_trace() == theirs
    with traced(None, {"traceparent": f"00-{theirs}-b7ad6b7169203331-01"}) as trace:
        assert trace == theirs
    with traced({"traceparent": "nonsense"}) as trace:
        assert len(trace) == 32
    assert current_trace() is None
