"""The site as a browser shows it, opened from its folder, on a machine without a network."""

import json
from pathlib import Path

import pytest

from tests.docs.browser import CHROMIUM, browsing
from tests.docs.site import built, copied

_SEARCH = """
new Promise((found) => {
  const roots = () => [...document.querySelectorAll("*")].flatMap((each) => each.shadowRoot ?? []);
  const links = () => roots().flatMap((each) => [...each.querySelectorAll("a")]);
  const tell = () => found(links().map((each) => each.href));
  const look = () => links().length ? tell() : setTimeout(look, 50);
  look();
})"""
_READY = """
new Promise((ready) => {
  const look = () => {
    const roots = [...document.querySelectorAll("*")].flatMap((each) => each.shadowRoot ?? []);
    const input = roots.map((each) => each.querySelector("input")).find(Boolean);
    document.querySelector(".md-search__button").click();
    input ? (input.focus(), ready(true)) : setTimeout(look, 50);
  };
  look();
})"""
# How far a page, or a table in it, is wider than the screen.
_TOO_WIDE = """
Math.max(document.documentElement.scrollWidth - innerWidth,
  ...[...document.querySelectorAll("table")].map((each) =>
    each.getBoundingClientRect().right - document.documentElement.clientWidth))"""


@pytest.mark.timeout(180)
@pytest.mark.skipif(not CHROMIUM, reason="there is no chromium")
async def test_search_works_from_a_folder_and_everything_fits_a_phone(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    assert built(folder).returncode == 0
    site = folder / "site"

    async with browsing(tmp_path / "profile") as tab:
        phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
        await tab.order("Emulation.setDeviceMetricsOverride", **phone)
        wide = {}
        for page in site.rglob("*.html"):
            await tab.open(page.as_uri())
            wide[page.name] = await tab.evaluate(_TOO_WIDE)
        await tab.open((site / "index.html").as_uri())
        await tab.evaluate(_READY)
        await tab.order("Input.insertText", text="retries")
        found = await tab.evaluate(_SEARCH)

    assert {name: pixels for name, pixels in wide.items() if pixels > 1} == {}, json.dumps(wide)
    assert any("models.html" in address for address in found)
    assert [each for each in tab.requested if not each.startswith(("file:", "data:"))] == []
