"""Anthropic."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from junto.provider_specs.claude_models import guess_claude_capabilities
from junto.provider_specs.spec import Dialect, ListedModel, ProviderSpec, Retirement, as_mapping

_OPUS, _SONNET, _HAIKU = "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"


def _parse_listed_model(entry: Mapping[str, Any]) -> ListedModel | None:
    if entry.get("lifecycle") == "retired":
        return None
    capabilities = as_mapping(entry.get("capabilities"))
    thinking_types = as_mapping(as_mapping(capabilities.get("thinking")).get("types"))
    style = "adaptive" if _is_supported(thinking_types.get("adaptive")) else "budget"
    return ListedModel(
        id=entry["id"],
        description=entry.get("display_name"),
        context_window=entry.get("max_input_tokens"),
        images=_is_supported(capabilities.get("image_input")),
        documents=_is_supported(capabilities.get("pdf_input")),
        reasoning=style if _is_supported(capabilities.get("thinking")) else None,
    )


def _is_supported(support: Any) -> bool | None:
    return bool(support.get("supported")) if isinstance(support, Mapping) else None


SPEC = ProviderSpec(
    name="anthropic",
    title="Anthropic",
    description="Anthropic's models are available once its key is set.",
    priority=10,
    dialect=Dialect.ANTHROPIC,
    base_url="https://api.anthropic.com",
    variables={"ANTHROPIC_API_KEY": "api_key", "ANTHROPIC_BASE_URL": "base_url"},
    key_prefix="sk-ant-",
    key_header="x-api-key",
    pricing_id="anthropic",
    models={
        _SONNET: "balance of mind and speed; for everyday work and code",
        _OPUS: "the most capable; for hard problems and long tasks",
        _HAIKU: "the fastest and cheapest; for simple questions in numbers",
        "claude-opus-4-8": "an earlier Opus; for work that was tuned to it",
        "claude-sonnet-4-6": "an earlier Sonnet; for work that was tuned to it",
        "claude-haiku-4-5": "an earlier Haiku; for work that was tuned to it",
    },
    model_prefixes=("claude-",),
    retirements={
        "claude-3-opus-20240229": Retirement(date(2026, 1, 5), _OPUS),
        "claude-3-sonnet-20240229": Retirement(date(2025, 7, 21), _SONNET),
        "claude-3-5-sonnet-20240620": Retirement(date(2025, 10, 28), _SONNET),
        "claude-3-5-sonnet-20241022": Retirement(date(2025, 10, 28), _SONNET),
        "claude-3-5-sonnet-latest": Retirement(date(2025, 10, 28), _SONNET),
        "claude-3-5-haiku-20241022": Retirement(date(2026, 2, 19), _HAIKU),
        "claude-3-5-haiku-latest": Retirement(date(2026, 2, 19), _HAIKU),
        "claude-3-7-sonnet-20250219": Retirement(date(2026, 2, 19), _SONNET),
        "claude-3-7-sonnet-latest": Retirement(date(2026, 2, 19), _SONNET),
        "claude-opus-4-20250514": Retirement(date(2026, 6, 15), _OPUS),
        "claude-opus-4-0": Retirement(date(2026, 6, 15), _OPUS),
        "claude-sonnet-4-20250514": Retirement(date(2026, 6, 15), _SONNET),
        "claude-sonnet-4-0": Retirement(date(2026, 6, 15), _SONNET),
        "claude-sonnet-4-5-20250929": Retirement(date(2026, 11, 30), _SONNET),
        "claude-sonnet-4-5": Retirement(date(2026, 11, 30), _SONNET),
    },
    guess_capabilities=guess_claude_capabilities,
    parse_listed_model=_parse_listed_model,
)
