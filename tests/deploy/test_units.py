"""The units for systemd, for the whole machine and for one user."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from junto.settings import Settings
from tests.clients import SECONDS, clean_environment, junto
from tests.deploy.recipe import ROOT, VARIABLES

ANALYZE = shutil.which("systemd-analyze")
UNITS = {"junto.service": (), "junto-user.service": ("--user",)}
needs_systemd = pytest.mark.skipif(not ANALYZE, reason="systemd is not installed")


def _text(unit: str) -> str:
    return (ROOT / "deploy" / unit).read_text()


def _values(unit: str, key: str) -> list[str]:
    return re.findall(rf"(?m)^{key}=(.*)$", _text(unit))


def _analyzed(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(ANALYZE), *words],
        env=clean_environment(home, XDG_RUNTIME_DIR=str(home)),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def _as_if_installed(home: Path, unit: str) -> str:
    """Return a copy whose program is there: a unit without one is refused."""
    program = Path(sys.executable).parent / "junto"
    copy = home / unit
    copy.write_text(re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={program}", _text(unit)))
    return str(copy)


@needs_systemd
@pytest.mark.parametrize("unit", UNITS)
def test_systemd_accepts_it(unit: str, tmp_path: Path) -> None:
    copy = _as_if_installed(tmp_path, unit)

    done = _analyzed(tmp_path, "verify", *UNITS[unit], "--man=no", "--recursive-errors=no", copy)

    assert (done.returncode, done.stderr) == (0, "")


@needs_systemd
def test_the_service_of_the_machine_is_locked_in(tmp_path: Path) -> None:
    copy = _as_if_installed(tmp_path, "junto.service")

    done = _analyzed(tmp_path, "security", "--offline=yes", "--threshold=20", copy)

    # The threshold is in tenths of its scale from 0, nothing open, to 10.
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("unit", UNITS)
def test_it_starts_a_command_that_exists(unit: str, tmp_path: Path) -> None:
    (command,) = _values(unit, "ExecStart")
    program, *words = command.split()
    assert program.endswith("/bin/junto")

    done = subprocess.run(
        junto(*words, "--help"),
        env=clean_environment(tmp_path),
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )

    assert done.returncode == 0


@pytest.mark.parametrize("unit", UNITS)
def test_it_waits_for_calls_that_end_and_leaves_their_children_alone(unit: str) -> None:
    assert _values(unit, "KillMode") == ["mixed"]
    assert float(*_values(unit, "TimeoutStopSec")) > Settings().http.drain + Settings().jobs.drain


def test_its_variables_are_settings() -> None:
    names = [word.partition("=")[0] for word in _values("junto.service", "Environment")[0].split()]

    assert set(names) <= VARIABLES | {"HOME", "XDG_CONFIG_HOME"}


def test_with_its_variables_the_settings_come_from_etc(tmp_path: Path) -> None:
    etc, state = tmp_path / "etc", tmp_path / "state"
    (etc / "junto").mkdir(parents=True)
    (etc / "junto" / "config.yaml").write_text("http:\n  port: 4711\n")
    text = _values("junto.service", "Environment")[0].replace("%S", str(state))
    variables = dict(word.split("=", 1) for word in text.replace("=/etc", f"={etc}").split())

    done = subprocess.run(
        junto("config", "show", "--json"),
        env=clean_environment(tmp_path) | variables,
        cwd=tmp_path,
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )

    shown = json.dumps(json.loads(done.stdout))
    assert "4711" in shown
    assert str(state / "junto") in shown


def test_settings_that_are_wrong_are_not_tried_again(tmp_path: Path) -> None:
    done = subprocess.run(
        junto("serve"),
        env=clean_environment(tmp_path, JUNTO_HTTP_HOST="0.0.0.0"),  # noqa: S104 - it is refused
        cwd=tmp_path,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )

    assert b"loopback only" in done.stderr
    for unit in UNITS:
        assert _values(unit, "RestartPreventExitStatus") == [str(done.returncode)]
