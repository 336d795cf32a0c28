"""Heuristic detection of prompt injection in data; it cannot catch everything."""

import re

_INJECTION_PATTERN = re.compile(
    r"""
      (?:ignore|disregard|forget|override)\s{1,5}(?:\w{1,12}\s{1,5}){0,3}
        (?:previous|prior|above|earlier|preceding|system)\s{1,5}
        (?:\w{1,12}\s{1,5}){0,2}(?:instructions?|prompts?|messages?|rules?|directions?)
    | (?:you\s{1,5}are|act)\s{1,5}now\s{1,5}(?:a|an|in|the)\s{1,5}\w{1,20}\s{1,5}
        (?:mode|assistant|ai)
    | (?:reveal|print|repeat|show|leak|exfiltrate)\s{1,5}(?:\w{1,12}\s{1,5}){0,3}
        (?:system\s{1,5}prompt|api\s{1,5}keys?|secrets?|credentials?)
    | new\s{1,5}(?:system\s{1,5})?instructions?\s{0,5}:
    | <\|(?:im_start|im_end|system|endoftext)\|>
    | \[/?(?:INST|SYS)\]
    | ^\s{0,5}(?:system|assistant)\s{0,5}:\s{1,5}\S
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_MAX_EXCERPT_CHARS = 80


def find_injection(text: str) -> str | None:
    """Return the first excerpt that looks like an instruction to a model, or None."""
    match = _INJECTION_PATTERN.search(text)
    return match[0][:_MAX_EXCERPT_CHARS] if match else None
