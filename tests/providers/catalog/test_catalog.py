"""Which models the catalog lists, and what it knows about each."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from junto.app.models import build_catalog
from junto.domain.completions import Usage
from junto.domain.errors import ConfigurationError, NotFoundError
from junto.domain.models import ReasoningStyle
from junto.provider_specs.registry import PROVIDER_SPECS, find_spec
from junto.providers.catalog.catalog import Catalog
from junto.providers.catalog.prices import find_public_info
from junto.settings.schema import Settings

TODAY = date(2026, 11, 16)


def build_test_catalog(state_dir: Path, **settings: Any) -> Catalog:
    catalog = build_catalog(Settings.model_validate(settings), state_dir)
    catalog.today = lambda: TODAY
    return catalog


def provider_settings(**api_keys: str) -> dict[str, Any]:
    return {name: {"api_key": key} for name, key in api_keys.items()}


@pytest.mark.feature("F251")
def test_answer_settings_and_the_model_have_defaults(tmp_path: Path) -> None:
    answers = Settings().answers

    assert (answers.max_tokens, answers.temperature, answers.timeout) == (4096, None, 120)
    assert answers.max_retries == 3
    assert (
        build_test_catalog(tmp_path, providers=provider_settings(anthropic="k")).default
        == "claude-sonnet-5-5"
    )


def test_with_no_key_and_no_configuration_the_embedded_model_is_the_default(tmp_path: Path) -> None:
    catalog = build_test_catalog(tmp_path)

    assert catalog.default == "smollm2-135m"
    model = catalog.describe(catalog.find())
    assert (model.provider, model.context_window) == ("embedded", 8192)
    assert model.price
    assert model.price.cost(Usage(input_tokens=10_000, output_tokens=10_000)) == 0


@pytest.mark.feature("F082")
def test_a_key_adds_its_providers_models_and_the_first_is_the_default(tmp_path: Path) -> None:
    catalog = build_test_catalog(tmp_path, providers=provider_settings(anthropic="k1", gemini="k2"))

    assert catalog.default == "claude-sonnet-5-5"
    assert catalog.find("gemini-3.8-flash").route.api_key == "k2"
    assert catalog.find("claude-opus-5-5").route.base_url == "https://api.anthropic.com"
    assert "smollm2-135m" in catalog.specs()


@pytest.mark.feature("F083", "F058")
def test_configured_models_come_first_and_override_those_of_a_key(tmp_path: Path) -> None:
    entries = [
        {"id": "mine", "modelName": "qwen", "baseUrl": "http://127.0.0.1:9/v1", "apiKey": "k3"},
        {"id": "claude-opus-5-5", "provider": "anthropic", "price": {"input": 1, "output": 2}},
    ]
    catalog = build_test_catalog(
        tmp_path, models=entries, providers=provider_settings(anthropic="k1")
    )

    assert catalog.default == "mine"
    assert catalog.find("mine").route.model == "qwen"
    assert catalog.find("claude-opus-5-5").route.api_key == "k1"
    price = catalog.describe(catalog.find("claude-opus-5-5")).price
    assert price
    assert price.input == 1
    assert [model.id for model in catalog.iter_models()].count("claude-opus-5-5") == 1


def test_a_providers_key_is_never_sent_to_another_address(tmp_path: Path) -> None:
    entry = {"id": "m", "provider": "anthropic", "baseUrl": "https://elsewhere.example"}

    catalog = build_test_catalog(
        tmp_path, models=[entry], providers=provider_settings(anthropic="k1")
    )

    assert catalog.find("m").route.api_key is None


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{"id": "m", "provider": "antropic"}], "m: it needs a baseUrl"),
        ([{"id": "m", "provider": "azure"}], "m: it needs a baseUrl"),
        ([{"id": "m"}, {"id": "m"}], "m stands there twice"),
    ],
)
def test_an_incomplete_or_duplicate_model_entry_is_an_error(
    tmp_path: Path, entries: list[dict[str, str]], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build_test_catalog(tmp_path, models=entries)


@pytest.mark.feature("F084")
@pytest.mark.parametrize(
    ("retired", "successor"),
    [
        ("claude-opus-4-20250514", "claude-opus-5-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-5-5"),
        ("claude-3-5-sonnet-20241022", "claude-sonnet-5-5"),
        ("claude-3-5-haiku-20241022", "claude-haiku-5-5"),
    ],
)
def test_a_retired_model_is_an_error_that_names_its_successor(
    tmp_path: Path, retired: str, successor: str
) -> None:
    catalog = build_test_catalog(tmp_path, providers=provider_settings(anthropic="k"))

    with pytest.raises(NotFoundError, match=f"{retired} was retired on .* Ask {successor}"):
        catalog.find(retired)

    assert catalog.describe(catalog.find(successor)).description


def test_a_model_is_retired_on_its_retirement_date_and_not_before(tmp_path: Path) -> None:
    catalog = build_test_catalog(tmp_path, providers=provider_settings(anthropic="k"))

    catalog.find("claude-sonnet-4-5-20250929")

    catalog.today = lambda: date(2026, 11, 30)
    with pytest.raises(NotFoundError, match="claude-sonnet-5-5"):
        catalog.find("claude-sonnet-4-5-20250929")


def test_every_successor_is_available_and_not_retired_itself() -> None:
    for spec in PROVIDER_SPECS.values():
        for retirement in spec.retirements.values():
            assert retirement.successor in spec.models
            assert retirement.successor not in spec.retirements


def test_another_server_may_still_serve_a_model_its_vendor_retired(tmp_path: Path) -> None:
    entry = {"id": "claude-opus-4-20250514", "provider": "anthropic", "baseUrl": "http://x"}

    model_spec = build_test_catalog(tmp_path, models=[entry]).find("claude-opus-4-20250514")

    assert model_spec.route.base_url == "http://x"


def test_an_unknown_model_is_an_error_that_names_similar_ones(tmp_path: Path) -> None:
    catalog = build_test_catalog(tmp_path, models=[{"id": "sonnet", "baseUrl": "http://x"}])

    with pytest.raises(NotFoundError, match=r"There is no model sonet. Similar: sonnet\."):
        catalog.find("sonet")


def test_an_unlisted_model_goes_to_the_provider_its_name_implies(tmp_path: Path) -> None:
    catalog = build_test_catalog(tmp_path, providers=provider_settings(openai="k", openrouter="r"))

    unlisted = catalog.find("gpt-9-mini")
    routed = catalog.find("openrouter/someone/new-model")

    assert (unlisted.id, unlisted.route.provider, unlisted.route.model) == (
        "gpt-9-mini",
        "openai",
        "gpt-9-mini",
    )
    assert (routed.route.provider, routed.route.model) == ("openrouter", "someone/new-model")
    with pytest.raises(NotFoundError):
        catalog.find("gemini-9")  # no key is configured for it


def test_unknown_model_names_in_the_settings_are_warned_about(tmp_path: Path) -> None:
    entry = {"id": "m", "baseUrl": "http://x", "fallback": ["n"]}

    warnings = list(
        build_test_catalog(tmp_path, models=[entry], default_model="mm").iter_warnings()
    )

    assert warnings[0].startswith("default_model: There is no model mm. Similar: m")
    assert warnings[1].startswith("m's fallback: There is no model n.")


def test_prices_come_from_public_data_by_provider_or_address(tmp_path: Path) -> None:
    entries = [
        {"id": "a", "modelName": "claude-opus-5-5", "provider": "anthropic"},
        {"id": "b", "baseUrl": "http://127.0.0.1:9/v1"},
        {"id": "c", "modelName": "deepseek-chat", "baseUrl": "https://api.deepseek.com"},
    ]
    catalog = build_test_catalog(tmp_path, models=entries)

    prices = {model.id: model.price for model in catalog.iter_models()}

    assert prices["a"]
    assert prices["a"].input > 0
    assert prices["b"] is None  # unknown, which is not 0
    assert prices["c"]  # recognized by its address


def test_a_tiered_price_depends_on_the_input_length() -> None:
    price = find_public_info("gemini-3-pro-preview", "google", None).price

    assert price
    short = price.cost(Usage(input_tokens=200_000))
    long = price.cost(Usage(input_tokens=400_000))
    assert (short, long) == (Decimal("0.4"), Decimal("1.6"))


@pytest.mark.parametrize(
    ("model", "style", "temperature"),
    [
        ("claude-opus-5-5", ReasoningStyle.ADAPTIVE, False),
        ("claude-opus-4-8", ReasoningStyle.ADAPTIVE, False),
        ("claude-sonnet-4-6", ReasoningStyle.ADAPTIVE, True),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", ReasoningStyle.BUDGET, True),
        ("claude-sonnet-4@20250514", ReasoningStyle.BUDGET, True),
        ("claude-opus-4-1-20250805", ReasoningStyle.BUDGET, True),
        ("claude-3-7-sonnet-latest", ReasoningStyle.BUDGET, True),
        ("claude-3-5-haiku-20241022", None, True),
        ("claude-something-7", ReasoningStyle.ADAPTIVE, False),
    ],
)
def test_claudes_reasoning_style_depends_on_its_version(
    model: str, style: ReasoningStyle | None, temperature: object
) -> None:
    capabilities = find_spec("anthropic").guess_capabilities(model)

    assert (capabilities.reasoning, capabilities.temperature) == (style, temperature)


@pytest.mark.parametrize(
    ("provider", "model", "style", "temperature"),
    [
        ("openai", "gpt-6.1-sol", ReasoningStyle.EFFORT, False),
        ("openai", "o3-mini", ReasoningStyle.EFFORT, False),
        ("openai", "gpt-4.1", None, True),
        ("gemini", "gemini-4-argon", ReasoningStyle.EFFORT, True),
        ("openrouter", "x/y", ReasoningStyle.NESTED, True),
        ("vllm", "qwen", None, True),
    ],
)
def test_reasoning_style_depends_on_the_provider_and_model(
    provider: str, model: str, style: ReasoningStyle | None, temperature: object
) -> None:
    capabilities = find_spec(provider).guess_capabilities(model)

    assert (capabilities.reasoning, capabilities.temperature) == (style, temperature)


def test_configured_capabilities_override_the_guessed_ones(tmp_path: Path) -> None:
    configured = {"images": False, "schema": False, "reasoning": "nested"}
    entry = {"id": "m", "baseUrl": "http://x", "capabilities": configured}

    capabilities = build_test_catalog(tmp_path, models=[entry]).find("m").capabilities

    assert (capabilities.images, capabilities.schema, capabilities.tools) == (False, False, True)
    assert capabilities.reasoning is ReasoningStyle.NESTED
