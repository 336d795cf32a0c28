"""The manual as its readers see it: pages, blocks, words in backticks, links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Manual:
    """One page."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """Return the page without its blocks."""
        return _FENCE.sub("", self.text)

    def blocks(self, *kinds: str) -> list[str]:
        """Return what stands in the blocks of these kinds."""
        return [body for kind, body in _FENCE.findall(self.text) if kind in kinds]

    def spans(self) -> list[str]:
        """Return what stands in backticks, line by line."""
        return _SPAN.findall(self.prose)

    def links(self) -> list[str]:
        return _LINK.findall(_SPAN.sub("", self.prose))

    def commands(self) -> Iterator[str]:
        """Yield each line that a reader would type, and each command in backticks."""
        for block in self.blocks("console"):
            for line in block.replace("\\\n", " ").splitlines():
                if line.lstrip().startswith("$ "):
                    yield line.lstrip()[2:]
        yield from self.spans()


def manual() -> list[Manual]:
    """Return the pages of docs/, and those that stand beside it."""
    beside = ("README.md", "README.zh-TW.md", "CONTRIBUTING.md", "CHANGELOG.md")
    return [Manual(path) for path in sorted((ROOT / "docs").rglob("*.md"))] + [
        Manual(ROOT / name) for name in beside
    ]
