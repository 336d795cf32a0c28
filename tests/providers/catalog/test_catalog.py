"""Which models are on offer, and what is known about each."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from junto.app.models import catalog_of
from junto.domain.errors import ConfigurationError, NotFoundError
from junto.domain.models import ReasoningStyle
from junto.domain.questions import Usage
from junto.providers.catalog.catalog import Catalog
from junto.providers.catalog.known import KNOWN, Dialect
from junto.providers.catalog.prices import public
from junto.providers.catalog.retired import RETIRED
from junto.providers.catalog.traits import capabilities
from junto.settings.tree import Settings

AUTUMN = date(2026, 11, 16)


def catalog(folder: Path, **settings: Any) -> Catalog:
    made = catalog_of(Settings.model_validate(settings), folder)
    made.today = lambda: AUTUMN
    return made


def keys(**keys: str) -> dict[str, Any]:
    return {name: {"api_key": key} for name, key in keys.items()}


@pytest.mark.feature("F251")
def test_what_is_asked_by_default_is_what_the_settings_say(tmp_path: Path) -> None:
    answers = Settings().answers

    assert (answers.max_tokens, answers.temperature, answers.timeout) == (4096, None, 120)
    assert answers.max_retries == 3
    assert catalog(tmp_path, providers=keys(anthropic="k")).default == "claude-sonnet-5-5"


def test_with_no_key_and_no_configuration_the_embedded_model_is_the_default(tmp_path: Path) -> None:
    offers = catalog(tmp_path)

    assert offers.default == "smollm2-135m"
    model = offers.model(offers.find())
    assert (model.provider, model.context_window) == ("embedded", 8192)
    assert model.price
    assert model.price.cost(Usage(input_tokens=10_000, output_tokens=10_000)) == 0


@pytest.mark.feature("F082")
def test_a_key_adds_its_providers_models_and_the_first_is_the_default(tmp_path: Path) -> None:
    offers = catalog(tmp_path, providers=keys(anthropic="k1", gemini="k2"))

    assert offers.default == "claude-sonnet-5-5"
    assert offers.find("gemini-3.8-flash").route.api_key == "k2"
    assert offers.find("claude-opus-5-5").route.base_url == "https://api.anthropic.com"
    assert "smollm2-135m" in offers.offers()


@pytest.mark.feature("F083", "F058")
def test_configured_models_come_first_and_win_over_those_of_a_key(tmp_path: Path) -> None:
    entries = [
        {"id": "mine", "modelName": "qwen", "baseUrl": "http://127.0.0.1:9/v1", "apiKey": "k3"},
        {"id": "claude-opus-5-5", "provider": "anthropic", "price": {"input": 1, "output": 2}},
    ]
    offers = catalog(tmp_path, models=entries, providers=keys(anthropic="k1"))

    assert offers.default == "mine"
    assert offers.find("mine").route.model == "qwen"
    assert offers.find("claude-opus-5-5").route.api_key == "k1"
    price = offers.model(offers.find("claude-opus-5-5")).price
    assert price
    assert price.input == 1
    assert [model.id for model in offers.models()].count("claude-opus-5-5") == 1


def test_a_providers_key_is_never_sent_to_another_address(tmp_path: Path) -> None:
    entry = {"id": "m", "provider": "anthropic", "baseUrl": "https://elsewhere.example"}

    offers = catalog(tmp_path, models=[entry], providers=keys(anthropic="k1"))

    assert offers.find("m").route.api_key is None


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([{"id": "m", "provider": "antropic"}], "m: it needs a baseUrl"),
        ([{"id": "m", "provider": "azure"}], "m: it needs a baseUrl"),
        ([{"id": "m"}, {"id": "m"}], "m stands there twice"),
    ],
)
def test_an_entry_that_says_too_little_is_an_error(
    tmp_path: Path, entries: list[dict[str, str]], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        catalog(tmp_path, models=entries)


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
def test_a_retired_model_answers_with_its_successor(
    tmp_path: Path, retired: str, successor: str
) -> None:
    offers = catalog(tmp_path, providers=keys(anthropic="k"))

    with pytest.raises(NotFoundError, match=f"{retired} was retired on .* Ask {successor}"):
        offers.find(retired)

    assert offers.model(offers.find(successor)).description


def test_a_model_is_retired_on_its_day_and_not_before(tmp_path: Path) -> None:
    offers = catalog(tmp_path, providers=keys(anthropic="k"))

    offers.find("claude-sonnet-4-5-20250929")

    offers.today = lambda: date(2026, 11, 30)
    with pytest.raises(NotFoundError, match="claude-sonnet-5-5"):
        offers.find("claude-sonnet-4-5-20250929")


def test_every_successor_is_on_offer_and_not_retired_itself() -> None:
    for gone in RETIRED.values():
        assert gone.successor in KNOWN["anthropic"].models
        assert gone.successor not in RETIRED


def test_another_server_may_still_serve_what_its_maker_has_retired(tmp_path: Path) -> None:
    entry = {"id": "claude-opus-4-20250514", "provider": "anthropic", "baseUrl": "http://x"}

    offer = catalog(tmp_path, models=[entry]).find("claude-opus-4-20250514")

    assert offer.route.base_url == "http://x"


def test_an_unknown_model_is_an_error_that_names_similar_ones(tmp_path: Path) -> None:
    offers = catalog(tmp_path, models=[{"id": "sonnet", "baseUrl": "http://x"}])

    with pytest.raises(NotFoundError, match=r"There is no model sonet. Similar: sonnet\."):
        offers.find("sonet")


def test_a_model_that_no_list_names_is_asked_where_it_is_clear_whom_to_ask(tmp_path: Path) -> None:
    offers = catalog(tmp_path, providers=keys(openai="k", openrouter="r"))

    new = offers.find("gpt-9-mini")
    routed = offers.find("openrouter/someone/new-model")

    assert (new.id, new.route.provider, new.route.model) == ("gpt-9-mini", "openai", "gpt-9-mini")
    assert (routed.route.provider, routed.route.model) == ("openrouter", "someone/new-model")
    with pytest.raises(NotFoundError):
        offers.find("gemini-9")  # there is no key for it


def test_names_that_stand_for_nothing_are_warned_about(tmp_path: Path) -> None:
    entry = {"id": "m", "baseUrl": "http://x", "fallback": ["n"]}

    warnings = list(catalog(tmp_path, models=[entry], default_model="mm").warnings())

    assert warnings[0].startswith("default_model: There is no model mm. Similar: m")
    assert warnings[1].startswith("m's fallback: There is no model n.")


def test_prices_are_public_data_with_the_operators_word_above_them(tmp_path: Path) -> None:
    entries = [
        {"id": "a", "modelName": "claude-opus-5-5", "provider": "anthropic"},
        {"id": "b", "baseUrl": "http://127.0.0.1:9/v1"},
        {"id": "c", "modelName": "deepseek-chat", "baseUrl": "https://api.deepseek.com"},
    ]
    offers = catalog(tmp_path, models=entries)

    prices = {model.id: model.price for model in offers.models()}

    assert prices["a"]
    assert prices["a"].input > 0
    assert prices["b"] is None  # unknown, which is not 0
    assert prices["c"]  # known by its address


def test_a_price_that_depends_on_the_length_is_paid_by_the_length() -> None:
    price = public("gemini-3-pro-preview", "google", None).price

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
def test_claude_is_told_to_think_as_its_age_wants(
    model: str, style: ReasoningStyle | None, temperature: object
) -> None:
    known = capabilities("anthropic", Dialect.ANTHROPIC, model)

    assert (known.reasoning, known.temperature) == (style, temperature)


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
def test_others_are_told_in_their_own_way(
    provider: str, model: str, style: ReasoningStyle | None, temperature: object
) -> None:
    known = capabilities(provider, Dialect.OPENAI, model)

    assert (known.reasoning, known.temperature) == (style, temperature)


def test_the_operator_knows_better_what_a_model_takes(tmp_path: Path) -> None:
    wishes = {"images": False, "schema": False, "reasoning": "nested"}
    entry = {"id": "m", "baseUrl": "http://x", "capabilities": wishes}

    known = catalog(tmp_path, models=[entry]).find("m").capabilities

    assert (known.images, known.schema, known.tools) == (False, False, True)
    assert known.reasoning is ReasoningStyle.NESTED
