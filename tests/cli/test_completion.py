"""Completion in a real bash, and the answers that zsh and fish get."""

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

from tests.cli.test_conversations import TerminalSession
from tests.clients import TIMEOUT_SECONDS, Json, clean_environment, junto_command

MODELS = json.dumps([{"id": "qwen:7b", "baseUrl": "http://127.0.0.1:9", "apiKey": "k"}])
CONVERSATION_IDS = ("aaaa1111", "aaab2222")


@dataclass(frozen=True)
class Shell:
    """A bash in which `junto` is completed."""

    home: Path
    script: Path
    environment: dict[str, str]

    def with_variables(self, **variables: str) -> "Shell":
        return replace(self, environment=self.environment | variables)

    def run(self, script: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["bash", "--norc", "-c", script],
            env=self.environment,
            cwd=self.home / "work",
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    def complete(self, line: str) -> list[str]:
        """Return the completions offered at the end of `line`."""
        result = self.run(
            f". {self.script}\n"
            'compopt() { echo "(compopt $*)"; }\n'
            f"COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}\n"
            '_junto_completion junto; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout.split("\n")[:-1] if result.stdout.strip() else []

    def files(self) -> set[Path]:
        return set(self.home.rglob("*"))


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("script") / "junto.bash"
    path.write_bytes(subprocess.check_output(junto_command("completion", "bash")))
    return path


@pytest.fixture
def shell(tmp_path: Path, script: Path) -> Shell:
    folder = tmp_path / "bin"
    folder.mkdir()
    (tmp_path / "work").mkdir()
    program = folder / "junto"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -W error -m junto "$@"\n')
    program.chmod(0o755)
    environment = clean_environment(tmp_path, JUNTO_MODELS=MODELS, TERM="xterm")
    return Shell(tmp_path, script, environment | {"PATH": f"{folder}:{os.environ['PATH']}"})


@pytest.fixture
def shell_with_conversations(shell: Shell) -> Shell:
    """Return a shell whose user has two conversations."""
    message: Json = {"role": "user", "parts": [{"kind": "text", "text": "Hi"}], "at": 1.0}
    conversation: Json = {
        "model": "m",
        "system": None,
        "settings": {},
        "models": ["m"],
        "status": "active",
    }
    conversation |= {"parent": None, "inherited": 0, "created": 1.0}
    conversation |= {"messages": [message | dict.fromkeys(("model", "provider", "usage", "cost"))]}
    conversations = [
        conversation | {"id": id_, "title": f"About {id_},\twith: colon", "updated": float(number)}
        for number, id_ in enumerate(CONVERSATION_IDS)
    ]
    subprocess.run(
        junto_command("conversations", "import"),
        input="\n".join(map(json.dumps, conversations)),
        text=True,
        env=shell.environment,
        check=True,
        capture_output=True,
        cwd=shell.home,
    )
    return shell


@pytest.mark.parametrize(
    ("line", "expected"),
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
def test_bash_completes_commands_options_and_values(
    shell: Shell, line: str, expected: list[str]
) -> None:
    before = shell.files()

    assert shell.complete(line) == expected
    assert shell.files() == before


def test_model_names_with_shell_syntax_are_not_offered(shell: Shell) -> None:
    """The settings file of a cloned repository may define model names that bash would run."""
    models = [{"id": name} for name in ("te$({touch,pwned})", "te`id`", "te am", "te;x", "te-am")]

    assert shell.with_variables(JUNTO_MODELS=json.dumps(models)).complete("junto chat -m te") == [
        "te-am"
    ]


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
def test_conversation_ids_are_offered_latest_first(
    shell_with_conversations: Shell, line: str
) -> None:
    before = shell_with_conversations.files()

    assert shell_with_conversations.complete(line) == [CONVERSATION_IDS[1], CONVERSATION_IDS[0]]
    assert shell_with_conversations.complete(
        f"{line.removesuffix('aaa')}{CONVERSATION_IDS[0][:4]}"
    ) == [CONVERSATION_IDS[0]]
    assert shell_with_conversations.files() == before


@pytest.mark.parametrize("shell_name", ["zsh", "fish"])
def test_zsh_and_fish_also_get_conversation_titles(
    shell_with_conversations: Shell, shell_name: str
) -> None:
    line = "junto chat -c aaab"
    cursor = "3" if shell_name == "zsh" else "aaab"
    result = shell_with_conversations.run(
        f"env COMP_WORDS='{line}' COMP_CWORD={cursor} _JUNTO_COMPLETE={shell_name}_complete junto"
    )

    expected = {
        "zsh": "plain\n{0}\nAbout {0}, with: colon\n",
        "fish": "plain,{0}\tAbout {0}, with: colon\n",
    }
    assert (result.stdout, result.stderr) == (expected[shell_name].format(CONVERSATION_IDS[1]), "")


@pytest.mark.parametrize(
    "variables",
    [
        {"JUNTO_HTTP_PORT": "many"},
        {"JUNTO_CONFIG": "/no/such/file.yaml"},
        {"JUNTO_STATE_DIRECTORY": "/proc/nothing"},
        {"JUNTO_DATABASE_URL": "postgresql://127.0.0.1:9/nobody"},
        {"JUNTO_MODELS": "[{"},
    ],
)
def test_broken_settings_print_no_error_during_completion(
    shell_with_conversations: Shell, variables: dict[str, str]
) -> None:
    shell = shell_with_conversations.with_variables(**variables)

    assert shell.complete("junto chat -c ") == []
    assert shell.complete("junto conv") == ["conversations"]


def test_a_corrupt_database_offers_no_conversations(shell_with_conversations: Shell) -> None:
    (shell_with_conversations.home / "data" / "junto" / "junto.db").write_bytes(
        b"not a database" * 1000
    )

    assert shell_with_conversations.complete("junto chat -c ") == []


def test_tab_completes_a_typed_command_line(shell_with_conversations: Shell) -> None:
    controller_fd, terminal_fd = pty.openpty()
    process = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=terminal_fd,
        stdout=terminal_fd,
        stderr=terminal_fd,
        env=shell_with_conversations.environment | {"PS1": "ready> ", "INPUTRC": "/dev/null"},
        cwd=shell_with_conversations.home / "work",
        start_new_session=True,
    )
    os.close(terminal_fd)
    terminal = TerminalSession(controller_fd, process)
    try:
        terminal.read_until("ready> ")
        terminal.send('eval "$(junto completion bash)"; bind "set bell-style none"\n')
        terminal.read_until("ready> ")
        terminal.send(": && junto conver\tfo\taaab\t")
        terminal.read_until("fork aaab2222 ")
        # The shell itself prints what was completed, as the words it would run.
        terminal.send("\x15junto chat -m qw\t")
        terminal.read_until("qwen:7b ")
        terminal.send("\x01printf '<%s>' \n")
        terminal.read_until("<junto><chat><-m><qwen:7b>")
    finally:
        process.kill()
        process.wait()
        os.close(controller_fd)


def test_the_script_is_for_the_named_or_current_shell(shell: Shell) -> None:
    current = shell.with_variables(SHELL="/usr/bin/fish").run("junto completion")
    named = shell.run("junto completion fish")
    unknown = shell.with_variables(SHELL="/bin/tcsh").run("junto completion")

    assert current.stdout == named.stdout
    assert "--no-files --command junto" in named.stdout
    assert named.stderr == ""
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("junto: Name the shell: bash, zsh, fish.\n")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_every_script_is_valid_in_its_shell(shell: Shell, name: str) -> None:
    if not shutil.which(name):
        pytest.skip(f"there is no {name}")
    script = shell.home / "script"
    script.write_text(shell.run(f"junto completion {name}").stdout)

    result = shell.run(f"{name} -n {script}")

    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
