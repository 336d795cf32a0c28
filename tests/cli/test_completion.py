"""Completion in a real bash, and what the other shells are answered."""

import json
import os
import pty
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.cli.test_conversation import Typist
from tests.clients import SECONDS, Json, clean_environment, junto

MODELS = json.dumps([{"id": "qwen:7b", "baseUrl": "http://127.0.0.1:9", "apiKey": "k"}])
IDS = ("aaaa1111", "aaab2222")


@dataclass(frozen=True)
class Shell:
    """Somebody's bash, in which `junto` is completed."""

    home: Path
    script: Path
    environment: dict[str, str]

    def having(self, **variables: str) -> "Shell":
        return replace(self, environment=self.environment | variables)

    def ran(self, script: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["bash", "--norc", "-c", script],
            env=self.environment,
            cwd=self.home / "work",
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def offers(self, line: str) -> list[str]:
        """Return what is offered at the end of `line`, one word after the other."""
        done = self.ran(
            f". {self.script}\n"
            'compopt() { echo "(compopt $*)"; }\n'
            f"COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}\n"
            '_junto_completion junto; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split("\n")[:-1] if done.stdout.strip() else []

    def files(self) -> set[Path]:
        return set(self.home.rglob("*"))


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("script") / "junto.bash"
    path.write_bytes(subprocess.check_output(junto("completion", "bash")))
    return path


@pytest.fixture
def shell(tmp_path: Path, script: Path) -> Shell:
    folder = tmp_path / "bin"
    folder.mkdir()
    (tmp_path / "work").mkdir()
    program = folder / "junto"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -W error -m junto "$@"\n')
    program.chmod(0o755)
    found = clean_environment(tmp_path, JUNTO_MODELS=MODELS, TERM="xterm")
    return Shell(tmp_path, script, found | {"PATH": f"{folder}:{os.environ['PATH']}"})


@pytest.fixture
def talkative(shell: Shell) -> Shell:
    """Return a shell whose user has talked already."""
    said: Json = {"role": "user", "parts": [{"kind": "text", "text": "Hi"}], "at": 1.0}
    line: Json = {"model": "m", "system": None, "settings": {}, "models": ["m"], "status": "active"}
    line |= {"parent": None, "inherited": 0, "created": 1.0}
    line |= {"messages": [said | dict.fromkeys(("model", "provider", "usage", "cost"))]}
    facts = [
        line | {"id": id_, "title": f"About {id_},\twith: colon", "updated": float(number)}
        for number, id_ in enumerate(IDS)
    ]
    subprocess.run(
        junto("conversations", "import"),
        input="\n".join(map(json.dumps, facts)),
        text=True,
        env=shell.environment,
        check=True,
        capture_output=True,
        cwd=shell.home,
    )
    return shell


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("junto con", ["conversations", "config"]),
        ("junto conversations sh", ["show"]),
        ("junto chat --con", ["--conversation", "--continue", "--config"]),
        ("junto chat --reasoning ", ["low", "medium", "high"]),
        ("junto chat --reasoning=m", ["medium"]),
        ("junto chat -m ", ["qwen:7b", "smollm2-135m"]),
        ("junto chat --model=smol", ["smollm2-135m"]),
        ("junto chat -m qwen:", ["7b"]),
        ("junto chat --model=qwen:7", ["7b"]),
        ("junto install cl", ["claude-code", "claude-desktop"]),
        ("junto install claude-code cl", ["claude-desktop"]),
        ("junto uninstall cu", ["cursor"]),
        ("junto help conversations ex", ["export"]),
        ("junto help chat ", []),
        ("junto completion ", ["bash", "zsh", "fish"]),
        ("junto index no", ["(compopt -o default)", ""]),
        ("junto config check --config j", ["(compopt -o default)", ""]),
        ("junto chat 'an unfinished", []),
        ("junto conversations show ", []),
    ],
)
def test_bash_is_offered_what_may_come_next(shell: Shell, line: str, offered: list[str]) -> None:
    before = shell.files()

    assert shell.offers(line) == offered
    assert shell.files() == before


def test_what_bash_would_run_is_not_offered(shell: Shell) -> None:
    """A folder that somebody has cloned may hold a file with names of models."""
    named = [{"id": name} for name in ("te$({touch,pwned})", "te`id`", "te am", "te;x", "te-am")]

    assert shell.having(JUNTO_MODELS=json.dumps(named)).offers("junto chat -m te") == ["te-am"]


@pytest.mark.parametrize(
    "line",
    [
        "junto chat -c ",
        "junto chat --conversation=",
        "junto conversations show ",
        "junto conversations fork ",
        "junto conversations export ",
        "junto conversations delete aaa",
    ],
)
def test_conversations_are_offered_by_their_ids_the_latest_first(
    talkative: Shell, line: str
) -> None:
    before = talkative.files()

    assert talkative.offers(line) == [IDS[1], IDS[0]]
    assert talkative.offers(f"{line.removesuffix('aaa')}{IDS[0][:4]}") == [IDS[0]]
    assert talkative.files() == before


@pytest.mark.parametrize("shell_name", ["zsh", "fish"])
def test_other_shells_are_told_titles_as_well(talkative: Shell, shell_name: str) -> None:
    line = "junto chat -c aaab"
    cursor = "3" if shell_name == "zsh" else "aaab"
    done = talkative.ran(
        f"env COMP_WORDS='{line}' COMP_CWORD={cursor} _JUNTO_COMPLETE={shell_name}_complete junto"
    )

    expected = {
        "zsh": "plain\n{0}\nAbout {0}, with: colon\n",
        "fish": "plain,{0}\tAbout {0}, with: colon\n",
    }
    assert (done.stdout, done.stderr) == (expected[shell_name].format(IDS[1]), "")


@pytest.mark.parametrize(
    "broken",
    [
        {"JUNTO_HTTP_PORT": "many"},
        {"JUNTO_CONFIG": "/no/such/file.yaml"},
        {"JUNTO_STATE_DIRECTORY": "/proc/nothing"},
        {"JUNTO_DATABASE_URL": "postgresql://127.0.0.1:9/nobody"},
        {"JUNTO_MODELS": "[{"},
    ],
)
def test_whatever_is_broken_nothing_is_said(talkative: Shell, broken: dict[str, str]) -> None:
    amiss = talkative.having(**broken)

    assert amiss.offers("junto chat -c ") == []
    assert amiss.offers("junto conv") == ["conversations"]


def test_a_file_that_is_no_database_offers_nothing(talkative: Shell) -> None:
    (talkative.home / "data" / "junto" / "junto.db").write_bytes(b"not a database" * 1000)

    assert talkative.offers("junto chat -c ") == []


def test_tab_completes_what_somebody_types(talkative: Shell) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=talkative.environment | {"PS1": "ready> ", "INPUTRC": "/dev/null"},
        cwd=talkative.home / "work",
        start_new_session=True,
    )
    os.close(theirs)
    person = Typist(ours, process)
    try:
        person.until("ready> ")
        person.types('eval "$(junto completion bash)"; bind "set bell-style none"\n')
        person.until("ready> ")
        person.types(": && junto conver\tfo\taaab\t")
        person.until("fork aaab2222 ")
        # What was completed is told by the shell itself, as the words it would run.
        person.types("\x15junto chat -m qw\t")
        person.until("qwen:7b ")
        person.types("\x01printf '<%s>' \n")
        person.until("<junto><chat><-m><qwen:7b>")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_the_script_is_for_the_shell_that_is_named_or_used(shell: Shell) -> None:
    used = shell.having(SHELL="/usr/bin/fish").ran("junto completion")
    named = shell.ran("junto completion fish")
    unknown = shell.having(SHELL="/bin/tcsh").ran("junto completion")

    assert used.stdout == named.stdout
    assert "--no-files --command junto" in named.stdout
    assert named.stderr == ""
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("junto: Name the shell: bash, zsh, fish.\n")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_every_script_is_one_that_its_shell_understands(shell: Shell, name: str) -> None:
    if not shutil.which(name):
        pytest.skip(f"there is no {name}")
    script = shell.home / "script"
    script.write_text(shell.ran(f"junto completion {name}").stdout)

    done = shell.ran(f"{name} -n {script}")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
