"""Azure OpenAI. Each deployment has an address of its own, so it is used by entries in `models`."""

from junto.provider_specs.spec import ProviderSpec

SPEC = ProviderSpec(
    name="azure",
    title="Azure OpenAI",
    description="",
    settings={},
    key_header="api-key",
    max_tokens_field="max_completion_tokens",
    pricing_id="azure",
)
