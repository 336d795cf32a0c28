"""Write what is generated: pages of docs/, server.json, the bundle's manifest: `make docs`."""

from collections.abc import Callable
from pathlib import Path

from scripts.docs.commands_page import commands_page
from scripts.docs.errors_page import errors_page
from scripts.docs.manifests import BUNDLE_MANIFEST, SERVER_JSON, bundle_manifest, server_json
from scripts.docs.metrics_page import metrics_page
from scripts.docs.settings_page import settings_page
from scripts.docs.tools_page import tools_page

ROOT = Path(__file__).parents[2]
DOCS = Path("docs")

GENERATED_FILES: dict[Path, Callable[[], str]] = {
    DOCS / "reference" / "settings.md": settings_page,
    DOCS / "reference" / "metrics.md": metrics_page,
    DOCS / "reference" / "commands.md": commands_page,
    DOCS / "reference" / "errors.md": errors_page,
    DOCS / "reference" / "tools.md": tools_page,
    BUNDLE_MANIFEST: bundle_manifest,
    SERVER_JSON: server_json,
}

if __name__ == "__main__":
    for path, build in GENERATED_FILES.items():
        (ROOT / path).write_text(build(), encoding="utf-8")
