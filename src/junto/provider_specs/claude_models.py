"""Claude models by generation: Anthropic, Amazon and Google serve the same ones."""

import re

from junto.domain.models import Capabilities, ReasoningStyle

# Models without thinking, with a token budget for thinking, and the first ones with adaptive
# thinking. Later models reject a temperature.
_GENERATIONS = (
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
_NEWEST = Capabilities(temperature=False, reasoning=ReasoningStyle.ADAPTIVE)


def guess_claude_capabilities(model: str) -> Capabilities:
    """Return what a Claude model likely supports."""
    return next(
        (capabilities for pattern, capabilities in _GENERATIONS if pattern.search(model)), _NEWEST
    )
