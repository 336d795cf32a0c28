"""`junto config show`, `init` and `check`, and `junto trust`."""

import json
import os
from pathlib import Path

import click

from junto.cli.table import print_table
from junto.cli.terminal_text import print_stderr, sanitize
from junto.domain.errors import ConfigurationError, InputOutputError
from junto.security.redaction import Redactor
from junto.settings import LoadedSettings
from junto.settings.config_file import parse_config
from junto.settings.loader import find_user_trust_store
from junto.settings.paths import resolve_state_dir
from junto.settings.render import (
    build_starter_file,
    dump_settings,
    format_yaml_value,
    iter_secrets,
    render_settings,
)
from junto.settings.workspace_trust import UnexpandedVariables, read_workspace_file


def show(loaded: LoadedSettings, *, as_json: bool) -> None:
    """Print every setting, its value and its origin."""
    if as_json:
        click.echo(json.dumps(dump_settings(loaded), indent=2))
        return
    body = [
        (row.path, str(row.origin), " ".join(format_yaml_value(row.value).split()))
        for row in render_settings(loaded)
    ]
    print_table([("SETTING", "FROM", "VALUE"), *body], shorten=("VALUE", "FROM"))
    print_stderr(f"Files are kept in {resolve_state_dir(loaded.settings)}.")


def init(path: Path, *, only_print: bool) -> None:
    """Write the starter configuration file, or print it.

    Raises:
        ConfigurationError: `path` exists already.
        InputOutputError: the file cannot be written.
    """
    if only_print:
        click.echo(build_starter_file(), nl=False)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The file may contain API keys, so only its owner may read it.
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        if path.exists():
            raise ConfigurationError(f"{path} exists already and is left as it is.") from None
        raise InputOutputError(f"{path} cannot be written: {error.strerror}.") from error
    content = build_starter_file()
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(content)
    find_user_trust_store().add(path, content.encode())
    print_stderr(f"Wrote {path}. Edit it, then run `junto trust {path}` and `junto config check`.")


def trust(path: Path, *, remove: bool) -> None:
    """Trust a config file with the content that it has now, or stop trusting it.

    Raises:
        ConfigurationError: the file cannot be read, or is not valid.
    """
    store = find_user_trust_store()
    if remove:
        print_stderr(
            f"{path} is no longer trusted." if store.remove(path) else f"{path} was not trusted."
        )
        return
    content = read_workspace_file(path)
    values = parse_config(content, path, UnexpandedVariables())
    store.add(path, content)
    names = ", ".join(values) or "nothing"
    print_stderr(f"Trusted {path} as it is now. It sets {names}.")


def list_trusted() -> None:
    """Print the files that are trusted, and whether they still count."""
    rows = []
    for name, expected in find_user_trust_store().load().items():
        path = Path(name)
        is_current = path.is_file() and find_user_trust_store().is_trusted(path, path.read_bytes())
        rows.append((name, "trusted" if is_current else "changed or removed", expected))
    print_table([("FILE", "STATE", "CONTENT"), *rows], shorten=("FILE", "CONTENT"))


def check(loaded: LoadedSettings) -> None:
    """Build the application from the configuration and print its warnings.

    Raises:
        ConfigurationError: the settings are inconsistent.
    """
    from junto.app.application import build_app
    from junto.app.server import build_server_spec
    from junto.transport.http import check_host

    with build_app(loaded, default_level="error") as app:
        build_server_spec(app)
        check_host(loaded.settings.http.host)
        warnings = (*loaded.warnings, *app.catalog.iter_warnings())
    redactor = Redactor(iter_secrets(loaded.settings))
    for warning in warnings:
        print_stderr(f"warning: {sanitize(redactor.redact_text(warning))}")
    files = ", ".join(str(path) for path in loaded.files) or "no file"
    changed = sum(origin.kind != "default" for origin in loaded.origins.values())
    what = "1 setting" if changed == 1 else f"{changed} settings"
    click.echo(f"The configuration is sound: {what} changed, from {files}.")
