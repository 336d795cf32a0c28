"""The site as `make site` builds it, and the links and resources of its pages."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from tests.docs.pages import ROOT

_RESOURCE_ATTRIBUTES = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
}


def build_site(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Build the site in `folder`; every warning is an error."""
    return subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def copy_site(folder: Path) -> Path:
    """Copy the sources of the site, so that building does not change them."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    return folder


@dataclass
class SitePage(HTMLParser):
    """The resources that a page loads, its links, and its anchors."""

    resources: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        attributes = dict(attrs)
        self.anchors.add(attributes.get("id", ""))
        if address := attributes.get(_RESOURCE_ATTRIBUTES.get(tag, "")):
            self.resources.append(address)
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])


@dataclass(frozen=True)
class Site:
    """A folder of built pages."""

    folder: Path

    def pages(self) -> dict[str, SitePage]:
        pages = {}
        for path in self.folder.rglob("*.html"):
            page = SitePage()
            page.feed(path.read_text(encoding="utf-8"))
            pages[path.relative_to(self.folder).as_posix()] = page
        return pages

    def broken_links(self) -> Iterator[str]:
        """Yield every link and resource whose target is not in this folder."""
        pages = self.pages()
        for name, page in pages.items():
            for address in (*page.links, *page.resources):
                parts = urlsplit(address)
                if parts.scheme or parts.netloc or name == "404.html":
                    continue
                base = self.folder / name
                target = (base.parent / unquote(parts.path)).resolve() if parts.path else base
                if target.is_dir():
                    target /= "index.html"
                target_page = pages.get(target.relative_to(self.folder.resolve()).as_posix())
                anchor = unquote(parts.fragment)
                if not target.is_file() or (
                    anchor and target_page and anchor not in target_page.anchors
                ):
                    yield f"{name}: {address}"
