"""Model lists fetched from the providers."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from junto.app.models import build_catalog, refresh_model_lists
from junto.domain.errors import NetworkError
from junto.domain.models import ReasoningStyle
from junto.providers.catalog.remote_lists import ModelLists, parse_models
from junto.settings.schema import Settings
from tests.scripted_model_server import ScriptedModelServer, ScriptedReply

ANTHROPIC = {
    "data": [
        {
            "id": "claude-new-9",
            "type": "model",
            "display_name": "Claude New 9",
            "lifecycle": "active",
            "max_input_tokens": 123456,
            "capabilities": {
                "image_input": {"supported": True},
                "pdf_input": {"supported": False},
                "thinking": {"supported": True, "types": {"adaptive": {"supported": True}}},
            },
        },
        {"id": "claude-gone-1", "lifecycle": "retired", "display_name": "Gone"},
    ]
}
OPENROUTER = {
    "data": [
        {
            "id": "maker/model",
            "name": "Maker: Model",
            "context_length": 32768,
            "pricing": {"prompt": "0.0000005", "completion": "0.000002"},
            "architecture": {"input_modalities": ["text", "image"]},
            "supported_parameters": ["tools", "temperature", "reasoning"],
        },
        {"id": "openrouter/auto", "pricing": {"prompt": "-1", "completion": "-1"}},
    ]
}
OPENAI = {"data": [{"id": "gpt-new"}, {"id": "text-embedding-9"}, {"id": "whisper-1"}]}


async def fetch_catalog(body: Any, state_dir: Path, provider: str) -> Any:
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(ScriptedReply(body=body))
        section = {provider: {"api_key": "k-1", "base_url": upstream.url}}
        catalog = build_catalog(Settings.model_validate({"providers": section}), state_dir)
        problems = await refresh_model_lists(catalog)
        assert problems == {}
        return catalog, upstream.requests[0]


async def test_anthropics_list_sets_the_capabilities_of_each_model(tmp_path: Path) -> None:
    catalog, request = await fetch_catalog(ANTHROPIC, tmp_path, "anthropic")

    model_spec = catalog.specs()["claude-new-9"]
    assert (model_spec.description, model_spec.context_window) == ("Claude New 9", 123456)
    assert (model_spec.capabilities.images, model_spec.capabilities.documents) == (True, False)
    assert model_spec.capabilities.reasoning is ReasoningStyle.ADAPTIVE
    assert "claude-gone-1" not in catalog.specs()
    assert "claude-opus-5-5" not in catalog.specs()  # not on the list, so not served
    assert request.path == "/v1/models"
    assert request.headers["x-api-key"] == "k-1"


async def test_openrouters_list_sets_prices_and_context_windows(tmp_path: Path) -> None:
    catalog, request = await fetch_catalog(OPENROUTER, tmp_path, "openrouter")

    model = catalog.describe(catalog.find("maker/model"))
    assert model.price
    assert (float(model.price.input), float(model.price.output)) == (0.5, 2.0)
    assert (model.context_window, model.capabilities.documents) == (32768, False)
    assert model.capabilities.reasoning is ReasoningStyle.NESTED
    assert catalog.specs()["openrouter/auto"].price is None  # varies with the routed model
    assert request.headers["Authorization"] == "Bearer k-1"


async def test_embedding_and_audio_models_are_left_out(tmp_path: Path) -> None:
    catalog, _ = await fetch_catalog(OPENAI, tmp_path, "openai")

    assert [spec.id for spec in catalog.specs().values() if spec.route.provider == "openai"] == [
        "gpt-new"
    ]


async def test_a_list_is_saved_for_the_next_start_and_for_offline_use(
    tmp_path: Path,
) -> None:
    await fetch_catalog(OPENAI, tmp_path, "openai")
    section = {"openai": {"api_key": "k-1", "base_url": "http://127.0.0.1:9"}}
    settings = Settings.model_validate({"providers": section})

    catalog = build_catalog(settings, tmp_path)
    assert catalog.find("gpt-new").route.provider == "openai"
    assert catalog.lists.find_stale() == ()

    problems = await refresh_model_lists(catalog, ("openai",))
    assert "could not be reached" in problems["openai"]
    assert "gpt-new" in catalog.specs()


async def test_a_stale_list_is_fetched_again(tmp_path: Path) -> None:
    lists = ModelLists(tmp_path, ("openai",), max_age_seconds=3600)
    fetched_providers: list[str] = []

    async def fetch(provider: str) -> Any:
        fetched_providers.append(provider)
        return OPENAI

    await lists.refresh(fetch)
    await lists.refresh(fetch)
    assert fetched_providers == ["openai"]

    os.utime(tmp_path / "openai.json", (0, 0))
    await lists.refresh(fetch)
    assert fetched_providers == ["openai", "openai"]


async def test_a_failed_or_empty_fetch_keeps_the_old_list(tmp_path: Path) -> None:
    lists = ModelLists(tmp_path, ("openai",), max_age_seconds=0)
    responses: list[Any] = [OPENAI, NetworkError("gone"), {"data": []}]

    async def fetch(_: str) -> Any:
        response = responses.pop(0)
        if isinstance(response, Exception):
            raise response
        return response

    outcomes = [await lists.refresh(fetch, ("openai",)) for _ in range(3)]

    assert outcomes == [{}, {"openai": "gone"}, {"openai": "openai lists no models."}]
    assert [model.id for model in lists.get("openai")] == ["gpt-new"]
    assert lists.find_stale() == ()  # with a max age of 0, a list never becomes stale


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"id": 1, "odd": 2}]', '{"a": 1}'])
def test_a_corrupt_file_counts_as_no_list(tmp_path: Path, text: str) -> None:
    (tmp_path / "openai.json").write_text(text)

    assert ModelLists(tmp_path, ("openai",), max_age_seconds=1).get("openai") == ()


@pytest.mark.parametrize("body", [None, [], "x", {"data": 3}, {"data": [1, {"id": 2}, {}]}])
def test_a_response_that_is_not_a_list_has_no_models(body: Any) -> None:
    for provider in ("anthropic", "openai", "openrouter"):
        assert parse_models(provider, json.loads(json.dumps(body))) == ()


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "m\x1b[2J"},
        {"id": "m\nn"},
        {"id": "x" * 300},
    ],
)
def test_a_model_id_with_control_characters_or_excessive_length_is_left_out(
    entry: dict[str, Any],
) -> None:
    assert parse_models("openrouter", {"data": [entry]}) == ()


@pytest.mark.parametrize(
    "metadata",
    [
        {"supported_parameters": 3},
        {"context_length": "abc"},
        {"context_length": -5},
        {"pricing": {"prompt": [1], "completion": {}}},
        {"architecture": "x"},
        {"name": 7},
    ],
)
async def test_invalid_model_metadata_is_ignored(tmp_path: Path, metadata: dict[str, Any]) -> None:
    catalog, _ = await fetch_catalog({"data": [{"id": "m", **metadata}]}, tmp_path, "openrouter")

    model = catalog.describe(catalog.find("m"))
    assert (model.price, model.context_window) == (None, None)


async def test_a_long_list_is_read_completely(tmp_path: Path) -> None:
    body = {"data": [{"id": f"model-{number}", "name": "x" * 100} for number in range(8000)]}

    catalog, _ = await fetch_catalog(body, tmp_path, "openrouter")

    assert "model-7999" in catalog.specs()
