import json
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
import yaml

from junto.security.redaction import REDACTED, Redactor
from junto.settings import load_settings
from junto.settings.fields import collect_fields
from junto.settings.render import (
    build_settings_reference,
    build_starter_file,
    dump_settings,
    format_yaml_value,
    iter_secrets,
    render_settings,
)

SECRETS = ["key-of-anthropic", "key-of-m1", "postgresql://user:pass@host/db"]
VARIABLES = {
    "ANTHROPIC_API_KEY": SECRETS[0],
    "JUNTO_MODELS": json.dumps(
        [{"id": "m1", "apiKey": SECRETS[1], "description": "d"}, {"id": "m2"}]
    ),
    "DATABASE_URL": SECRETS[2],
}


def test_secrets_are_masked_wherever_they_appear(tmp_path: Path) -> None:
    loaded = load_settings(environment=VARIABLES, home_dir=tmp_path, working_dir=tmp_path)

    rows = {row.path: row for row in render_settings(loaded)}

    assert not any(secret in repr(rows) for secret in SECRETS)
    assert rows["database.url"].value == REDACTED
    assert rows["models"].value == [
        {"id": "m1", "api_key": REDACTED, "description": "d"},
        {"id": "m2"},
    ]
    assert not any(secret in repr(loaded.settings) for secret in SECRETS)


def test_secrets_in_ordinary_values_are_recognised_by_their_format(tmp_path: Path) -> None:
    variables = {
        "OPENAI_BASE_URL": "https://me:hunter22@example.org/v1",
        "JUNTO_MODELS": json.dumps([{"id": "m", "baseUrl": "https://me:hunter22@x"}]),
        "CLAUDE_SYSTEM_PROMPT": "the key is sk-ant-0123456789abcdefghij, keep it",
    }
    dumped = dump_settings(
        load_settings(environment=variables, home_dir=tmp_path, working_dir=tmp_path)
    )

    assert "hunter22" not in repr(dumped)
    assert "sk-ant" not in repr(dumped)
    assert dumped["providers.openai.base_url"]["value"] == f"https://{REDACTED}@example.org/v1"


def test_all_secrets_of_the_settings_are_known_to_the_redactor(tmp_path: Path) -> None:
    loaded = load_settings(environment=VARIABLES, home_dir=tmp_path, working_dir=tmp_path)

    assert set(SECRETS) <= set(iter_secrets(loaded.settings))


@pytest.mark.parametrize(
    ("args", "secrets"),
    [
        (["-y", "server", "--api-key", "hunter22x"], ["hunter22x"]),
        (["--token=hunter22x", "/data"], ["hunter22x"]),
        (["API_KEY=hunter22x"], ["hunter22x"]),
        (["abcdef0123456789abcdef0123"], ["abcdef0123456789abcdef0123"]),
        (["--root", "/home/me/project-2024", "--verbose", "-p", "8080"], []),
        (["-y", "@modelcontextprotocol/server-filesystem@2025.1.1", "/data/long/path1"], []),
        (["--max-tokens=5000", "--token-limit", "5000"], []),
    ],
)
def test_secrets_in_the_arguments_of_servers_are_masked(
    args: list[str], secrets: list[str], tmp_path: Path
) -> None:
    servers = json.dumps([{"name": "s", "command": "npx", "args": args}])
    loaded = load_settings(environment={"JUNTO_SERVERS": servers}, home_dir=tmp_path)

    shown = repr(dump_settings(loaded)["servers"])

    assert not any(secret in shown for secret in secrets)
    assert all(each in shown for each in args if not any(secret in each for secret in secrets))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:pa/ss-word@db.example/x",
        "postgresql://me:pa%2Fss-word@db.example/x",
        "postgresql://me:pa@ss/wo:rd-1@db.example/x",
        "postgresql://db.example/x?user=me&password=pass-word-9",
    ],
)
def test_the_password_of_a_database_is_known_however_it_is_written(
    url: str, tmp_path: Path
) -> None:
    loaded = load_settings(environment={"JUNTO_DATABASE_URL": url}, home_dir=tmp_path)
    redactor = Redactor(iter_secrets(loaded.settings))
    password = url.partition("password=")[2] or url.partition("me:")[2].rpartition("@")[0]

    for spelling in (password, unquote(password), quote(unquote(password), safe="")):
        assert spelling not in redactor.redact_text(f"FATAL: login with {spelling} failed")


def test_a_server_address_with_a_key_in_it_is_masked(tmp_path: Path) -> None:
    servers = json.dumps([{"name": "s", "url": "https://h.example/mcp?key=abc-def-1&x=1"}])
    loaded = load_settings(environment={"JUNTO_SERVERS": servers}, home_dir=tmp_path)

    assert "abc-def-1" not in repr(dump_settings(loaded))


def test_the_starter_file_changes_nothing_and_shows_every_setting() -> None:
    text = build_starter_file()

    assert yaml.safe_load(text) is None
    for field in collect_fields().values():
        assert f"{field.path.rpartition('.')[2]}:" in text


def test_the_starter_file_is_valid_once_uncommented(tmp_path: Path) -> None:
    lines = [line.removeprefix("# ") for line in build_starter_file().splitlines()]
    path = tmp_path / "junto.yaml"
    path.write_text("\n".join(lines[lines.index("models:") :]))

    loaded = load_settings(config=path, environment={"ANTHROPIC_API_KEY": "k"}, home_dir=tmp_path)

    assert [model.id for model in loaded.settings.models] == ["sonnet", "local"]
    assert loaded.settings.http.port == 32701


def test_values_are_formatted_as_in_a_config_file() -> None:
    assert format_yaml_value(None) == "null"
    assert format_yaml_value(value=True) == "true"
    assert format_yaml_value(["a", {"b": 1}]) == "[a, {b: 1}]"


def test_the_settings_reference_lists_every_setting() -> None:
    page = build_settings_reference()

    assert all(f"`{field.path}`" in page for field in collect_fields().values())
