"""The site, built from the pages as `make site` does, and what its pages ask a browser for."""

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

_LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


def built(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Build the pages that lie in `folder`, and fail over anything that is not in order."""
    return subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def copied(folder: Path) -> Path:
    """Copy what the site is made of, so that building leaves the sources alone."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    return folder


@dataclass
class Page(HTMLParser):
    """What a page loads by itself, where its links lead, and where others may lead to."""

    loaded: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        given = dict(attrs)
        self.anchors.add(given.get("id", ""))
        if address := given.get(_LOADED.get(tag, "")):
            self.loaded.append(address)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


@dataclass(frozen=True)
class Site:
    """A folder of built pages."""

    folder: Path

    def pages(self) -> dict[str, Page]:
        found = {}
        for path in self.folder.rglob("*.html"):
            page = Page()
            page.feed(path.read_text(encoding="utf-8"))
            found[path.relative_to(self.folder).as_posix()] = page
        return found

    def dead_ends(self) -> Iterator[str]:
        """Yield every link and every part of a page that leads to nothing in this folder."""
        pages = self.pages()
        for name, page in pages.items():
            for address in (*page.links, *page.loaded):
                parts = urlsplit(address)
                if parts.scheme or parts.netloc or name == "404.html":
                    continue
                base = self.folder / name
                target = (base.parent / unquote(parts.path)).resolve() if parts.path else base
                if target.is_dir():
                    target /= "index.html"
                known = pages.get(target.relative_to(self.folder.resolve()).as_posix())
                anchor = unquote(parts.fragment)
                if not target.is_file() or (anchor and known and anchor not in known.anchors):
                    yield f"{name}: {address}"
