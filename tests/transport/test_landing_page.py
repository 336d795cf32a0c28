import pytest

from junto.transport.landing_page import render


def render_page(seconds: int = 5, base: str = "http://127.0.0.1:1", tool: str = "t") -> str:
    health = {"status": "ok", "version": "1.2.3", "uptimeSeconds": seconds}
    return render(base, health, "What it is", [{"name": tool, "description": "d"}])


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(5, "5 s"), (90, "1 min"), (3700, "1 h 1 min"), (90000, "1 d 1 h")],
)
def test_the_page_shows_the_uptime(seconds: int, expected: str) -> None:
    assert f"up</span> {expected}" in render_page(seconds)


def test_values_on_the_page_are_escaped() -> None:
    text = render_page(base="http://<script>", tool="<img onerror=x>")

    assert "<script>" not in text
    assert "<img" not in text


def test_the_page_shows_each_client_what_to_paste() -> None:
    text = render_page()

    assert "claude mcp add --transport http junto http://127.0.0.1:1/mcp" in text
    assert "&quot;httpUrl&quot;: &quot;http://127.0.0.1:1/mcp&quot;" in text
    assert "[mcp_servers.junto]" in text
