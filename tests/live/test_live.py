"""The real API, for those who have a key and a few cents: ANTHROPIC_API_KEY=… make test.

Without a key these are not collected at all (tests/conftest.py), so nothing counts as skipped.
"""

from pathlib import Path

from junto.app.models import build_catalog
from junto.domain.completions import Question
from junto.domain.messages import Message
from junto.providers.provider import ask
from junto.settings.schema import Settings
from tests.conftest import LIVE_KEY
from tests.providers.council_factory import open_council_with_usage


async def test_claude_answers(tmp_path: Path) -> None:
    settings = Settings.model_validate({"providers": {"anthropic": {"api_key": LIVE_KEY}}})
    catalog = build_catalog(settings, tmp_path)
    question = Question(
        model="claude-haiku-5-5",
        messages=(Message.user("Say the word yes, and nothing else."),),
        max_tokens=100,
    )

    async with open_council_with_usage(settings, catalog, tmp_path) as (council, _):
        answer = await ask(council, question)

    assert "yes" in answer.message.text.lower()
    assert answer.usage.output_tokens > 0
