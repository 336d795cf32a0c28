"""The pages of the manual: code blocks, commands, inline code and links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class ManualPage:
    """One page of the manual."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """Return the page without its code blocks."""
        return _FENCE.sub("", self.text)

    def blocks(self, *languages: str) -> list[str]:
        """Return the contents of the code blocks in these languages."""
        return [body for language, body in _FENCE.findall(self.text) if language in languages]

    def spans(self) -> list[str]:
        """Return the contents of the inline code outside of code blocks."""
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


def load_manual() -> list[ManualPage]:
    """Return the pages of docs/, and those in the root of the repository."""
    root_pages = ("README.md", "README.zh-TW.md", "CONTRIBUTING.md", "CHANGELOG.md")
    return [ManualPage(path) for path in sorted((ROOT / "docs").rglob("*.md"))] + [
        ManualPage(ROOT / name) for name in root_pages
    ]
