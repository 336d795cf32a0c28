"""`junto usage`: what a person sees, what a program reads."""

import csv
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from junto.cli.bars import bar
from tests.clients import SECONDS, junto
from tests.server_upstream import ServedUpstream, served_upstream
from tests.tools.test_chat import called, environment, serving


@pytest.fixture(scope="module")
def upstream() -> Iterator[ServedUpstream]:
    with served_upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, upstream: ServedUpstream) -> Path:
    """Return a home in which something was used, in the terminal and by a client."""
    home = tmp_path_factory.mktemp("home")
    variables = environment(home, upstream)
    subprocess.run(
        junto("chat", "Hi"), env=variables, check=True, capture_output=True, timeout=SECONDS
    )
    with serving(home, upstream) as server:
        called(server, "chat", message="Hi", modelId="b")
        called(server, "current_time", timezone="Nowhere/Land")
    return home


def run(
    home: Path, upstream: ServedUpstream, *words: str, **more: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        junto("usage", *words),
        env=environment(home, upstream, **more),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_a_person_sees_the_whole_and_its_parts(home: Path, upstream: ServedUpstream) -> None:
    done = run(home, upstream, JUNTO_BUDGET_LIMIT="10")

    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "3 calls (1 failed), 2 questions to models, 20 tokens in, 10 out" in lines[0]
    heads = [line.split()[0] for line in lines if line.endswith("COST")]
    assert heads == ["DAY", "MODEL", "TOOL"]  # one caller is no news
    [dear] = [line for line in lines if line.startswith("a ")]
    assert "$0.0001" in dear
    assert dear.endswith("█" * 20)
    assert any(line.startswith("junto chat") for line in lines)
    assert lines[-1].startswith("Budget: $0.00 of $10.00 spent this month, $10.00 left")
    assert "The price of 1 question is not known" in done.stderr


def test_a_program_gets_all_of_it(home: Path, upstream: ServedUpstream) -> None:
    facts = json.loads(run(home, upstream, "--json").stdout)

    assert facts["total"]["calls"] == 3
    assert facts["total"]["failures"] == 1
    assert [(line["model"], line["calls"]) for line in facts["by"]["model"]] == [("a", 1), ("b", 1)]
    assert {line["tool"] for line in facts["by"]["tool"]} == {"junto chat", "chat", "current_time"}
    assert [line["caller"] for line in facts["by"]["caller"]] == ["local"]
    assert sum(line["questions"] for line in facts["by"]["day"]) == 2
    assert facts["budgets"] == []


def test_a_spreadsheet_gets_one_table(home: Path, upstream: ServedUpstream) -> None:
    rows = list(csv.DictReader(run(home, upstream, "--csv", "--by", "tool").stdout.splitlines()))

    calls = {row["tool"]: (row["calls"], row["failures"]) for row in rows}
    assert calls == {
        "junto chat": ("1", "0"),
        "chat": ("1", "0"),
        "current_time": ("1", "1"),
    }


def test_nothing_used_is_said_so_and_a_bad_window_is_a_usage_error(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    fresh = run(tmp_path, upstream)
    bad = run(tmp_path, upstream, "--since", "yesterday")
    off = run(tmp_path, upstream, JUNTO_USAGE_ENABLED="false")

    assert fresh.stdout.startswith("Nothing was used since ")
    assert (fresh.returncode, fresh.stderr) == (0, "")
    assert bad.returncode == 2
    assert "7d or 4w" in bad.stderr
    assert "usage.enabled is off" in off.stderr


def test_bars_are_as_long_as_their_share_and_plain_where_they_must_be(
    home: Path, upstream: ServedUpstream
) -> None:
    plain = run(home, upstream, "--by", "model", PYTHONIOENCODING="ascii")

    assert [len(bar(share, 10)) for share in (0, 0.001, 0.5, 1, 7)] == [0, 1, 5, 10, 10]
    assert plain.returncode == 0
    assert "#" * 20 in plain.stdout
