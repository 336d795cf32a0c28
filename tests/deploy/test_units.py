"""The systemd units: a system service and a user service."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from junto.settings import Settings
from tests.clients import TIMEOUT_SECONDS, clean_environment, junto_command
from tests.deploy.dockerfile import ROOT, SETTINGS_VARIABLES

ANALYZE = shutil.which("systemd-analyze")
UNITS = {"junto.service": (), "junto-user.service": ("--user",)}
needs_systemd = pytest.mark.skipif(not ANALYZE, reason="systemd is not installed")


def _read_unit(unit: str) -> str:
    return (ROOT / "deploy" / unit).read_text()


def _values(unit: str, key: str) -> list[str]:
    return re.findall(rf"(?m)^{key}=(.*)$", _read_unit(unit))


def _run_systemd_analyze(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(ANALYZE), *words],
        env=clean_environment(home, XDG_RUNTIME_DIR=str(home)),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def _write_installed_copy(home: Path, unit: str) -> str:
    """Return the path of a copy whose program exists: systemd refuses a unit without one."""
    program = Path(sys.executable).parent / "junto"
    copy = home / unit
    copy.write_text(re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={program}", _read_unit(unit)))
    return str(copy)


@needs_systemd
@pytest.mark.parametrize("unit", UNITS)
def test_systemd_accepts_it(unit: str, tmp_path: Path) -> None:
    copy = _write_installed_copy(tmp_path, unit)

    done = _run_systemd_analyze(
        tmp_path, "verify", *UNITS[unit], "--man=no", "--recursive-errors=no", copy
    )

    assert (done.returncode, done.stderr) == (0, "")


@needs_systemd
def test_the_system_service_is_sandboxed(tmp_path: Path) -> None:
    copy = _write_installed_copy(tmp_path, "junto.service")

    done = _run_systemd_analyze(tmp_path, "security", "--offline=yes", "--threshold=25", copy)

    # The threshold is in tenths of the exposure level, which is 0 at best and 10 at worst.
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("unit", UNITS)
def test_it_starts_a_command_that_exists(unit: str, tmp_path: Path) -> None:
    (command,) = _values(unit, "ExecStart")
    program, *words = command.split()
    assert program.endswith("/bin/junto")

    done = subprocess.run(
        junto_command(*words, "--help"),
        env=clean_environment(tmp_path),
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    assert done.returncode == 0


@pytest.mark.parametrize("unit", UNITS)
def test_stopping_waits_for_draining_and_does_not_signal_child_processes(unit: str) -> None:
    assert _values(unit, "KillMode") == ["mixed"]
    assert float(*_values(unit, "TimeoutStopSec")) > Settings().http.drain + Settings().jobs.drain


def test_its_variables_are_settings() -> None:
    names = [word.partition("=")[0] for word in _values("junto.service", "Environment")[0].split()]

    assert set(names) <= SETTINGS_VARIABLES | {"HOME", "XDG_CONFIG_HOME"}


def test_the_system_service_reads_its_settings_from_etc(tmp_path: Path) -> None:
    etc, state = tmp_path / "etc", tmp_path / "state"
    (etc / "junto").mkdir(parents=True)
    (etc / "junto" / "config.yaml").write_text("http:\n  port: 4711\n")
    text = _values("junto.service", "Environment")[0].replace("%S", str(state))
    variables = dict(word.split("=", 1) for word in text.replace("=/etc", f"={etc}").split())

    done = subprocess.run(
        junto_command("config", "show", "--json"),
        env=clean_environment(tmp_path) | variables,
        cwd=tmp_path,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )

    shown = json.dumps(json.loads(done.stdout))
    assert "4711" in shown
    assert str(state / "junto") in shown


def test_it_is_not_restarted_after_a_configuration_error(tmp_path: Path) -> None:
    done = subprocess.run(
        junto_command("serve"),
        env=clean_environment(tmp_path, JUNTO_HTTP_HOST="0.0.0.0"),  # noqa: S104 - it is refused
        cwd=tmp_path,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    assert b"loopback only" in done.stderr
    for unit in UNITS:
        assert _values(unit, "RestartPreventExitStatus") == [str(done.returncode)]
