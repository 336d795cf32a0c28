"""Whether all that the settings want is installed, and in the right place."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from junto import __version__
from junto.cli.doctor.findings import Case, Finding, broken, ok, warning
from junto.settings.tree import Settings


@dataclass(frozen=True, slots=True)
class _Extra:
    """An extra: the modules that show that it is there, and what is missing without it."""

    modules: tuple[str, ...]
    without: str


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


def python(_case: Case | None) -> Iterator[Finding]:
    """Tell which Python and which Junto this is, and whether `junto` means this one."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield ok("Python", f"{version}, at {sys.executable}")
    yield ok("Junto", f"{__version__}, at {Path(__file__).parents[2]}")
    from junto.cli.install import command

    here, first = Path(command(None)[0]), shutil.which("junto")
    if first and here.name.startswith("junto") and not here.samefile(first):
        yield warning(
            "command",
            f"`junto` on your path is another one: {first}",
            f"Fine if you mean that one; otherwise use {here}, or put its folder first.",
        )


def extras(case: Case) -> Iterator[Finding]:
    """Tell which extras are installed, and what the settings want of the others."""
    missing = {name: extra for name, extra in _EXTRAS.items() if not is_there(name)}
    there = [name for name in _EXTRAS if name not in missing]
    absent = "; ".join(f"{name} ({extra.without})" for name, extra in missing.items())
    detail = f"{', '.join(there) or 'none'}{f'; not installed: {absent}' if absent else ''}"
    yield ok("extras", detail, installed=there, absent=list(missing))
    for name, setting in _wanted(case.settings):
        if name in missing:
            detail = f"{name} is not installed, and {setting} wants it"
            yield broken("extras", detail, f"`pip install 'junto[{name}]'`")


def is_there(extra: str) -> bool:
    """Tell whether an extra is installed."""
    try:
        return all(find_spec(module) for module in _EXTRAS[extra].modules)
    except ModuleNotFoundError:  # what holds it is not there either
        return False


def _wanted(settings: Settings) -> Iterator[tuple[str, str]]:
    if settings.database.url:
        yield "postgres", "database.url"
    if settings.redis.url:
        yield "redis", "redis.url"
    for cloud in ("bedrock", "vertex"):
        if any(entry.provider == cloud for entry in settings.models):
            yield cloud, "an entry of models"
