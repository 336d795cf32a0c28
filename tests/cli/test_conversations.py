"""`junto chat` as a conversation, typed at a real terminal, and `junto conversations`."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients import TIMEOUT_SECONDS, clean_environment, junto_command
from tests.fake_model_server import FakeModelServer, fake_model_server


@dataclass
class TerminalSession:
    """A process in a terminal, and the output not yet read from it."""

    fd: int
    process: "subprocess.Popen[bytes]"
    unread: str = ""

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def read_until(self, pattern: str) -> str:
        """Read until the output matches `pattern`; return it up to the end of the match."""
        end = time.monotonic() + TIMEOUT_SECONDS
        while not (match := re.search(pattern, self.unread)):
            assert time.monotonic() < end, self.unread
            ready, _, _ = select.select([self.fd], [], [], 1)
            if ready:
                with contextlib.suppress(OSError):
                    self.unread += os.read(self.fd, 65536).decode("utf-8", "replace")
        before, self.unread = self.unread[: match.end()], self.unread[match.end() :]
        return before


def environment(home: Path, upstream: FakeModelServer) -> dict[str, str]:
    a = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k-1"}
    b = {"id": "b", "baseUrl": f"{upstream.url}/v1", "apiKey": "k-2"}
    return clean_environment(home, JUNTO_MODELS=json.dumps([a, b]), TERM="xterm")


@pytest.fixture
def upstream() -> Iterator[FakeModelServer]:
    with fake_model_server() as server:
        yield server


@contextlib.contextmanager
def chat_terminal(home: Path, upstream: FakeModelServer, *words: str) -> Iterator[TerminalSession]:
    controller_fd, terminal_fd = pty.openpty()
    process = subprocess.Popen(
        junto_command("chat", *words),
        stdin=terminal_fd,
        stdout=terminal_fd,
        stderr=terminal_fd,
        env=environment(home, upstream),
        cwd=home,
        start_new_session=True,
    )
    os.close(terminal_fd)
    try:
        yield TerminalSession(controller_fd, process)
    finally:
        process.kill()
        process.wait()
        os.close(controller_fd)


def run(home: Path, upstream: FakeModelServer, *words: str, stdin: str = "") -> str:
    result = subprocess.run(
        junto_command(*words),
        input=stdin,
        env=environment(home, upstream),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_an_interactive_session_switches_models_forks_and_sets_system_prompts(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with chat_terminal(tmp_path, upstream) as terminal:
        terminal.read_until("you> ")
        terminal.send("hello\n")
        terminal.read_until(r"a heard 1: hello")
        terminal.read_until(r"\[[0-9a-f]{32}\]")
        terminal.send("/system Be a pirate\n")
        terminal.read_until("you> ")
        terminal.send("two \\\nlines\n")
        terminal.read_until(r"a heard 3: two ")
        assert upstream.bodies[-1]["system"] == "Be a pirate"
        assert upstream.bodies[-1]["messages"][-1]["content"][0]["text"] == "two \nlines"
        terminal.send("/model b\n")
        terminal.read_until("b answers from here on")
        terminal.send('"""a\nblock"""\n')
        terminal.read_until(r"b heard 6: a")  # one of the 6 messages is the system prompt
        terminal.send("/fork\n")
        terminal.read_until("On a branch of its own")
        terminal.send("/history\n")
        terminal.read_until("## You")
        terminal.send("/nonsense\n")
        terminal.read_until("There is no /nonsense")
        terminal.send("/new\n")
        terminal.send("fresh\n")
        terminal.read_until(r"heard 1: fresh")
        terminal.send("fail 400\n")
        terminal.read_until("junto: anthropic says")
        terminal.send("/help\n")
        terminal.read_until("Ctrl-C stops an answer")
        terminal.send("/quit\n")
        assert terminal.process.wait(TIMEOUT_SECONDS) == 0


def test_ctrl_c_stops_an_answer_and_keeps_the_session(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with chat_terminal(tmp_path, upstream) as terminal:
        terminal.read_until("you> ")
        terminal.send("first\n")
        terminal.read_until("a heard 1: first")
        terminal.read_until("you> ")
        terminal.send("long\n")
        terminal.read_until("word3")
        os.kill(terminal.process.pid, signal.SIGINT)
        terminal.read_until("nothing of it is kept")
        terminal.read_until("you> ")
        terminal.send("second\n")
        terminal.read_until("a heard 3: second")
        terminal.read_until("you> ")
        terminal.send("\x04")
        assert terminal.process.wait(TIMEOUT_SECONDS) == 0


def test_conversations_are_listed_shown_searched_forked_exported_and_deleted(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    run(tmp_path, upstream, "chat", "purple elephants")
    run(tmp_path, upstream, "chat", "--continue", "and green ones")
    run(tmp_path, upstream, "chat", "something else")

    listed = json.loads(run(tmp_path, upstream, "conversations", "list", "--json"))
    assert [conversation["title"] for conversation in listed] == [
        "something else",
        "purple elephants",
    ]
    id_ = listed[1]["id"]
    table = run(tmp_path, upstream, "conversations", "list", "elephant").splitlines()
    assert (len(table), table[0].split()[:2]) == (2, ["ID", "TITLE"])
    shown = run(tmp_path, upstream, "conversations", "show", id_)
    assert "## a\n\na heard 3: and green ones" in shown
    assert id_ in run(tmp_path, upstream, "conversations", "search", "elephant")

    fork_id = run(tmp_path, upstream, "conversations", "fork", id_, "--at", "2").strip()
    assert "heard 3: branched" in run(tmp_path, upstream, "chat", "-c", fork_id, "branched")
    exported = run(tmp_path, upstream, "conversations", "export")
    assert len(exported.splitlines()) == 3
    exported_fork = json.loads(run(tmp_path, upstream, "conversations", "export", fork_id))
    assert (exported_fork["parent"], len(exported_fork["messages"])) == (None, 4)

    run(tmp_path, upstream, "conversations", "delete", id_)
    assert "branched" in run(tmp_path, upstream, "conversations", "show", fork_id)
    other = tmp_path / "other"
    other.mkdir()
    run(other, upstream, "conversations", "import", stdin=exported)
    assert run(other, upstream, "conversations", "export") == exported


def test_escape_sequences_in_an_answer_do_not_reach_the_terminal(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with chat_terminal(tmp_path, upstream, "say \x1b]0;owned\x07 and \x1b[2J done") as terminal:
        screen = terminal.read_until("done")

    assert "\x1b]0;" not in screen
    assert "\x1b[2J" not in screen
    assert "owned" in screen
