"""OpenAI."""

from junto.provider_specs.spec import ProviderSpec

SPEC = ProviderSpec(
    name="openai",
    title="OpenAI",
    description="OpenAI's models are available once its key is set.",
    priority=20,
    base_url="https://api.openai.com/v1",
    variables={"OPENAI_API_KEY": "api_key", "OPENAI_BASE_URL": "base_url"},
    # OpenAI renamed it; compatible servers did not.
    max_tokens_field="max_completion_tokens",
    pricing_id="openai",
    models=dict.fromkeys(("gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-luna", "gpt-5.5", "gpt-5.4-mini")),
    model_prefixes=("gpt-", "o1", "o3", "o4"),
)
