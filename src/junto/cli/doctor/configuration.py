"""The configuration: its files, where values come from, and whether they fit together."""

import shlex
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from junto.cli.doctor.findings import Case, Finding, broken, ok, warning
from junto.domain.errors import ConfigurationError
from junto.settings import Loaded
from junto.settings.choices import LogOutput
from junto.settings.showing import as_facts, secrets_in

_SOURCES = {
    "flag": "from the command line",
    "environment": "from variables",
    "alias": "from variables under other names",
    "file": "from files",
}
_SHORTEST_SECRET = 6


def files(case: Case) -> Iterator[Finding]:
    """Tell which files were read, and whether keys in them can be read by others."""
    names = ", ".join(str(path.absolute()) for path in case.loaded.files)
    yield ok("files", names or "none: defaults and the environment are enough")
    secrets = [text for text in secrets_in(case.settings) if len(text) >= _SHORTEST_SECRET]
    for path in case.loaded.files:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = path.read_text("utf-8", "replace")
        if mode & 0o077 and any(secret in text for secret in secrets):
            detail = f"{path} holds a secret, and others can read it ({mode:04o})"
            yield warning("files", detail, f"`chmod 600 {shlex.quote(str(path))}`")


def values(case: Case) -> Iterator[Finding]:
    """Tell what is not at its default, and where that comes from."""
    chosen = {
        path: fact
        for path, fact in as_facts(case.loaded).items()
        if case.loaded.origins[path].kind != "default"
    }
    told = (_told(case.loaded, kind, words) for kind, words in _SOURCES.items())
    detail = "; ".join(filter(None, told)) or "all at their defaults"
    yield Finding("values", "ok", detail, facts=chosen)
    for odd in case.loaded.warnings:
        yield warning("values", odd, "Take it out, or correct its name.")


def _told(loaded: Loaded, kind: str, words: str) -> str:
    origins = [origin for origin in loaded.origins.values() if origin.kind == kind]
    names = ", ".join(dict.fromkeys(origin.name for origin in origins))
    return f"{len(origins)} {words} ({names})" if origins else ""


def fitting(case: Case) -> Iterator[Finding]:
    """Build everything once, as each start does, and take it down again."""
    from junto.app import running
    from junto.transport.http import check_host

    try:
        with running(quiet(case.loaded), default_level="error"):
            check_host(case.settings.http.host)
    except ConfigurationError as error:
        yield broken("settings", error.message, "Correct it; `junto config show` has every value.")
    else:
        yield ok("settings", "they fit together")


def quiet(loaded: Loaded) -> Loaded:
    """Return settings that write no log."""
    logging = loaded.settings.logging.model_copy(update={"output": LogOutput.NONE})
    return replace(loaded, settings=loaded.settings.model_copy(update={"logging": logging}))


def roots(case: Case) -> Iterator[Finding]:
    """Tell beneath which folders tools may reach, and whether that is too much."""
    chosen = case.settings.tools.roots
    if chosen:
        gone = [str(folder) for folder in chosen if not folder.is_dir()]
        if gone:
            detail = f"there is no folder {', '.join(gone)}"
            yield warning("roots", detail, "Make it, or correct tools.roots.")
        else:
            yield ok("roots", ", ".join(map(str, chosen)))
        return
    from junto.app.kit import roots_of

    here = roots_of(case.settings)
    if not here.roots:
        reason, _, fix = here.why_none.partition(". ")
        yield warning("roots", f"{reason}, where you stand.", fix)
    else:
        yield ok("roots", f"the folder Junto is started in, here {Path.cwd()}")
