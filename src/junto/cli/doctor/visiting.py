"""A visit of the doctor: every check in its order, told as it comes, and the exit code."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from junto.cli.doctor import (
    clients,
    configuration,
    disk,
    embedded,
    installation,
    models,
    protocol,
    serving,
    store,
    tools,
)
from junto.cli.doctor.findings import Case, Check, broken
from junto.cli.doctor.running import Rounds
from junto.cli.doctor.telling import Teller
from junto.domain.errors import JuntoError
from junto.security.secrets import Redactor
from junto.settings import Loaded, Settings
from junto.settings.showing import secrets_in
from junto.telemetry.logs import Sinks, logging_to

_BROKEN, _UNUSABLE = 1, 2
_ONLINE = 60.0

_CONFIGURATION = "Configuration"
CHECKS = (
    Check("Installation", "Python", installation.python),
    Check("Installation", "extras", installation.extras),
    Check(_CONFIGURATION, "files", configuration.files),
    Check(_CONFIGURATION, "values", configuration.values),
    Check(_CONFIGURATION, "settings", configuration.fitting, 30.0),
    Check(_CONFIGURATION, "roots", configuration.roots),
    Check("Models", "default model", models.default),
    Check("Models", "keys", models.keys, _ONLINE),
    Check("Models", "models", models.addresses, _ONLINE),
    Check("Models", "embedded model", embedded.engine, 2 * embedded.SECONDS),
    Check("Models", "embeddings", embedded.vectors, embedded.SECONDS),
    Check("Memory", "database", store.database, 60.0),
    Check("Memory", "Redis", store.redis),
    Check("Machine", "state", disk.state),
    Check("Machine", "leftovers", disk.leftovers),
    Check("Machine", "logs", disk.logs),
    Check("Machine", "port", serving.port),
    Check("Machine", "background", serving.background),
    Check("Tools", "tools", tools.offered, 30.0),
    Check("Tools", "Claude Code", tools.agent),
    Check("Tools", "servers", tools.servers, 30.0),
    Check("Clients", "clients", clients.configured, 30.0),
    Check("Protocol", "stdio", protocol.stdio, protocol.SECONDS),
    Check("Protocol", "HTTP", protocol.over_http, protocol.SECONDS),
)


def examine(
    load: Callable[[], Loaded],
    config: Path | None = None,
    *,
    online: bool = False,
    as_json: bool = False,
    verbose: bool = False,
) -> int:
    """Run every check and tell what it found; return the exit code."""
    try:
        loaded = load()
    except JuntoError as error:
        return _unusable(error, Teller(Redactor().text, as_json, verbose))
    teller = Teller(_cleaner(loaded.settings), as_json, verbose)
    rounds = Rounds(CHECKS, teller.begins)
    level = loaded.settings.logging.level or "critical"
    unusable = False
    with teller.listening(), logging_to(Sinks(level), Redactor(secrets_in(loaded.settings))):
        for check, finding in rounds.of(Case(loaded, config, online)):
            teller.tell(check, finding)
            unusable |= check.look is configuration.fitting and finding.state == "broken"
    counts = teller.ends()
    code = _UNUSABLE if unusable else _BROKEN if counts["broken"] else 0
    if rounds.hangs:
        # Leaving in the ordinary way would wait for what hangs.
        sys.stdout.flush()
        os._exit(code)
    return code


def _unusable(error: JuntoError, teller: Teller) -> int:
    for finding in installation.python(None):
        teller.tell(CHECKS[0], finding)
    check = Check(_CONFIGURATION, "configuration", lambda _case: iter(()))
    fix = "Mend it, then run this again: nothing else can be looked at before."
    for line in error.message.splitlines():
        teller.tell(check, broken(check.name, line, fix))
        fix = ""
    teller.ends()
    return _UNUSABLE


def _cleaner(settings: Settings) -> Callable[[str], str]:
    """Return what takes every secret out of a text, passwords inside addresses included."""
    secrets = list(secrets_in(settings))
    return Redactor([*secrets, *(part for secret in secrets for part in _passwords(secret))]).text


def _passwords(secret: str) -> Iterator[str]:
    """Yield the password in an address, as it is written and as it is meant."""
    try:
        password = urlsplit(secret).password
    except ValueError:
        return
    if password:
        yield from {password, unquote(password)}
