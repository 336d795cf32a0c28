"""Converting HTML pages to text, however malformed they are."""

import time

import pytest

from junto.text.html_text import find_title, html_to_text


def test_a_page_is_converted_to_readable_text() -> None:
    html = """<html><head><title>T</title><style>x{}</style></head><body>
    <nav>Menu</nav><h1>Big  news</h1><p>One <b>bold</b>
    word &amp; a <a href="https://example.org/x">link</a>.</p><ul><li>first<li>second</ul>
    <script>alert("no")</script><pre>  kept
      as is</pre><table><tr><td>a<td>b</table></body>"""

    text = html_to_text(html)

    assert "# Big news" in text
    assert "One bold word & a link (https://example.org/x)." in text
    assert "- first\n- second" in text
    assert "alert" not in text
    assert "x{}" not in text
    assert "| a | b" in text


@pytest.mark.parametrize(
    "piece",
    [
        "<div>",
        "<",
        "<a ",
        "<!--",
        "<![",
        "<a href='",
        "<script>",
        "<p>&lt;",
        "&#",
        "</",
        "<x" * 50,
        "<pre>",
        "<pre></pre>",
        "<head><body>",
        "<title",
    ],
)
def test_a_hostile_page_is_converted_in_linear_time(piece: str) -> None:
    before = time.process_time()

    assert isinstance(html_to_text(piece * (500_000 // len(piece))), str)
    # Quadratic time would be minutes; CPU time does not depend on how busy the machine is.
    assert time.process_time() - before < 10


def test_code_keeps_its_lines_and_creates_no_headings() -> None:
    page = "<h1>How</h1><pre># as root\n  make <b>all</b>\n</pre>then<pre><div>a</div><div>b</div>"

    assert (
        html_to_text(page) == "# How\n\n```\n# as root\n  make all\n```\n\nthen\n\n```\na\nb\n```"
    )
    assert html_to_text("<title>No</title><pre>```</pre>") == "~~~\n```\n~~~"


def test_an_unclosed_head_does_not_hide_the_body() -> None:
    assert html_to_text("<head><title>No</title><BODY class=x>Yes") == "Yes"


def test_an_out_of_range_character_reference_is_replaced() -> None:
    assert html_to_text(f"a &#{'1' * 5000}; b &#65;") == "a \ufffd b A"


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<html><head><TITLE lang=en>One\n &amp; two </TITLE>", "One & two"),
        ("<title></title><p>x", None),
        ("<titles>x", None),
        ("no page", None),
    ],
)
def test_the_title_is_taken_from_the_title_element(page: str, title: str | None) -> None:
    assert find_title(page) == title
