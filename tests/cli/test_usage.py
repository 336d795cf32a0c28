"""`junto usage`: the tables for people, and JSON and CSV for programs."""

import csv
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from junto.cli.usage import format_bar
from tests.clients import TIMEOUT_SECONDS, junto_command
from tests.fake_model_server import FakeModelServer, fake_model_server
from tests.tools.builtin.test_chat import called, environment, serving


@pytest.fixture(scope="module")
def upstream() -> Iterator[FakeModelServer]:
    with fake_model_server() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, upstream: FakeModelServer) -> Path:
    """Return a home with recorded usage, from the terminal and from a client."""
    home = tmp_path_factory.mktemp("home")
    variables = environment(home, upstream)
    subprocess.run(
        junto_command("chat", "Hi"),
        env=variables,
        check=True,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
    )
    with serving(home, upstream) as server:
        called(server, "chat", message="Hi", modelId="b")
        called(server, "current_time", timezone="Nowhere/Land")
    return home


def run(
    home: Path, upstream: FakeModelServer, *words: str, **variables: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        junto_command("usage", *words),
        env=environment(home, upstream, **variables),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def test_usage_prints_the_total_and_its_breakdowns(home: Path, upstream: FakeModelServer) -> None:
    result = run(home, upstream, JUNTO_BUDGET_LIMIT="10")

    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert "3 calls (1 failed), 2 questions to models, 20 tokens in, 10 out" in lines[0]
    headers = [line.split()[0] for line in lines if line.endswith("COST")]
    assert headers == ["DAY", "MODEL", "TOOL"]  # no CALLER table, because there is only one
    [model_line] = [line for line in lines if line.startswith("a ")]
    assert "$0.0001" in model_line
    assert model_line.endswith("█" * 20)
    assert any(line.startswith("junto chat") for line in lines)
    assert lines[-1].startswith("Budget: $0.00 of $10.00 spent this month, $10.00 left")
    assert "The price of 1 question is not known" in result.stderr


def test_json_contains_the_total_and_every_breakdown(home: Path, upstream: FakeModelServer) -> None:
    facts = json.loads(run(home, upstream, "--json").stdout)

    assert facts["total"]["calls"] == 3
    assert facts["total"]["failures"] == 1
    assert [(line["model"], line["calls"]) for line in facts["by"]["model"]] == [("a", 1), ("b", 1)]
    assert {line["tool"] for line in facts["by"]["tool"]} == {"junto chat", "chat", "current_time"}
    assert [line["caller"] for line in facts["by"]["caller"]] == ["local"]
    assert sum(line["questions"] for line in facts["by"]["day"]) == 2
    assert facts["budgets"] == []


def test_csv_contains_one_breakdown(home: Path, upstream: FakeModelServer) -> None:
    rows = list(csv.DictReader(run(home, upstream, "--csv", "--by", "tool").stdout.splitlines()))

    calls = {row["tool"]: (row["calls"], row["failures"]) for row in rows}
    assert calls == {
        "junto chat": ("1", "0"),
        "chat": ("1", "0"),
        "current_time": ("1", "1"),
    }


def test_no_usage_is_reported_and_an_invalid_window_is_a_usage_error(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    fresh = run(tmp_path, upstream)
    bad = run(tmp_path, upstream, "--since", "yesterday")
    off = run(tmp_path, upstream, JUNTO_USAGE_ENABLED="false")

    assert fresh.stdout.startswith("Nothing was used since ")
    assert (fresh.returncode, fresh.stderr) == (0, "")
    assert bad.returncode == 2
    assert "7d or 4w" in bad.stderr
    assert "usage.enabled is off" in off.stderr


def test_bars_are_as_long_as_their_share_and_ascii_where_needed(
    home: Path, upstream: FakeModelServer
) -> None:
    plain = run(home, upstream, "--by", "model", PYTHONIOENCODING="ascii")

    assert [len(format_bar(share, 10)) for share in (0, 0.001, 0.5, 1, 7)] == [0, 1, 5, 10, 10]
    assert plain.returncode == 0
    assert "#" * 20 in plain.stdout
