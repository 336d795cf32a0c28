"""The setting knowledge.embeddings, and whom it stands for."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from junto.app.embeddings import embedder_of
from junto.domain.errors import ConfigurationError
from junto.providers.embeddings.choosing import Choice, choice_of
from junto.security.secrets import Redactor
from junto.settings.tree import Settings
from junto.telemetry.usage import UsageBook

KEYS = {
    "openai": {"api_key": "sk-openai\n"},
    "gemini": {"api_key": "g"},
    "anthropic": {"api_key": "a"},
    "ollama": {"base_url": "http://127.0.0.1:11434/v1"},
}
ENTRIES = [
    {"id": "mine", "modelName": "nomic", "baseUrl": "http://host:1/v1", "apiKey": "own"},
    {"id": "corp-chat", "provider": "corp", "baseUrl": "http://corp/v1", "apiKey": "corp"},
    {"id": "two-1", "provider": "two", "baseUrl": "http://one/v1"},
    {"id": "two-2", "provider": "two", "baseUrl": "http://two/v1"},
    {"id": "keyless", "provider": "openrouter"},
]


def chosen(name: str, **providers: Any) -> Choice:
    settings = Settings.model_validate({"models": ENTRIES, "providers": providers})
    return choice_of(name, settings.models, settings.providers)


@pytest.mark.parametrize(
    ("name", "model", "address", "key"),
    [
        ("openai/text-embedding-3-small", "text-embedding-3-small", "https://api.openai.com/v1",
         "sk-openai"),
        ("gemini/gemini-embedding-001", "gemini-embedding-001",
         "https://generativelanguage.googleapis.com/v1beta/openai", "g"),
        ("ollama/all-minilm", "all-minilm", "http://127.0.0.1:11434/v1", None),
        ("mine", "nomic", "http://host:1/v1", "own"),
        ("corp/vectors/v2", "vectors/v2", "http://corp/v1", "corp"),
    ],
)  # fmt: skip
def test_a_name_leads_to_an_address_and_its_own_key(
    name: str, model: str, address: str, key: str | None
) -> None:
    route = chosen(name, **KEYS).route

    assert (route.model, route.base_url, route.api_key) == (model, address, key)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("text-embedding-3-small", "it takes embedded, off, or a provider's model"),
        ("openai/", "it takes embedded, off, or a provider's model"),
        ("openai/m", r"openai has no key\. Set providers\.openai\.api_key"),
        ("keyless", r"openrouter has no key\. Set providers\.openrouter\.api_key"),
        ("ollama/m", r"Set providers\.ollama\.base_url"),
        ("nobody/m", "there is no provider nobody"),
        ("two/m", "several servers are called two"),
    ],
)
def test_a_name_that_stands_for_nobody_is_an_error_that_says_so(name: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^knowledge.embeddings: .*{said}"):
        chosen(name)


def test_who_makes_no_vectors_is_not_asked() -> None:
    with pytest.raises(ConfigurationError, match="anthropic makes no vectors"):
        chosen("anthropic/claude", **KEYS)


async def test_it_is_checked_at_the_start_and_may_be_off(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        off = Settings.model_validate({"knowledge": {"embeddings": False}})  # as YAML reads it
        wrong = Settings.model_validate({"knowledge": {"embeddings": "openai/m"}})

        assert embedder_of(off, tmp_path, stack, Redactor(()), UsageBook()) is None
        with pytest.raises(ConfigurationError):
            embedder_of(wrong, tmp_path, stack, Redactor(()), UsageBook())
