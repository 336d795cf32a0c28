"""Checks of the configuration: its files, where values come from, and whether they are valid."""

import shlex
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from junto.cli.doctor.checks import CheckContext, Finding, fail, ok, warn
from junto.domain.errors import ConfigurationError
from junto.settings import LoadedSettings
from junto.settings.enums import LogOutput
from junto.settings.render import dump_settings, iter_secrets

_ORIGIN_LABELS = {
    "flag": "from the command line",
    "environment": "from variables",
    "alias": "from variables under other names",
    "file": "from files",
}
_MIN_SECRET_CHARS = 6


def check_files(context: CheckContext) -> Iterator[Finding]:
    """Report which files were read, and warn if other users can read secrets in them."""
    names = ", ".join(str(path.absolute()) for path in context.loaded.files)
    yield ok("files", names or "none: defaults and the environment are enough")
    for notice in context.loaded.notices:
        yield warn("files", notice, "Run `junto trust` if the file is yours; remove it otherwise.")
    secrets = [text for text in iter_secrets(context.settings) if len(text) >= _MIN_SECRET_CHARS]
    for path in context.loaded.files:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = path.read_text("utf-8", "replace")
        if mode & 0o077 and any(secret in text for secret in secrets):
            detail = f"{path} holds a secret, and others can read it ({mode:04o})"
            yield warn("files", detail, f"`chmod 600 {shlex.quote(str(path))}`")


def check_values(context: CheckContext) -> Iterator[Finding]:
    """Report which values differ from their defaults, and where they come from."""
    overrides = {
        path: fact
        for path, fact in dump_settings(context.loaded).items()
        if context.loaded.origins[path].kind != "default"
    }
    summaries = (
        _summarize_origin(context.loaded, kind, label) for kind, label in _ORIGIN_LABELS.items()
    )
    detail = "; ".join(filter(None, summaries)) or "all at their defaults"
    yield Finding("values", "ok", detail, facts=overrides)
    for warning in context.loaded.warnings:
        yield warn("values", warning, "Take it out, or correct its name.")


def _summarize_origin(loaded: LoadedSettings, kind: str, label: str) -> str:
    origins = [origin for origin in loaded.origins.values() if origin.kind == kind]
    names = ", ".join(dict.fromkeys(origin.name for origin in origins))
    return f"{len(origins)} {label} ({names})" if origins else ""


def check_settings(context: CheckContext) -> Iterator[Finding]:
    """Build the app once, as every start does, and close it again."""
    from junto.app.application import build_app
    from junto.app.server import build_server_spec
    from junto.transport.http import check_host

    try:
        with build_app(disable_logging(context.loaded), default_level="error") as app:
            build_server_spec(app)
            check_host(context.settings.http.host)
    except ConfigurationError as error:
        yield fail("settings", error.message, "Correct it; `junto config show` has every value.")
    else:
        yield ok("settings", "they fit together")


def disable_logging(loaded: LoadedSettings) -> LoadedSettings:
    """Return a copy of the settings that writes no logs."""
    logging = loaded.settings.logging.model_copy(update={"output": LogOutput.NONE})
    return replace(loaded, settings=loaded.settings.model_copy(update={"logging": logging}))


def check_roots(context: CheckContext) -> Iterator[Finding]:
    """Report which directories tools may access, and warn if there are none."""
    configured = context.settings.tools.roots
    if configured:
        missing = [str(path) for path in configured if not path.is_dir()]
        if missing:
            detail = f"there is no folder {', '.join(missing)}"
            yield warn("roots", detail, "Make it, or correct tools.roots.")
        else:
            yield ok("roots", ", ".join(map(str, configured)))
        return
    from junto.app.roots import build_roots

    default = build_roots(context.settings)
    if not default.roots:
        reason, _, fix = default.empty_message.partition(". ")
        yield warn("roots", f"{reason}, where you stand.", fix)
    else:
        yield ok("roots", f"the folder Junto is started in, here {Path.cwd()}")
