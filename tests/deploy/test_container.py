"""The recipe of the image: no engine builds it here, so each of its parts is checked by itself."""

import re
import shlex
import subprocess
import sys
from pathlib import Path, PurePosixPath

from tests.clients import SECONDS, clean_environment, http_server, junto
from tests.deploy.recipe import ROOT, VARIABLES, instructions

HADOLINT = Path(sys.executable).parent / "hadolint"


def _health(home: Path, port: int) -> int:
    (health,) = [each for each in instructions() if each.word == "HEALTHCHECK"]
    python, *words = health.command()
    assert python == "python"
    # A proxy that nobody serves: who asked it would fail.
    variables = {"JUNTO_HTTP_PORT": str(port), "http_proxy": "http://127.0.0.1:9"}
    return subprocess.run(
        [sys.executable, *words],
        env=clean_environment(home, **variables),
        cwd=home,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    ).returncode


def _left_out(path: str) -> bool:
    """Tell it as Docker does: the last line counts that fits the path or a folder above it."""
    verdict = False
    places = [path, *map(str, PurePosixPath(path).parents)]
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = re.escape(line.removeprefix("!"))
        fits = pattern.replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
        if not line.startswith("#") and any(re.fullmatch(fits, place) for place in places):
            verdict = not line.startswith("!")
    return verdict


def test_a_linter_accepts_it() -> None:
    command = [str(HADOLINT), "--failure-threshold", "style", "Dockerfile"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_what_it_copies_is_there_and_sent_to_the_builder() -> None:
    copied = [
        source
        for each in instructions()
        if each.word == "COPY" and "--from" not in each.rest
        for source in each.arguments()[:-1]
    ]

    assert {"pyproject.toml", "src", "docs", "requirements/container.txt"} <= set(copied)
    for source in copied:
        assert (ROOT / source).exists(), source
        assert not _left_out(source), source
    for private in (".git/config", ".env", ".venv/pyvenv.cfg", "src/junto/__pycache__"):
        assert _left_out(private), private


def test_everything_it_installs_is_pinned_by_hash() -> None:
    installs = [
        words
        for each in instructions()
        if each.word == "RUN"
        for part in each.rest.split("&&")
        if "install" in (words := shlex.split(part)) and words[0] == "pip"
    ]

    assert len(installs) == 4
    for words in installs:
        # Our own wheel has just been made.
        assert "--require-hashes" in words or words[-1] == "/wheel/*.whl"


def test_it_runs_as_nobody_in_particular() -> None:
    last = [each for each in instructions() if each.stage == "last"]
    (user,) = [each.rest for each in last if each.word == "USER"]
    (volume,) = [each.rest for each in last if each.word == "VOLUME"]
    (made,) = [each.rest for each in last if each.word == "RUN"]

    assert user == "10001:10001"
    assert "--uid 10001" in made
    # A volume that is made anew belongs to whoever its folder belongs to.
    assert f"--owner junto --group junto --mode 0700 {volume}" in made


def test_its_variables_are_settings() -> None:
    last = [each for each in instructions() if each.stage == "last" and each.word == "ENV"]
    values = dict(word.split("=", 1) for each in last for word in each.arguments())

    assert {name for name in values if name.startswith("JUNTO_")} == {"JUNTO_STATE_DIRECTORY"}
    assert {name for name in values if name.startswith("JUNTO_")} <= VARIABLES


def test_the_command_is_the_first_process() -> None:
    last = {each.word: each for each in instructions() if each.stage == "last"}

    # As lists: a shell between would keep the signals to itself.
    assert last["ENTRYPOINT"].command() == ["junto"]
    assert last["CMD"].command() == ["serve"]


def test_the_health_check_tells_a_server_from_none(tmp_path: Path) -> None:
    serving = junto("serve", "--port", "0")
    with http_server(serving, clean_environment(tmp_path), tmp_path) as (client, _):
        assert _health(tmp_path, client.port) == 0

    assert _health(tmp_path, client.port) == 1
