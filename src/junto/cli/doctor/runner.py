"""Runs all checks in order, reports their findings, and chooses the exit code."""

import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from junto.cli.doctor import (
    clients,
    configuration,
    installation,
    models,
    protocol,
    storage,
    system,
    tools,
)
from junto.cli.doctor.checks import Check, CheckContext, Finding, fail
from junto.cli.doctor.report import Reporter
from junto.domain.errors import JuntoError
from junto.security.redaction import Redactor
from junto.settings import LoadedSettings, Settings
from junto.settings.render import iter_secrets
from junto.telemetry.logs import Log, LogSinks, configure_logging

_log = Log.get("doctor")

_EXIT_FAILURE, _EXIT_UNUSABLE = 1, 2
_ONLINE_TIMEOUT_SECONDS = 60.0
_FIX_HINT = "Mend that; --log-level debug may tell more."
_DEBUG_HINT = "Run it again with --log-level debug, and report what it prints."

_CONFIGURATION_GROUP = "Configuration"
CHECKS = (
    Check("Installation", "Python", installation.check_python),
    Check("Installation", "extras", installation.check_extras),
    Check(_CONFIGURATION_GROUP, "files", configuration.check_files),
    Check(_CONFIGURATION_GROUP, "values", configuration.check_values),
    Check(_CONFIGURATION_GROUP, "settings", configuration.check_settings, 30.0),
    Check(_CONFIGURATION_GROUP, "roots", configuration.check_roots),
    Check("Models", "default model", models.check_default_model),
    Check("Models", "keys", models.check_keys, _ONLINE_TIMEOUT_SECONDS),
    Check("Models", "models", models.check_endpoints, _ONLINE_TIMEOUT_SECONDS),
    Check(
        "Models",
        "embedded model",
        models.check_local_model,
        2 * models.LOCAL_MODEL_TIMEOUT_SECONDS,
    ),
    Check("Models", "embeddings", models.check_embeddings, models.LOCAL_MODEL_TIMEOUT_SECONDS),
    Check("Memory", "database", storage.check_database, 60.0),
    Check("Memory", "Redis", storage.check_redis),
    Check("Machine", "state", system.check_state_dir),
    Check("Machine", "leftovers", system.check_leftovers),
    Check("Machine", "logs", system.check_log_dir),
    Check("Machine", "port", system.check_port),
    Check("Machine", "background", system.check_daemon),
    Check("Tools", "tools", tools.check_tools, 30.0),
    Check("Tools", "sandbox", tools.check_sandbox, 30.0),
    Check("Tools", "Claude Code", tools.check_agent),
    Check("Tools", "servers", tools.check_servers, 30.0),
    Check("Clients", "clients", clients.check_clients, 30.0),
    Check("Protocol", "stdio", protocol.check_stdio, protocol.CHECK_TIMEOUT_SECONDS),
    Check("Protocol", "HTTP", protocol.check_http, protocol.CHECK_TIMEOUT_SECONDS),
)


def run_doctor(
    load: Callable[[], LoadedSettings],
    config_path: Path | None = None,
    *,
    online: bool = False,
    as_json: bool = False,
    verbose: bool = False,
) -> int:
    """Run all checks, report their findings, and return the exit code."""
    try:
        loaded = load()
    except JuntoError as error:
        return _report_unusable_settings(error, Reporter(Redactor().redact_text, as_json, verbose))
    reporter = Reporter(_build_redactor(loaded.settings), as_json, verbose)
    runner = CheckRunner(CHECKS, reporter.show_progress)
    level = loaded.settings.logging.level or "critical"
    unusable = False
    with (
        reporter.clear_on_exit(),
        configure_logging(LogSinks(level), Redactor(iter_secrets(loaded.settings))),
    ):
        for check, finding in runner.run(CheckContext(loaded, config_path, online)):
            reporter.report(check, finding)
            unusable |= check.run is configuration.check_settings and finding.state == "broken"
    counts = reporter.finish()
    code = _EXIT_UNUSABLE if unusable else _EXIT_FAILURE if counts["broken"] else 0
    if runner.has_hung_checks:
        # A regular exit would wait for the checks that hang.
        sys.stdout.flush()
        os._exit(code)
    return code


def _report_unusable_settings(error: JuntoError, reporter: Reporter) -> int:
    for finding in installation.check_python(None):
        reporter.report(CHECKS[0], finding)
    check = Check(_CONFIGURATION_GROUP, "configuration", lambda _context: iter(()))
    fix = "Mend it, then run this again: nothing else can be looked at before."
    for line in error.message.splitlines():
        reporter.report(check, fail(check.name, line, fix))
        fix = ""
    reporter.finish()
    return _EXIT_UNUSABLE


def _build_redactor(settings: Settings) -> Callable[[str], str]:
    """Return a function that removes all secrets from a text, including passwords in URLs."""
    secrets = list(iter_secrets(settings))
    return Redactor(
        [*secrets, *(part for secret in secrets for part in _extract_passwords(secret))]
    ).redact_text


def _extract_passwords(secret: str) -> Iterator[str]:
    """Yield the password in a URL, both as written and percent-decoded."""
    try:
        password = urlsplit(secret).password
    except ValueError:
        return
    if password:
        yield from {password, unquote(password)}


@dataclass(slots=True)
class CheckRunner:
    """Runs checks in order, and remembers those that timed out."""

    checks: Sequence[Check]
    on_start: Callable[[Check], None]
    _abandoned: list[threading.Thread] = field(default_factory=list, init=False)

    def run(self, context: CheckContext) -> Iterator[tuple[Check, Finding]]:
        """Run the checks, and yield each finding as soon as it is known."""
        for check in self.checks:
            self.on_start(check)
            for finding in self._run_check(check, context):
                yield check, finding
                self.on_start(check)

    @property
    def has_hung_checks(self) -> bool:
        """Return whether a check that timed out is still running."""
        return any(thread.is_alive() for thread in self._abandoned)

    def _run_check(self, check: Check, context: CheckContext) -> Iterator[Finding]:
        # In a thread, because access to a lost network disk blocks and cannot be interrupted.
        findings: queue.SimpleQueue[Finding | None] = queue.SimpleQueue()
        thread = threading.Thread(
            target=_run_in_thread, args=(check, context, findings.put), daemon=True
        )
        thread.start()
        while True:
            try:
                finding = findings.get(timeout=check.timeout_seconds)
            except queue.Empty:
                self._abandoned.append(thread)
                detail = f"not known: looking took longer than {check.timeout_seconds:.0f} seconds"
                yield fail(check.name, detail, _DEBUG_HINT)
                return
            if finding is None:
                return
            yield finding


def _run_in_thread(
    check: Check, context: CheckContext, emit: Callable[[Finding | None], None]
) -> None:
    try:
        for finding in check.run(context):
            emit(finding)
    except JuntoError as error:
        _log.debug("check failed", check=check.name, reason=error.message)
        emit(fail(check.name, error.message, _FIX_HINT))
    except Exception as error:  # noqa: BLE001 - a check that fails must not stop the others
        _log.exception("check crashed", error, check=check.name)
        emit(fail(check.name, f"the check itself failed ({type(error).__name__})", _DEBUG_HINT))
    finally:
        emit(None)
