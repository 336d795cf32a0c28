"""What models take, by who made them and how old they are."""

import re

from junto.domain.models import Capabilities, ReasoningStyle
from junto.providers.catalog.known import Dialect

# Claude by age: before it could think, when it was given a number of tokens for it, and the first
# that decided for themselves. Those after them take no temperature.
_CLAUDES = (
    (re.compile(r"claude-(?:v?[12]|instant|3-5|3-[a-z])"), Capabilities()),
    (
        re.compile(r"claude-3-7|claude-[a-z]+-4(?![-.][6-9](?!\d))"),
        Capabilities(reasoning=ReasoningStyle.BUDGET),
    ),
    (
        re.compile(r"claude-[a-z]+-4[-.]6(?!\d)"),
        Capabilities(reasoning=ReasoningStyle.ADAPTIVE),
    ),
)
_NEWEST_CLAUDE = Capabilities(temperature=False, reasoning=ReasoningStyle.ADAPTIVE)
# OpenAI's models that think refuse a temperature; its older ones refuse to be told to think.
_THINKING_GPT = re.compile(r"(?:^|/)(?:o[134]|gpt-(?:[5-9]|\d\d))")

SMALL = Capabilities(images=False, documents=False, largest_schema=4_000)


def capabilities(provider: str, dialect: Dialect, model: str) -> Capabilities:
    """Return what a model most likely takes; a provider's own list or the operator may differ."""
    if dialect is Dialect.EMBEDDED:
        return SMALL
    if provider == "openrouter":
        return Capabilities(reasoning=ReasoningStyle.NESTED)
    if dialect is not Dialect.OPENAI:
        return _claude(model)
    if _THINKING_GPT.search(model):
        return Capabilities(temperature=False, reasoning=ReasoningStyle.EFFORT)
    if provider == "gemini":
        return Capabilities(reasoning=ReasoningStyle.EFFORT)
    return Capabilities()


def _claude(model: str) -> Capabilities:
    return next((known for name, known in _CLAUDES if name.search(model)), _NEWEST_CLAUDE)
