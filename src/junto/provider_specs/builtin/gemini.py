"""Google's Gemini API, through its endpoint that is compatible with OpenAI's."""

from junto.domain.models import Capabilities, ReasoningStyle
from junto.provider_specs.spec import ProviderSpec, guess_gpt_capabilities


def _guess_capabilities(model: str) -> Capabilities:
    guessed = guess_gpt_capabilities(model)
    return guessed if guessed.reasoning else Capabilities(reasoning=ReasoningStyle.EFFORT)


SPEC = ProviderSpec(
    name="gemini",
    title="Google Gemini",
    description="Google's models are available once a key of its Gemini API is set.",
    priority=30,
    base_url="https://generativelanguage.googleapis.com/v1beta/openai",
    variables={"GEMINI_API_KEY": "api_key"},
    key_prefix="AIza",
    pricing_id="google",
    models=dict.fromkeys(("gemini-3.8-flash", "gemini-4-argon", "gemini-3.5-flash-lite")),
    model_prefixes=("gemini-",),
    guess_capabilities=_guess_capabilities,
)
