"""Which model the setting knowledge.embeddings selects."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from junto.app.models import build_embedder
from junto.domain.errors import ConfigurationError
from junto.providers.embeddings.from_settings import EmbeddingModelSpec, resolve_embedding_model
from junto.security.redaction import Redactor
from junto.settings.schema import Settings
from junto.telemetry.usage_recorder import UsageRecorder

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


def resolve(name: str, **providers: Any) -> EmbeddingModelSpec:
    settings = Settings.model_validate({"models": ENTRIES, "providers": providers})
    return resolve_embedding_model(name, settings.models, settings.providers)


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
def test_a_name_resolves_to_a_model_an_address_and_its_own_key(
    name: str, model: str, address: str, key: str | None
) -> None:
    route = resolve(name, **KEYS).route

    assert (route.model, route.base_url, route.api_key) == (model, address, key)


@pytest.mark.parametrize(
    ("name", "message"),
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
def test_a_name_that_cannot_be_resolved_is_an_error_that_says_why(name: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^knowledge.embeddings: .*{message}"):
        resolve(name)


def test_a_provider_without_embeddings_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="anthropic makes no vectors"):
        resolve("anthropic/claude", **KEYS)


async def test_the_setting_is_checked_at_startup_and_may_be_off(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        off = Settings.model_validate(
            {"knowledge": {"embeddings": False}}
        )  # YAML reads `off` as False
        wrong = Settings.model_validate({"knowledge": {"embeddings": "openai/m"}})

        assert build_embedder(off, tmp_path, stack, Redactor(()), UsageRecorder()) is None
        with pytest.raises(ConfigurationError):
            build_embedder(wrong, tmp_path, stack, Redactor(()), UsageRecorder())
