"""Recognising what belongs to a person in a text: addresses, numbers of cards and accounts."""

import re

_SHAPES = re.compile(
    r"""
      (?P<mail>\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b)
    | (?P<iban>\b[A-Z]{2}\d{2}(?:\ ?[A-Z0-9]{4}){3,7}(?:\ ?[A-Z0-9]{1,3})?\b)
    | (?P<social>\b\d{3}-\d{2}-\d{4}\b)
    | (?P<card>\b\d(?:[\ -]?\d){12,18}\b)
    | (?P<phone>(?<![\w.])\+\d{1,3}[\ .-]?(?:\(?\d{1,4}\)?[\ .-]?){2,4}\d{2,4}\b)
    """,
    re.VERBOSE,
)
_NAMES = {
    "mail": "[e-mail]",
    "iban": "[account]",
    "social": "[number]",
    "card": "[card]",
    "phone": "[phone]",
}
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def without_personal(text: str) -> str:
    """Return a text in which a name stands for each address and number of a person."""
    return _SHAPES.sub(_replaced, text)


def _replaced(found: re.Match[str]) -> str:
    kind = str(found.lastgroup)
    if kind == "card" and not _is_card(found[0]):
        return found[0]
    return _NAMES[kind]


def _is_card(text: str) -> bool:
    """Tell whether the digits add up as those of a card do."""
    digits = [int(letter) for letter in reversed(text) if letter.isdigit()]
    total = sum(_DOUBLED[digit] if odd % 2 else digit for odd, digit in enumerate(digits))
    return total % 10 == 0
