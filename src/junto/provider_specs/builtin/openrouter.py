"""OpenRouter, which passes requests on to many providers."""

from collections.abc import Mapping
from typing import Any

from junto.domain.models import Capabilities, ReasoningStyle
from junto.provider_specs.spec import ListedModel, ProviderSpec, as_mapping


def _guess_capabilities(_model: str) -> Capabilities:
    return Capabilities(reasoning=ReasoningStyle.NESTED)


def _parse_listed_model(entry: Mapping[str, Any]) -> ListedModel:
    parameters = _as_list(entry.get("supported_parameters"))
    inputs = _as_list(as_mapping(entry.get("architecture")).get("input_modalities"))
    pricing = as_mapping(entry.get("pricing"))
    return ListedModel(
        id=entry["id"],
        description=entry.get("name"),
        context_window=entry.get("context_length"),
        images="image" in inputs if inputs else None,
        documents="file" in inputs if inputs else None,
        tools="tools" in parameters if parameters else None,
        temperature="temperature" in parameters if parameters else None,
        reasoning="nested" if parameters and "reasoning" in parameters else None,
        input_price=pricing.get("prompt"),
        output_price=pricing.get("completion"),
    )


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


SPEC = ProviderSpec(
    name="openrouter",
    title="OpenRouter",
    description="OpenRouter's models are available once its key is set.",
    priority=40,
    base_url="https://openrouter.ai/api/v1",
    variables={"OPENROUTER_API_KEY": "api_key"},
    key_prefix="sk-or-",
    key_check_path="key",  # its list of models needs no key
    pricing_id="openrouter",
    models=dict.fromkeys(
        ("anthropic/claude-sonnet-5.5", "openai/gpt-6.1-sol", "google/gemini-3.8-flash")
    ),
    guess_capabilities=_guess_capabilities,
    parse_listed_model=_parse_listed_model,
)
