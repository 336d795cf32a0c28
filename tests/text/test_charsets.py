"""Character sets that a page declares, and declarations that are ignored."""

import pytest

from junto.local_tools.web import WebResponse
from junto.text.charsets import find_declared_codec


@pytest.mark.parametrize(
    ("declaration", "codec"),
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
def test_only_safe_text_codecs_are_accepted(declaration: str, codec: str | None) -> None:
    assert find_declared_codec(declaration) == codec


def test_a_page_that_declares_a_slow_codec_is_read_as_utf8() -> None:
    body = b"a" * 4_000_000 + b"-" + b"b" * 1_000_000

    assert WebResponse("u", 200, "text/html; charset=punycode", body).text() == body.decode()
