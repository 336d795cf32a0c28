"""This version opens what earlier versions left on disk, and nothing is lost.

The folders beside this file were written by the released versions they are named after, with
`scripts/freeze_release.py`. They are never changed.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.clients import HANDSHAKE, TIMEOUT_SECONDS, clean_environment, junto_command, stdio_server

RELEASES = sorted(path for path in Path(__file__).parent.iterdir() if (path / "junto.db").exists())
# The data is as old as its release, so nothing may expire.
KEEP_ALL = {
    "JUNTO_CONVERSATIONS_RETENTION": "0",
    "JUNTO_USAGE_RETENTION": "0",
    "JUNTO_JOBS_RETENTION": "36500d",
    "JUNTO_MODELS": '[{"id": "a", "baseUrl": "http://127.0.0.1:9"}]',
}

for_each_release = pytest.mark.parametrize(
    "release", RELEASES, ids=[release.name for release in RELEASES]
)


def run_junto(environment: dict[str, str], folder: Path, *arguments: str) -> str:
    completed = subprocess.run(
        junto_command(*arguments),
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def call_tools(environment: dict[str, str], folder: Path, calls: list[dict[str, Any]]) -> list[Any]:
    # As in 0.1.0, every result has structured content.
    environment = environment | {"JUNTO_TOOLS_TEXT": "json"}
    with stdio_server(junto_command("mcp"), environment, folder, with_coverage=True) as client:
        client.ask(0, "initialize", **HANDSHAKE)
        results = [
            client.ask(1, "tools/call", name=each["tool"], arguments=each["arguments"])["result"]
            for each in calls
        ]
        client.finish()
    return [result["structuredContent"] for result in results]


def assert_contains(found: Any, expected: Any) -> None:
    """Assert that all of `expected` is in `found`, which may have more fields.

    Scores are left out: a newer version may rank differently.
    """
    if isinstance(expected, dict):
        expected = {name: value for name, value in expected.items() if name != "score"}
        assert expected.keys() <= found.keys()
        for key, value in expected.items():
            assert_contains(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_contains(one, other)
    else:
        assert found == expected


def assert_nothing_is_lost(
    release: Path, database: str, environment: dict[str, str], folder: Path
) -> None:
    recorded = json.loads((release / f"{database}_answers.json").read_text("utf-8"))
    results = call_tools(environment, folder, recorded)

    assert {each["tool"] for each in recorded} >= {"conversation_history", "fetch", "job", "usage"}
    for call, result in zip(recorded, results, strict=True):
        expected = call["result"]
        if call["tool"] == "usage":  # these calls are usage themselves
            totals = ("inputTokens", "outputTokens", "costUsd")
            assert {name: result["total"][name] for name in totals} == {
                name: expected["total"][name] for name in totals
            }
        else:
            assert_contains(result, expected)
    assert run_junto(environment, folder, "conversations", "export") == (
        release / f"{database}_export.jsonl"
    ).read_text("utf-8")


@for_each_release
def test_a_sqlite_database_keeps_everything(release: Path, tmp_path: Path) -> None:
    state = tmp_path / "data" / "junto"
    state.mkdir(parents=True)
    shutil.copy(release / "junto.db", state)

    environment = clean_environment(tmp_path, **KEEP_ALL)

    assert_nothing_is_lost(release, "sqlite", environment, tmp_path)


@for_each_release
def test_a_postgresql_database_keeps_everything(
    release: Path, tmp_path: Path, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute((release / "postgres.sql").read_bytes())

    environment = clean_environment(tmp_path, JUNTO_DATABASE_URL=postgres_url, **KEEP_ALL)

    assert_nothing_is_lost(release, "postgres", environment, tmp_path)


@for_each_release
def test_an_export_can_be_imported(release: Path, tmp_path: Path) -> None:
    environment = clean_environment(tmp_path, **KEEP_ALL)
    export = release / "sqlite_export.jsonl"

    run_junto(environment, tmp_path, "conversations", "import", str(export))

    exported = run_junto(environment, tmp_path, "conversations", "export").splitlines()
    original = export.read_text("utf-8").splitlines()
    assert len(exported) == len(original)
    for one, other in zip(exported, original, strict=True):
        # Importing updates `touched`, so that retention does not delete a restored conversation.
        assert {**json.loads(one), "touched": 0} == {**json.loads(other), "touched": 0}


@for_each_release
@pytest.mark.parametrize("name", ["junto.yaml", "starter.yaml"])
def test_a_configuration_file_is_understood(release: Path, name: str, tmp_path: Path) -> None:
    environment = clean_environment(tmp_path, EXAMPLE_KEY="sk-example-000000000000")
    config = str(release / name)

    run_junto(environment, tmp_path, "config", "check", "--config", config)
    shown = json.loads(
        run_junto(environment, tmp_path, "config", "show", "--json", "--config", config)
    )

    if name == "junto.yaml":
        assert shown["http.port"]["value"] == 32799
        assert shown["conversations.max_history"]["value"] == 40
        assert shown["tools.disabled"]["value"] == ["http_get"]
        assert shown["default_model"]["value"] == "a"


@for_each_release
@pytest.mark.parametrize(
    ("client", "file"),
    [
        ("claude-code", ".claude.json"),
        ("cursor", ".cursor/mcp.json"),
        ("gemini", ".gemini/settings.json"),
        ("codex", ".codex/config.toml"),
    ],
)
@pytest.mark.parametrize("suffix", ["", "-http"])
def test_a_client_entry_is_recognised(
    release: Path, client: str, file: str, suffix: str, tmp_path: Path
) -> None:
    environment = clean_environment(tmp_path)
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = (release / "clients" / f"{client}{suffix}.txt").read_text("utf-8")
    path.write_text(entry[entry.index("[" if client == "codex" else "{") :])

    run_junto(environment, tmp_path, "uninstall", client)

    assert "junto" not in path.read_text("utf-8")
