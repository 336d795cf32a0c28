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

from tests.clients import SECONDS, clean_environment, junto
from tests.server_upstream import ServedUpstream, served_upstream


@dataclass
class Typist:
    """Somebody at a terminal."""

    terminal: int
    process: "subprocess.Popen[bytes]"
    seen: str = ""

    def types(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def until(self, pattern: str) -> str:
        """Read until the screen shows `pattern`; return what came before it."""
        end = time.monotonic() + SECONDS
        while not (match := re.search(pattern, self.seen)):
            assert time.monotonic() < end, self.seen
            ready, _, _ = select.select([self.terminal], [], [], 1)
            if ready:
                with contextlib.suppress(OSError):
                    self.seen += os.read(self.terminal, 65536).decode("utf-8", "replace")
        before, self.seen = self.seen[: match.end()], self.seen[match.end() :]
        return before


def environment(home: Path, upstream: ServedUpstream) -> dict[str, str]:
    a = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k-1"}
    b = {"id": "b", "baseUrl": f"{upstream.url}/v1", "apiKey": "k-2"}
    return clean_environment(home, JUNTO_MODELS=json.dumps([a, b]), TERM="xterm")


@pytest.fixture
def upstream() -> Iterator[ServedUpstream]:
    with served_upstream() as served:
        yield served


@contextlib.contextmanager
def typist(home: Path, upstream: ServedUpstream, *words: str) -> Iterator[Typist]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        junto("chat", *words),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(home, upstream),
        cwd=home,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Typist(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def run(home: Path, upstream: ServedUpstream, *words: str, given: str = "") -> str:
    done = subprocess.run(
        junto(*words),
        input=given,
        env=environment(home, upstream),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_conversation_is_typed_with_models_branches_and_prompts(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with typist(tmp_path, upstream) as me:
        me.until("you> ")
        me.types("hello\n")
        me.until(r"a heard 1: hello")
        me.until(r"\[[0-9a-f]{32}\]")
        me.types("/system Be a pirate\n")
        me.until("you> ")
        me.types("two \\\nlines\n")
        me.until(r"a heard 3: two ")
        assert upstream.bodies[-1]["system"] == "Be a pirate"
        assert upstream.bodies[-1]["messages"][-1]["content"][0]["text"] == "two \nlines"
        me.types("/model b\n")
        me.until("b answers from here on")
        me.types('"""a\nblock"""\n')
        me.until(r"b heard 6: a")  # one of them is the system prompt
        me.types("/fork\n")
        me.until("On a branch of its own")
        me.types("/history\n")
        me.until("## You")
        me.types("/nonsense\n")
        me.until("There is no /nonsense")
        me.types("/new\n")
        me.types("fresh\n")
        me.until(r"heard 1: fresh")
        me.types("fail 400\n")
        me.until("junto: anthropic says")
        me.types("/help\n")
        me.until("Ctrl-C stops an answer")
        me.types("/quit\n")
        assert me.process.wait(SECONDS) == 0


def test_ctrl_c_stops_an_answer_and_keeps_the_session(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with typist(tmp_path, upstream) as me:
        me.until("you> ")
        me.types("first\n")
        me.until("a heard 1: first")
        me.until("you> ")
        me.types("long\n")
        me.until("word3")
        os.kill(me.process.pid, signal.SIGINT)
        me.until("nothing of it is kept")
        me.until("you> ")
        me.types("second\n")
        me.until("a heard 3: second")
        me.until("you> ")
        me.types("\x04")
        assert me.process.wait(SECONDS) == 0


def test_conversations_are_listed_shown_searched_branched_exported_and_deleted(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    run(tmp_path, upstream, "chat", "purple elephants")
    run(tmp_path, upstream, "chat", "--continue", "and green ones")
    run(tmp_path, upstream, "chat", "something else")

    listed = json.loads(run(tmp_path, upstream, "conversations", "list", "--json"))
    assert [each["title"] for each in listed] == ["something else", "purple elephants"]
    id_ = listed[1]["id"]
    table = run(tmp_path, upstream, "conversations", "list", "elephant").splitlines()
    assert (len(table), table[0].split()[:2]) == (2, ["ID", "TITLE"])
    shown = run(tmp_path, upstream, "conversations", "show", id_)
    assert "## a\n\na heard 3: and green ones" in shown
    assert id_ in run(tmp_path, upstream, "conversations", "search", "elephant")

    branch = run(tmp_path, upstream, "conversations", "fork", id_, "--at", "2").strip()
    assert "heard 3: branched" in run(tmp_path, upstream, "chat", "-c", branch, "branched")
    exported = run(tmp_path, upstream, "conversations", "export")
    assert len(exported.splitlines()) == 3
    one = json.loads(run(tmp_path, upstream, "conversations", "export", branch))
    assert (one["parent"], len(one["messages"])) == (None, 4)

    run(tmp_path, upstream, "conversations", "delete", id_)
    assert "branched" in run(tmp_path, upstream, "conversations", "show", branch)
    other = tmp_path / "other"
    other.mkdir()
    run(other, upstream, "conversations", "import", given=exported)
    assert run(other, upstream, "conversations", "export") == exported


def test_what_a_model_says_cannot_play_with_the_terminal(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with typist(tmp_path, upstream, "say \x1b]0;owned\x07 and \x1b[2J done") as me:
        screen = me.until("done")

    assert "\x1b]0;" not in screen
    assert "\x1b[2J" not in screen
    assert "owned" in screen
