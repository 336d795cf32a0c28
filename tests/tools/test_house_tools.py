import re
from datetime import UTC, datetime
from typing import Any

import pytest

from junto.domain.models import Model
from junto.kit.environment import Environment
from junto.security.secrets import Redactor
from junto.tools.kit import current_time, get_env
from junto.tools.models import list_models
from junto.tools.tool import Tool
from tests.tools.support import call, registry


async def ask(tool: Tool[Any], **arguments: Any) -> tuple[str, dict[str, Any]]:
    result = await registry(tool).call(call(tool.name, **arguments))
    assert isinstance(result, dict)
    return result["content"][0]["text"], result["structuredContent"]


@pytest.mark.feature("F154")
async def test_current_time_is_now_in_the_zone_that_was_asked_for() -> None:
    text, facts = await ask(current_time("UTC"), timezone="Asia/Taipei")

    moment = datetime.fromisoformat(facts["iso8601"])
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60
    assert moment.timestamp() == facts["timestamp"]
    assert facts["iso8601"].endswith("+08:00")
    assert text.startswith(facts["iso8601"])


@pytest.mark.feature("F019")
async def test_current_time_shows_and_uses_the_configured_zone() -> None:
    tool = current_time("Europe/Paris")

    _, facts = await ask(tool)

    assert "Default timezone: Europe/Paris" in tool.description
    assert facts["timezone"] == "Europe/Paris"


@pytest.mark.parametrize(
    "zone", ["Nowhere/Land", "../../etc/passwd", "/etc/passwd", "", "Asia", "\0"]
)
async def test_a_zone_that_does_not_exist_is_said_so(zone: str) -> None:
    _, facts = await ask(current_time("UTC"), timezone=zone)

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
    tool = get_env(Environment(variables, Redactor(["known-value"])))

    shown = {key: await ask(tool, key=key) for key in variables}
    missing = await ask(tool, key="MISSING")

    assert shown["EDITOR"] == ("EDITOR=vi", {"key": "EDITOR", "isSet": True, "value": "vi"})
    assert shown["PWD"][1]["value"] == "/home/me"
    assert shown["AUTHOR"][1]["value"] == "me"
    assert shown["EMPTY"][1] == {"key": "EMPTY", "isSet": True, "value": ""}
    assert shown["LATIN"][1]["value"] == "caf\ufffd"
    for key in ("OPENAI_API_KEY", "INNOCENT", "DSN_LIKE", "CONFIGURED"):
        assert shown[key][1] == {"key": key, "isSet": True}
        assert shown[key][0] == f"{key} is set. It looks like a secret, so its value is not shown."
    assert missing == ("MISSING is not set.", {"key": "MISSING", "isSet": False})


@pytest.mark.feature("F058")
async def test_list_models_shows_each_and_marks_the_default() -> None:
    tool = list_models(
        [
            Model(id="a", provider="anthropic", context_window=200_000, default=True),
            Model(id="b", provider="openai", description="Quick"),
        ]
    )

    text, facts = await ask(tool)

    assert text == "- a (anthropic, 200,000 tokens, default)\n- b (openai): Quick"
    assert [model["id"] for model in facts["models"]] == ["a", "b"]
    assert facts["models"][0] == {
        "id": "a",
        "provider": "anthropic",
        "contextWindow": 200_000,
        "default": True,
    }
    assert "Default model: a." in tool.description


async def test_list_models_without_models_says_how_to_add_some() -> None:
    text, facts = await ask(list_models([]))

    assert re.search(r"junto config init", text)
    assert facts == {"models": []}
