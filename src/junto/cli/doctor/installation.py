"""Checks of the installation: Python, Junto, and the extras that the settings require."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from junto.cli.doctor.checks import CheckContext, Finding, fail, ok, warn
from junto.provider_specs.registry import PROVIDER_SPECS
from junto.settings.schema import Settings
from junto.version import __version__


@dataclass(frozen=True, slots=True)
class _Extra:
    """An extra: the modules that show it is installed, and what is missing without it."""

    modules: tuple[str, ...]
    missing_feature: str


_EXTRAS = {
    "bedrock": _Extra(("anthropic", "boto3"), "no models of Amazon Bedrock"),
    "claude-code": _Extra(("claude_agent_sdk",), "no tool claude_code_query"),
    "documents": _Extra(
        ("charset_normalizer", "docx", "lxml", "pypdfium2", "watchfiles"),
        "no PDF, DOCX or EPUB in the search",
    ),
    "embedded": _Extra(
        ("numkong", "numpy", "onnxruntime", "tokenizers", "usearch", "xllamacpp"),
        "no embedded model, and search by words alone",
    ),
    "postgres": _Extra(("psycopg", "psycopg_pool"), "no PostgreSQL"),
    "redis": _Extra(("redis",), "no Redis"),
    "vertex": _Extra(("anthropic", "google.auth"), "no models of Google Vertex AI"),
}


def check_python(_context: CheckContext | None) -> Iterator[Finding]:
    """Report the versions of Python and Junto, and warn if `junto` runs another installation."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield ok("Python", f"{version}, at {sys.executable}")
    yield ok("Junto", f"{__version__}, at {Path(__file__).parents[2]}")
    from junto.cli.install import build_command

    own, on_path = Path(build_command(None)[0]), shutil.which("junto")
    if on_path and own.name.startswith("junto") and not own.samefile(on_path):
        yield warn(
            "command",
            f"`junto` on your path is another one: {on_path}",
            f"Fine if you mean that one; otherwise use {own}, or put its folder first.",
        )


def check_extras(context: CheckContext) -> Iterator[Finding]:
    """Report which extras are installed, and fail for missing ones that the settings require."""
    missing = {name: extra for name, extra in _EXTRAS.items() if not is_extra_installed(name)}
    installed = [name for name in _EXTRAS if name not in missing]
    absent = "; ".join(f"{name} ({extra.missing_feature})" for name, extra in missing.items())
    detail = f"{', '.join(installed) or 'none'}{f'; not installed: {absent}' if absent else ''}"
    yield ok("extras", detail, installed=installed, absent=list(missing))
    for name, setting in _iter_required_extras(context.settings):
        if name in missing:
            detail = f"{name} is not installed, and {setting} wants it"
            yield fail("extras", detail, f"`pip install 'junto[{name}]'`")


def is_extra_installed(extra: str) -> bool:
    """Return whether an extra is installed."""
    try:
        return all(find_spec(module) for module in _EXTRAS[extra].modules)
    except ModuleNotFoundError:  # a parent package is missing
        return False


def _iter_required_extras(settings: Settings) -> Iterator[tuple[str, str]]:
    if settings.database.url:
        yield "postgres", "database.url"
    if settings.redis.url:
        yield "redis", "redis.url"
    for provider, spec in PROVIDER_SPECS.items():
        if spec.is_cloud and any(entry.provider == provider for entry in settings.models):
            yield provider, "an entry of models"
