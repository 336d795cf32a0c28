"""The site of the manual: whole, strict, and with nothing from elsewhere."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT
from tests.docs.site import Site, built, copied


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = copied(tmp_path_factory.mktemp("site"))
    done = built(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return Site(folder / "site")


def test_no_link_and_no_part_of_a_page_leads_nowhere(site: Site) -> None:
    assert list(site.dead_ends()) == []
    assert sum(len(page.links) for page in site.pages().values()) > 500


def test_no_page_loads_anything_from_elsewhere(site: Site) -> None:
    loaded = {address for page in site.pages().values() for address in page.loaded}
    styles = [path.read_text(encoding="utf-8") for path in site.folder.rglob("*.css")]

    assert [address for address in loaded if re.match(r"(?:\w+:)?//", address)] == []
    assert [
        style for style in styles if re.search(r"(?:url\(|@import)[\"' ]*(?:\w+:)?//", style)
    ] == []


def test_every_page_is_in_the_navigation_and_in_the_search(site: Site) -> None:
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    index = json.loads((site.folder / "search.json").read_text())
    found = {item["location"].partition("#")[0] for item in index["items"]}

    assert sorted(_named(project["nav"])) == sorted(pages)
    assert {page.replace(".md", ".html") for page in pages} <= found


def _named(entry: Any) -> Iterator[str]:
    """Yield the pages that a part of the navigation names, with or without a title."""
    match entry:
        case str():
            yield entry
        case dict():
            for each in entry.values():
                yield from _named(each)
        case _:
            for each in entry:
                yield from _named(each)


@pytest.mark.parametrize("link", ["nowhere.md", "models.md#nowhere"])
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, link: str) -> None:
    page = copied(tmp_path) / "docs" / "jobs.md"
    page.write_text(page.read_text() + f"\n[here]({link})\n")

    done = built(tmp_path)

    assert done.returncode == 1
    assert "does not exist" in done.stdout + done.stderr
