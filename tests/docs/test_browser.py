"""The site in a browser, opened from its folder without a network."""

import json
from pathlib import Path

import pytest

from tests.docs.browser import CHROMIUM, open_browser
from tests.docs.site import build_site, copy_site

_READ_SEARCH_RESULTS = """
new Promise((found) => {
  const roots = () => [...document.querySelectorAll("*")].flatMap((each) => each.shadowRoot ?? []);
  const links = () => roots().flatMap((each) => [...each.querySelectorAll("a")]);
  const tell = () => found(links().map((each) => each.href));
  const look = () => links().length ? tell() : setTimeout(look, 50);
  look();
})"""
_OPEN_SEARCH = """
new Promise((ready) => {
  const look = () => {
    const roots = [...document.querySelectorAll("*")].flatMap((each) => each.shadowRoot ?? []);
    const input = roots.map((each) => each.querySelector("input")).find(Boolean);
    document.querySelector(".md-search__button").click();
    input ? (input.focus(), ready(true)) : setTimeout(look, 50);
  };
  look();
})"""
# By how many pixels a page, or a table in it, is wider than the screen.
_MEASURE_OVERFLOW = """
Math.max(document.documentElement.scrollWidth - innerWidth,
  ...[...document.querySelectorAll("table")].map((each) =>
    each.getBoundingClientRect().right - document.documentElement.clientWidth))"""


@pytest.mark.timeout(180)
@pytest.mark.skipif(not CHROMIUM, reason="there is no chromium")
async def test_search_works_from_a_folder_and_everything_fits_a_phone(tmp_path: Path) -> None:
    folder = copy_site(tmp_path)
    assert build_site(folder).returncode == 0
    site = folder / "site"

    async with open_browser(tmp_path / "profile") as tab:
        phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
        await tab.send_command("Emulation.setDeviceMetricsOverride", **phone)
        overflow = {}
        for page in site.rglob("*.html"):
            await tab.open(page.as_uri())
            overflow[page.name] = await tab.evaluate(_MEASURE_OVERFLOW)
        await tab.open((site / "index.html").as_uri())
        await tab.evaluate(_OPEN_SEARCH)
        await tab.send_command("Input.insertText", text="retries")
        results = await tab.evaluate(_READ_SEARCH_RESULTS)

    assert {name: pixels for name, pixels in overflow.items() if pixels > 1} == {}, json.dumps(
        overflow
    )
    assert any("models.html" in address for address in results)
    assert [each for each in tab.requested_urls if not each.startswith(("file:", "data:"))] == []
