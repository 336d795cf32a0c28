from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from junto.app.models import build_catalog
from junto.local_tools.system_info import Environment
from junto.providers.catalog.catalog import Catalog
from junto.security.redaction import Redactor
from junto.settings.schema import Settings
from junto.tools.builtin.models import build_list_models_tool
from junto.tools.builtin.system import build_current_time_tool, build_get_env_tool
from junto.tools.tool import Tool
from tests.tools.registry_factory import build_registry, call_tool


async def call(tool: Tool[Any], **arguments: Any) -> tuple[str, dict[str, Any]]:
    result = await call_tool(build_registry(tool), tool.name, **arguments)
    assert isinstance(result, dict)
    return result["content"][0]["text"], result["structuredContent"]


@pytest.mark.feature("F154")
async def test_current_time_is_now_in_the_requested_zone() -> None:
    text, facts = await call(build_current_time_tool("UTC"), timezone="Asia/Taipei")

    moment = datetime.fromisoformat(facts["iso8601"])
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60
    assert moment.timestamp() == facts["timestamp"]
    assert facts["iso8601"].endswith("+08:00")
    assert text.startswith(facts["iso8601"])


@pytest.mark.feature("F019")
async def test_current_time_shows_and_uses_the_configured_zone() -> None:
    tool = build_current_time_tool("Europe/Paris")

    _, facts = await call(tool)

    assert "Default timezone: Europe/Paris" in tool.description
    assert facts["timezone"] == "Europe/Paris"


@pytest.mark.parametrize(
    "zone", ["Nowhere/Land", "../../etc/passwd", "/etc/passwd", "", "Asia", "\0"]
)
async def test_an_unknown_zone_is_refused_and_an_empty_one_is_the_default(zone: str) -> None:
    _, facts = await call(build_current_time_tool("UTC"), timezone=zone)

    if zone:
        assert facts["code"] == "ValidationError"
        assert "Europe/Paris" in facts["message"]
    else:
        assert facts["timezone"] == "UTC"


@pytest.mark.feature("F153")
async def test_get_env_shows_values_and_hides_secrets() -> None:
    variables = {
        "EDITOR": "vi",
        "PWD": "/home/me",
        "AUTHOR": "me",
        "OPENAI_API_KEY": "whatever-it-is",
        "INNOCENT": "sk-ant-0123456789abcdefghij",
        "DSN_LIKE": "postgresql://me:hunter22@db",
        "CONFIGURED": "prefix-known-value-suffix",
        "EMPTY": "",
        "LATIN": b"caf\xe9".decode("utf-8", "surrogateescape"),
    }
    tool = build_get_env_tool(Environment(variables, Redactor(["known-value"])))

    shown = {key: await call(tool, key=key) for key in variables}
    missing = await call(tool, key="MISSING")

    assert shown["EDITOR"] == ("EDITOR=vi", {"key": "EDITOR", "isSet": True, "value": "vi"})
    assert shown["PWD"][1]["value"] == "/home/me"
    assert shown["AUTHOR"][1]["value"] == "me"
    assert shown["EMPTY"][1] == {"key": "EMPTY", "isSet": True, "value": ""}
    assert shown["LATIN"][1]["value"] == "caf\ufffd"
    for key in ("OPENAI_API_KEY", "INNOCENT", "DSN_LIKE", "CONFIGURED"):
        assert shown[key][1] == {"key": key, "isSet": True}
        assert shown[key][0] == f"{key} is set. Its value is not shown, because it may be a secret."
    assert missing == ("MISSING is not set.", {"key": "MISSING", "isSet": False})


async def test_over_http_get_env_shows_only_what_is_known_to_be_harmless() -> None:
    variables = {"EDITOR": "vi", "LC_ALL": "C", "CLUSTER": "prod-7", "MY_NOTE": "the pin is 4711"}
    tool = build_get_env_tool(Environment(variables, Redactor(), only_harmless=True))

    shown = {key: (await call(tool, key=key))[1].get("value") for key in variables}

    assert shown == {"EDITOR": "vi", "LC_ALL": "C", "CLUSTER": None, "MY_NOTE": None}


def build_test_catalog(tmp_path: Path, **settings: Any) -> Catalog:
    return build_catalog(
        Settings.model_validate({"embedded": {"enabled": False}, **settings}), tmp_path
    )


@pytest.mark.feature("F058")
async def test_list_models_shows_every_model_and_marks_the_default(tmp_path: Path) -> None:
    price = {"input": 1, "output": 2.5}
    tool = build_list_models_tool(
        build_test_catalog(
            tmp_path,
            models=[
                {"id": "a", "baseUrl": "http://secret.example/v1", "apiKey": "k-0", "price": price},
                {"id": "b", "provider": "anthropic", "description": "Quick", "contextWindow": 9000},
            ],
        )
    )

    text, facts = await call(tool)

    lines = text.splitlines()
    assert (
        lines[0] == "- a (openai, $1/$2.5, images, documents, tools, schema, temperature, default)"
    )
    assert lines[1].startswith("- b (anthropic, 9,000 tokens, ")
    assert lines[1].endswith("): Quick")
    assert facts["models"][0] == {
        "id": "a",
        "provider": "openai",
        "price": {"input": 1.0, "output": 2.5},
        "capabilities": ["images", "documents", "tools", "schema", "temperature"],
        "default": True,
    }
    assert "secret" not in text + str(facts)
    assert "k-0" not in text + str(facts)


async def test_list_models_filters_by_text_and_says_how_many_more_there_are(tmp_path: Path) -> None:
    many = [{"id": f"m{number:03}", "baseUrl": "http://x/v1"} for number in range(120)]
    tool = build_list_models_tool(build_test_catalog(tmp_path, models=many))

    everything, facts = await call(tool)
    narrowed, few = await call(tool, text="M11")

    assert (len(facts["models"]), facts["total"]) == (50, 120)
    assert "and 70 more" in everything
    assert [model["id"] for model in few["models"]] == [f"m11{number}" for number in range(10)]
    assert "more" not in narrowed


async def test_list_models_without_models_says_how_to_add_some(tmp_path: Path) -> None:
    text, facts = await call(build_list_models_tool(build_test_catalog(tmp_path)))

    assert "ANTHROPIC_API_KEY" in text
    assert facts == {"models": [], "total": 0}
