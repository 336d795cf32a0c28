"""Writes the generated pages of docs/ anew: `make docs`."""

from collections.abc import Callable
from pathlib import Path

from tests.docs.commands_page import commands_page
from tests.docs.errors_page import errors_page
from tests.docs.metrics_page import metrics_page
from tests.docs.settings_page import settings_page
from tests.docs.tools_page import tools_page

DOCS = Path(__file__).parents[1] / "docs"

PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "metrics.md": metrics_page,
    "reference/commands.md": commands_page,
    "reference/errors.md": errors_page,
    "reference/tools.md": tools_page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
