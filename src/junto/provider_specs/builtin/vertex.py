"""Google Vertex AI."""

from junto.provider_specs.claude_models import guess_claude_capabilities
from junto.provider_specs.spec import URL_ONLY, Dialect, ProviderSpec

SPEC = ProviderSpec(
    name="vertex",
    title="Google Vertex AI",
    description="Claude on Google Vertex AI, with the credentials that Google's own tools find.",
    priority=70,
    dialect=Dialect.VERTEX,
    settings={
        "region": "the region, such as us-east5 or global",
        "project": "the project that pays",
        **URL_ONLY,
    },
    pricing_id="google",
    guess_capabilities=guess_claude_capabilities,
)
