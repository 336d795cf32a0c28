"""Ollama."""

from junto.provider_specs.spec import ProviderSpec

SPEC = ProviderSpec(
    name="ollama",
    title="Ollama",
    description="A server of models on this machine or next to it, which needs no key.",
    priority=50,
    settings={"base_url": "where it listens; its models join once set"},
)
