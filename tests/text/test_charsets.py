"""Names of alphabets, and what only looks like one."""

import pytest

from junto.domain.alphabets import declared
from junto.kit.web import Page


@pytest.mark.parametrize(
    ("words", "codec"),
    [
        ("text/html; charset=utf-8", "utf-8"),
        ("text/html; charset=ISO-8859-1", "cp1252"),
        ('text/html; charset="Shift_JIS"', "cp932"),
        ("<meta charset = 'GBK'>", "gb18030"),
        ("text/html; charset=utf-7", None),
        ("text/html; charset=unicode_escape", None),
        ("text/html; charset=base64", None),
        ("text/html; charset=none-such", None),
        ("text/html", None),
    ],
)
def test_only_alphabets_are_read(words: str, codec: str | None) -> None:
    assert declared(words) == codec


def test_a_page_in_a_codec_that_takes_for_ever_is_read_at_once() -> None:
    body = b"a" * 4_000_000 + b"-" + b"b" * 1_000_000

    assert Page("u", 200, "text/html; charset=punycode", body).text() == body.decode()
