"""The providers that Junto knows by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Dialect(StrEnum):
    """How a provider is spoken to."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    BEDROCK = "bedrock"
    VERTEX = "vertex"
    EMBEDDED = "embedded"
    CLIENT = "client"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What need not be configured about a provider."""

    dialect: Dialect = Dialect.OPENAI
    base_url: str | None = None
    # Its name where prices are kept.
    priced_as: str | None = None
    # What is offered until its own list of models is known, and what each is good for. The first
    # is the one to take.
    models: Mapping[str, str | None] = field(default_factory=dict)


KNOWN = {
    "anthropic": Known(
        dialect=Dialect.ANTHROPIC,
        base_url="https://api.anthropic.com",
        priced_as="anthropic",
        models={
            "claude-sonnet-5-5": "balance of mind and speed; for everyday work and code",
            "claude-opus-5-5": "the most capable; for hard problems and long tasks",
            "claude-haiku-5-5": "the fastest and cheapest; for simple questions in numbers",
            "claude-opus-4-8": "an earlier Opus; for work that was tuned to it",
            "claude-sonnet-4-6": "an earlier Sonnet; for work that was tuned to it",
            "claude-haiku-4-5": "an earlier Haiku; for work that was tuned to it",
        },
    ),
    "openai": Known(
        base_url="https://api.openai.com/v1",
        priced_as="openai",
        models=dict.fromkeys(
            ("gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-luna", "gpt-5.5", "gpt-5.4-mini")
        ),
    ),
    "gemini": Known(
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        priced_as="google",
        models=dict.fromkeys(("gemini-3.8-flash", "gemini-4-argon", "gemini-3.5-flash-lite")),
    ),
    "openrouter": Known(
        base_url="https://openrouter.ai/api/v1",
        priced_as="openrouter",
        models=dict.fromkeys(
            ("anthropic/claude-sonnet-5.5", "openai/gpt-6.1-sol", "google/gemini-3.8-flash")
        ),
    ),
    "ollama": Known(),
    "azure": Known(priced_as="azure"),
    "bedrock": Known(dialect=Dialect.BEDROCK, priced_as="aws"),
    "vertex": Known(dialect=Dialect.VERTEX, priced_as="google"),
}

# Models that a provider lists, but that do not talk.
SILENT = (
    "audio", "babbage", "davinci", "embed", "image", "imagen", "live", "moderation", "realtime",
    "robotics", "sora", "transcribe", "tts", "veo", "whisper",
)  # fmt: skip

# Whose a model is, by how its name begins, where a key is at hand but no list names the model.
FAMILIES = {
    "claude-": "anthropic",
    "gpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "gemini-": "gemini",
}
