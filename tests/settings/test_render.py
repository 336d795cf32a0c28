import json
from pathlib import Path

import yaml

from junto.security.secrets import REDACTED
from junto.settings import load
from junto.settings.leaves import leaves
from junto.settings.showing import as_facts, manual, secrets_in, shown, spelled, starter_file

SECRETS = ["key-of-anthropic", "key-of-m1", "postgresql://user:pass@host/db"]
VARIABLES = {
    "ANTHROPIC_API_KEY": SECRETS[0],
    "JUNTO_MODELS": json.dumps(
        [{"id": "m1", "apiKey": SECRETS[1], "description": "d"}, {"id": "m2"}]
    ),
    "DATABASE_URL": SECRETS[2],
}


def test_secrets_are_masked_wherever_they_stand(tmp_path: Path) -> None:
    loaded = load(environment=VARIABLES, home=tmp_path, directory=tmp_path)

    rows = {row.path: row for row in shown(loaded)}

    assert not any(secret in repr(rows) for secret in SECRETS)
    assert rows["database.url"].value == REDACTED
    assert rows["models"].value == [
        {"id": "m1", "api_key": REDACTED, "description": "d"},
        {"id": "m2"},
    ]
    assert not any(secret in repr(loaded.settings) for secret in SECRETS)


def test_secrets_in_ordinary_values_are_recognised_by_their_shape(tmp_path: Path) -> None:
    variables = {
        "OPENAI_BASE_URL": "https://me:hunter22@example.org/v1",
        "JUNTO_MODELS": json.dumps([{"id": "m", "baseUrl": "https://me:hunter22@x"}]),
        "CLAUDE_SYSTEM_PROMPT": "the key is sk-ant-0123456789abcdefghij, keep it",
    }
    facts = as_facts(load(environment=variables, home=tmp_path, directory=tmp_path))

    assert "hunter22" not in repr(facts)
    assert "sk-ant" not in repr(facts)
    assert facts["providers.openai.base_url"]["value"] == f"https://{REDACTED}@example.org/v1"


def test_all_secrets_of_the_settings_are_known_to_the_redactor(tmp_path: Path) -> None:
    loaded = load(environment=VARIABLES, home=tmp_path, directory=tmp_path)

    assert sorted(secrets_in(loaded.settings)) == sorted(SECRETS)


def test_the_starter_file_changes_nothing_and_shows_every_setting() -> None:
    text = starter_file()

    assert yaml.safe_load(text) is None
    for leaf in leaves().values():
        assert f"{leaf.path.rpartition('.')[2]}:" in text


def test_the_starter_file_is_valid_once_uncommented(tmp_path: Path) -> None:
    lines = [line.removeprefix("# ") for line in starter_file().splitlines()]
    path = tmp_path / "junto.yaml"
    path.write_text("\n".join(lines[lines.index("models:") :]))

    loaded = load(environment={"ANTHROPIC_API_KEY": "k"}, home=tmp_path, directory=tmp_path)

    assert [model.id for model in loaded.settings.models] == ["sonnet", "local"]
    assert loaded.settings.http.port == 32701


def test_values_are_spelled_as_in_the_file() -> None:
    assert spelled(None) == "null"
    assert spelled(value=True) == "true"
    assert spelled(["a", {"b": 1}]) == "[a, {b: 1}]"


def test_the_manual_lists_every_setting() -> None:
    page = manual()

    assert all(f"`{leaf.path}`" in page for leaf in leaves().values())
