"""Providers' own lists of models."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from junto.app.models import catalog_of, refreshed_lists
from junto.domain.errors import NetworkError
from junto.domain.models import ReasoningStyle
from junto.providers.catalog.lists import ModelLists, parsed
from junto.settings.tree import Settings
from tests.upstream import Reply, Upstream

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


async def fetched(body: Any, folder: Path, provider: str) -> Any:
    async with Upstream.started() as upstream:
        upstream.will(Reply(body=body))
        section = {provider: {"api_key": "k-1", "base_url": upstream.url}}
        catalog = catalog_of(Settings.model_validate({"providers": section}), folder)
        problems = await refreshed_lists(catalog)
        assert problems == {}
        return catalog, upstream.requests[0]


async def test_anthropics_list_says_what_each_model_takes(tmp_path: Path) -> None:
    catalog, request = await fetched(ANTHROPIC, tmp_path, "anthropic")

    offer = catalog.offers()["claude-new-9"]
    assert (offer.description, offer.context_window) == ("Claude New 9", 123456)
    assert (offer.capabilities.images, offer.capabilities.documents) == (True, False)
    assert offer.capabilities.reasoning is ReasoningStyle.ADAPTIVE
    assert "claude-gone-1" not in catalog.offers()
    assert "claude-opus-5-5" not in catalog.offers()  # what the list does not name is not served
    assert request.path == "/v1/models"
    assert request.headers["x-api-key"] == "k-1"


async def test_openrouters_list_has_prices_and_windows(tmp_path: Path) -> None:
    catalog, request = await fetched(OPENROUTER, tmp_path, "openrouter")

    model = catalog.model(catalog.find("maker/model"))
    assert model.price
    assert (float(model.price.input), float(model.price.output)) == (0.5, 2.0)
    assert (model.context_window, model.capabilities.documents) == (32768, False)
    assert model.capabilities.reasoning is ReasoningStyle.NESTED
    assert catalog.offers()["openrouter/auto"].price is None  # it depends
    assert request.headers["Authorization"] == "Bearer k-1"


async def test_models_that_do_not_talk_are_left_out(tmp_path: Path) -> None:
    catalog, _ = await fetched(OPENAI, tmp_path, "openai")

    assert [o.id for o in catalog.offers().values() if o.route.provider == "openai"] == ["gpt-new"]


async def test_a_list_is_kept_for_the_next_start_and_for_times_without_a_network(
    tmp_path: Path,
) -> None:
    await fetched(OPENAI, tmp_path, "openai")
    section = {"openai": {"api_key": "k-1", "base_url": "http://127.0.0.1:9"}}
    settings = Settings.model_validate({"providers": section})

    later = catalog_of(settings, tmp_path)
    assert later.find("gpt-new").route.provider == "openai"
    assert later.lists.stale() == ()

    problems = await refreshed_lists(later, ("openai",))
    assert "could not be reached" in problems["openai"]
    assert "gpt-new" in later.offers()


async def test_a_list_grows_old_and_is_fetched_again(tmp_path: Path) -> None:
    lists = ModelLists(tmp_path, ("openai",), lifetime=3600)
    asked: list[str] = []

    async def fetch(provider: str) -> Any:
        asked.append(provider)
        return OPENAI

    await lists.refresh(fetch)
    await lists.refresh(fetch)
    assert asked == ["openai"]

    os.utime(tmp_path / "openai.json", (0, 0))
    await lists.refresh(fetch)
    assert asked == ["openai", "openai"]


async def test_a_failing_or_empty_list_leaves_the_old_one(tmp_path: Path) -> None:
    lists = ModelLists(tmp_path, ("openai",), lifetime=0)
    answers: list[Any] = [OPENAI, NetworkError("gone"), {"data": []}]

    async def fetch(_: str) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    outcomes = [await lists.refresh(fetch, ("openai",)) for _ in range(3)]

    assert outcomes == [{}, {"openai": "gone"}, {"openai": "openai lists no models."}]
    assert [model.id for model in lists.of("openai")] == ["gpt-new"]
    assert lists.stale() == ()  # a lifetime of 0 is for ever


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"id": 1, "odd": 2}]', '{"a": 1}'])
def test_a_spoiled_file_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "openai.json").write_text(text)

    assert ModelLists(tmp_path, ("openai",), lifetime=1).of("openai") == ()


@pytest.mark.parametrize("body", [None, [], "x", {"data": 3}, {"data": [1, {"id": 2}, {}]}])
def test_an_answer_that_is_no_list_has_no_models(body: Any) -> None:
    for provider in ("anthropic", "openai", "openrouter"):
        assert parsed(provider, json.loads(json.dumps(body))) == ()


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "m\x1b[2J"},
        {"id": "m\nn"},
        {"id": "x" * 300},
    ],
)
def test_a_name_that_would_play_with_a_terminal_is_left_out(entry: dict[str, Any]) -> None:
    assert parsed("openrouter", {"data": [entry]}) == ()


@pytest.mark.parametrize(
    "odd",
    [
        {"supported_parameters": 3},
        {"context_length": "abc"},
        {"context_length": -5},
        {"pricing": {"prompt": [1], "completion": {}}},
        {"architecture": "x"},
        {"name": 7},
    ],
)
async def test_odd_facts_about_a_model_are_as_good_as_none(
    tmp_path: Path, odd: dict[str, Any]
) -> None:
    catalog, _ = await fetched({"data": [{"id": "m", **odd}]}, tmp_path, "openrouter")

    model = catalog.model(catalog.find("m"))
    assert (model.price, model.context_window) == (None, None)


async def test_a_long_list_is_read_whole(tmp_path: Path) -> None:
    many = {"data": [{"id": f"model-{number}", "name": "x" * 100} for number in range(8000)]}

    catalog, _ = await fetched(many, tmp_path, "openrouter")

    assert "model-7999" in catalog.offers()
