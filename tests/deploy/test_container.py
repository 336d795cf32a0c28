"""The Dockerfile: no container engine is needed, each of its parts is checked by itself."""

import re
import shlex
import subprocess
import sys
from pathlib import Path, PurePosixPath

from tests.clients import TIMEOUT_SECONDS, clean_environment, http_server, junto_command
from tests.deploy.dockerfile import ROOT, SETTINGS_VARIABLES, parse_dockerfile

HADOLINT = Path(sys.executable).parent / "hadolint"


def _run_health_check(home: Path, port: int) -> int:
    (health,) = [each for each in parse_dockerfile() if each.keyword == "HEALTHCHECK"]
    python, *words = health.command()
    assert python == "python"
    # Nothing listens at the proxy: a request through it would fail.
    variables = {"JUNTO_HTTP_PORT": str(port), "http_proxy": "http://127.0.0.1:9"}
    return subprocess.run(
        [sys.executable, *words],
        env=clean_environment(home, **variables),
        cwd=home,
        stderr=subprocess.DEVNULL,
        timeout=TIMEOUT_SECONDS,
        check=False,
    ).returncode


def _is_ignored(path: str) -> bool:
    """Apply .dockerignore as Docker does: the last line that matches the path or a parent wins."""
    ignored = False
    candidates = [path, *map(str, PurePosixPath(path).parents)]
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = re.escape(line.removeprefix("!"))
        regex = pattern.replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
        if not line.startswith("#") and any(
            re.fullmatch(regex, candidate) for candidate in candidates
        ):
            ignored = not line.startswith("!")
    return ignored


def test_hadolint_accepts_it() -> None:
    command = [str(HADOLINT), "--failure-threshold", "style", "Dockerfile"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_what_it_copies_exists_and_is_in_the_build_context() -> None:
    copied = [
        source
        for each in parse_dockerfile()
        if each.keyword == "COPY" and "--from" not in each.rest
        for source in each.arguments()[:-1]
    ]

    assert {"pyproject.toml", "src", "docs", "requirements/container.txt"} <= set(copied)
    for source in copied:
        assert (ROOT / source).exists(), source
        assert not _is_ignored(source), source
    for private in (".git/config", ".env", ".venv/pyvenv.cfg", "src/junto/__pycache__"):
        assert _is_ignored(private), private


def test_everything_it_installs_is_pinned_by_hash() -> None:
    installs = [
        words
        for each in parse_dockerfile()
        if each.keyword == "RUN"
        for part in each.rest.split("&&")
        if "install" in (words := shlex.split(part)) and words[0] == "pip"
    ]

    assert len(installs) == 4
    for words in installs:
        # Our own wheel was built by the step before.
        assert "--require-hashes" in words or words[-1] == "/wheel/*.whl"


def test_it_runs_as_an_unprivileged_user() -> None:
    last = [each for each in parse_dockerfile() if each.stage == "last"]
    (user,) = [each.rest for each in last if each.keyword == "USER"]
    (volume,) = [each.rest for each in last if each.keyword == "VOLUME"]
    (setup,) = [each.rest for each in last if each.keyword == "RUN"]

    assert user == "10001:10001"
    assert "--uid 10001" in setup
    # A new volume gets the owner of its directory in the image.
    assert f"--owner junto --group junto --mode 0700 {volume}" in setup


def test_its_variables_are_settings() -> None:
    last = [each for each in parse_dockerfile() if each.stage == "last" and each.keyword == "ENV"]
    values = dict(word.split("=", 1) for each in last for word in each.arguments())

    assert {name for name in values if name.startswith("JUNTO_")} == {"JUNTO_STATE_DIRECTORY"}
    assert {name for name in values if name.startswith("JUNTO_")} <= SETTINGS_VARIABLES


def test_junto_is_the_first_process() -> None:
    last = {each.keyword: each for each in parse_dockerfile() if each.stage == "last"}

    # In exec form: a shell in between would not forward signals.
    assert last["ENTRYPOINT"].command() == ["junto"]
    assert last["CMD"].command() == ["serve"]


def test_the_health_check_succeeds_only_while_the_server_runs(tmp_path: Path) -> None:
    command = junto_command("serve", "--port", "0")
    with http_server(command, clean_environment(tmp_path), tmp_path) as (client, _):
        assert _run_health_check(tmp_path, client.port) == 0

    assert _run_health_check(tmp_path, client.port) == 1
