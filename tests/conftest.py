"""Fixtures that all tests share, and the summary lines at the end of a run."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.clients import HttpClient, Remark, clean_environment, http_server, junto_command
from tests.features import OPEN
from tests.postgres_fixtures import postgres_server, postgres_url
from tests.redis_fixtures import redis, redis_socket

__all__ = ["postgres_server", "postgres_url", "redis", "redis_socket"]

# Tests against the real API are collected only if there is a key.
LIVE_KEY = os.environ.get("ANTHROPIC_API_KEY", "")
collect_ignore = [] if LIVE_KEY else ["live"]

# A shell that runs the tests in the background ignores SIGINT for them, and so for all programs
# that they start, some of which they stop with Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline per example: on a busy machine its duration says nothing about the code.
settings.register_profile("junto", deadline=None)
settings.load_profile("junto")


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    empty = tmp_path_factory.mktemp("empty")
    for name in set(os.environ) - {"PATH", "LANG"}:
        if not name.startswith(("PYTEST", "COVERAGE", "COV_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(empty))
    monkeypatch.setenv("XDG_DATA_HOME", str(empty / "data"))
    monkeypatch.chdir(empty)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpClient]:
    """Yield a client of a Junto server over HTTP that tests share, so none may change it."""
    home = tmp_path_factory.mktemp("served")
    variables = {"EDITOR": "in plain sight", "MY_API_KEY": "sk-ant-hidden-000000000000000000"}
    models = [{"id": "m1", "baseUrl": "http://127.0.0.1:9", "apiKey": "not-to-be-seen-1"}]
    environment = clean_environment(home, JUNTO_MODELS=json.dumps(models), **variables)
    with http_server(junto_command("serve", "--port", "0"), environment, home) as (client, _):
        yield client


@pytest.fixture
def remark(record_property: Callable[[str, object], None]) -> Remark:
    """Return a function that adds a line to the summary, also from a worker process."""
    return partial(record_property, "remark")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "remark":
                terminalreporter.write_line(str(value))
    terminalreporter.write_line(f"{len(OPEN)} features are open: tests/features.py lists them")
    skipped = terminalreporter.stats.get("skipped", [])
    for report in skipped:
        terminalreporter.write_line(f"skipped: {report.nodeid}")


def pytest_configure(config: pytest.Config) -> None:
    # Coverage of subprocesses needs the path of the configuration.
    os.environ.setdefault("COVERAGE_RCFILE", str(Path(config.rootpath) / "pyproject.toml"))
