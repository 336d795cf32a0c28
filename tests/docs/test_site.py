"""The site of the manual: complete, without broken links, and self-contained."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT
from tests.docs.site import Site, build_site, copy_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = copy_site(tmp_path_factory.mktemp("site"))
    done = build_site(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return Site(folder / "site")


def test_no_link_and_no_resource_is_broken(site: Site) -> None:
    assert list(site.broken_links()) == []
    assert sum(len(page.links) for page in site.pages().values()) > 500


def test_no_page_loads_anything_from_another_host(site: Site) -> None:
    resources = {address for page in site.pages().values() for address in page.resources}
    styles = [path.read_text(encoding="utf-8") for path in site.folder.rglob("*.css")]

    assert [address for address in resources if re.match(r"(?:\w+:)?//", address)] == []
    assert [
        style for style in styles if re.search(r"(?:url\(|@import)[\"' ]*(?:\w+:)?//", style)
    ] == []


def test_every_page_is_in_the_navigation_and_in_the_search(site: Site) -> None:
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    index = json.loads((site.folder / "search.json").read_text())
    indexed = {item["location"].partition("#")[0] for item in index["items"]}

    assert sorted(_navigation_pages(project["nav"])) == sorted(pages)
    assert {page.replace(".md", ".html") for page in pages} <= indexed


def _navigation_pages(entry: Any) -> Iterator[str]:
    """Yield the pages of a part of the navigation, with or without titles."""
    match entry:
        case str():
            yield entry
        case dict():
            for each in entry.values():
                yield from _navigation_pages(each)
        case _:
            for each in entry:
                yield from _navigation_pages(each)


@pytest.mark.parametrize("link", ["nowhere.md", "../how-to/models.md#nowhere"])
def test_a_broken_link_fails_the_build(tmp_path: Path, link: str) -> None:
    page = copy_site(tmp_path) / "docs" / "explanation" / "jobs.md"
    page.write_text(page.read_text() + f"\n[here]({link})\n")

    done = build_site(tmp_path)

    assert done.returncode == 1
    assert "does not exist" in done.stdout + done.stderr
