"""Pages as text, however they are written."""

import time

import pytest

from junto.domain.pages import readable, titled


def test_a_page_is_made_readable() -> None:
    html = """<html><head><title>T</title><style>x{}</style></head><body>
    <nav>Menu</nav><h1>Big  news</h1><p>One <b>bold</b>
    word &amp; a <a href="https://example.org/x">link</a>.</p><ul><li>first<li>second</ul>
    <script>alert("no")</script><pre>  kept
      as is</pre><table><tr><td>a<td>b</table></body>"""

    text = readable(html)

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
def test_a_hostile_page_takes_no_time_to_speak_of(piece: str) -> None:
    before = time.process_time()

    assert isinstance(readable(piece * (500_000 // len(piece))), str)
    # Quadratic time would be minutes; the processor's clock does not mind a busy machine.
    assert time.process_time() - before < 10


def test_code_on_a_page_keeps_its_lines_and_makes_no_headings() -> None:
    page = "<h1>How</h1><pre># as root\n  make <b>all</b>\n</pre>then<pre><div>a</div><div>b</div>"

    assert readable(page) == "# How\n\n```\n# as root\n  make all\n```\n\nthen\n\n```\na\nb\n```"
    assert readable("<title>No</title><pre>```</pre>") == "~~~\n```\n~~~"


def test_a_head_that_is_not_closed_hides_no_body() -> None:
    assert readable("<head><title>No</title><BODY class=x>Yes") == "Yes"


def test_a_number_beyond_all_characters_is_none() -> None:
    assert readable(f"a &#{'1' * 5000}; b &#65;") == "a \ufffd b A"


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<html><head><TITLE lang=en>One\n &amp; two </TITLE>", "One & two"),
        ("<title></title><p>x", None),
        ("<titles>x", None),
        ("no page", None),
    ],
)
def test_a_page_has_the_title_that_it_gives_itself(page: str, title: str | None) -> None:
    assert titled(page) == title
