"""Amazon Bedrock."""

from junto.provider_specs.claude_models import guess_claude_capabilities
from junto.provider_specs.spec import URL_ONLY, Dialect, ProviderSpec

SPEC = ProviderSpec(
    name="bedrock",
    title="Amazon Bedrock",
    description="Claude on Amazon Bedrock, with the credentials that AWS's own tools find.",
    priority=60,
    dialect=Dialect.BEDROCK,
    settings={"region": "the region; AWS's own choice if unset", **URL_ONLY},
    pricing_id="aws",
    guess_capabilities=guess_claude_capabilities,
)
