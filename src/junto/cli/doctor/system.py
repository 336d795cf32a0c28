"""Checks of the machine: the background server, the port, and the state and log directories."""

import contextlib
import errno
import http.client
import json
import os
import shlex
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from junto.cli.doctor.checks import CheckContext, Finding, fail, ok, warn
from junto.settings.enums import LogOutput
from junto.settings.paths import resolve_log_dir

if TYPE_CHECKING:
    from junto.runtime.daemon_state import DaemonStatus

_TCP_LISTEN = "0A"
_HEALTH_TIMEOUT_SECONDS = 2.0
_GIGABYTE = 1_000_000_000
_MIN_FREE_BYTES = _GIGABYTE


def check_daemon(context: CheckContext) -> Iterator[Finding]:
    """Check whether the background daemon responds, and whether a restart would change it."""
    check = "background"
    from junto.cli.daemon import StartOptions, find_changes
    from junto.runtime.daemon_control import is_responding

    status = _read_daemon_status(context)
    daemon = status.daemon
    if daemon is None and status.is_running:
        yield warn(check, "it is starting or stopping", "Look again in a moment.")
        return
    if daemon is None:
        yield ok(check, "does not run", "`junto start` starts it, if you want one.")
        return
    changes = find_changes(daemon, StartOptions.from_flags(context.config_path, {}))
    if not is_responding(daemon):
        detail = f"pid {daemon.pid} does not answer at {daemon.url}; see {daemon.log}"
        yield fail(check, detail, "`junto restart`")
    elif changes:
        detail = f"a new one would have another {' and another '.join(changes)}"
        yield warn(check, detail, "`junto restart`")
    else:
        yield ok(check, f"runs at {daemon.url}/mcp (pid {daemon.pid}), as a new one would")


def _read_daemon_status(context: CheckContext) -> "DaemonStatus":
    from junto.cli.daemon import build_daemon_dir
    from junto.runtime.daemon_state import DaemonStatus

    daemon_dir = build_daemon_dir(context.settings)
    # Reading the status takes a lock in that directory; without a directory there is no daemon.
    try:
        return (
            daemon_dir.get_status() if daemon_dir.path.exists() else DaemonStatus(is_running=False)
        )
    except PermissionError:  # our daemon cannot use this directory either
        return DaemonStatus(is_running=False)


def check_port(context: CheckContext) -> Iterator[Finding]:
    """Check whether the port is free, or else which process uses it."""
    host, port = context.settings.http.host, context.settings.http.port
    if port == 0:
        yield ok("port", "any that is free (http.port is 0)")
        return
    problem = _try_bind(host, port)
    if problem is None:
        yield ok("port", f"{host}:{port} is free")
    elif problem != errno.EADDRINUSE:
        detail = f"{host}:{port} cannot be had: {os.strerror(problem)}"
        yield fail("port", detail, "Set http.host to 127.0.0.1, and http.port above 1023.")
    else:
        yield _describe_holder(context, host, port)


def _try_bind(host: str, port: int) -> int | None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            return error.errno or errno.EADDRNOTAVAIL
    return None


def _describe_holder(context: CheckContext, host: str, port: int) -> Finding:
    daemon = _read_daemon_status(context).daemon
    if daemon and daemon.url.endswith(f":{port}"):
        return ok("port", f"{host}:{port} is held by the background server")
    prefix, holder = f"{host}:{port} is held by", find_port_holder(port)
    if version := _probe_junto_version(host, port):
        detail = (
            f"{prefix} a Junto {version}{f' ({holder})' if holder else ''}, not in the background"
        )
        return warn("port", detail, "Fine if you have started it; otherwise end it.")
    detail = f"{prefix} {holder or 'another program'}"
    return warn("port", detail, "Set another http.port (JUNTO_HTTP_PORT), or end that program.")


def _probe_junto_version(host: str, port: int) -> str | None:
    """Return the version of the Junto that listens there, or None if there is none."""
    connection = http.client.HTTPConnection(host.strip("[]"), port, timeout=_HEALTH_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/health")
        return str(json.loads(connection.getresponse().read(10_000))["version"])
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def find_port_holder(port: int) -> str | None:
    """Return the process that listens on a port, if the system shows it."""
    sockets = set(_iter_listening_sockets(port))
    for fd in Path("/proc").glob("[0-9]*/fd/*") if sockets else ():
        try:
            if str(fd.readlink()) in sockets:
                pid = fd.parts[2]
                return f"{Path('/proc', pid, 'comm').read_text().strip()}, pid {pid}"
        except OSError:
            continue  # the process has ended, or belongs to another user
    return None


def _iter_listening_sockets(port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == _TCP_LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                yield f"socket:[{fields[9]}]"


def check_state_dir(context: CheckContext) -> Iterator[Finding]:
    """Check the directory with the database and all other state."""
    yield from _check_directory("state", context.state_dir, "state_directory")


def check_leftovers(context: CheckContext) -> Iterator[Finding]:
    """Check for the remains of interrupted downloads."""
    leftovers: list[Path] = []
    with contextlib.suppress(OSError):  # check_state_dir reports unreadable directories
        leftovers = sorted(context.state_dir.glob("weights/**/fetching-*"))
    if leftovers:
        names = " ".join(str(path) for path in leftovers)
        detail = f"left of a download that was broken off: {names}"
        yield warn(
            "leftovers",
            detail,
            f"`rm -r {shlex.join(map(str, leftovers))}`, unless one is under way.",
        )


def check_log_dir(context: CheckContext) -> Iterator[Finding]:
    """Check the log directory, if logs are written to files."""
    if context.settings.logging.output in (LogOutput.FILES, LogOutput.BOTH):
        yield from _check_directory("logs", resolve_log_dir(context.settings), "logging.directory")


def _check_directory(check: str, directory: Path, setting: str) -> Iterator[Finding]:
    fix = f"Make it writable for you, or choose another with {setting}."
    try:
        existing = directory if directory.exists() else _find_existing_parent(directory)
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        yield fail(check, f"{directory}: nothing can be written: {error.strerror}", fix)
        return
    free_bytes = shutil.disk_usage(existing).free
    yield check_free_space(check, directory, free_bytes, exists=existing == directory)
    if existing == directory:
        yield from _check_permissions(check, directory)


def _find_existing_parent(directory: Path) -> Path:
    """Return the nearest existing parent of a directory."""
    return next(parent for parent in directory.absolute().parents if parent.exists())


def check_free_space(check: str, directory: Path, free_bytes: int, *, exists: bool) -> Finding:
    """Check the free disk space of a directory."""
    label = f"{directory}{'' if exists else ' (made at the first use)'}"
    detail = f"{label}: {free_bytes / _GIGABYTE:,.1f} GB free"
    if free_bytes < _MIN_FREE_BYTES:
        return warn(check, detail, "Make room: a full disk stops every conversation.")
    return ok(check, detail)


def _check_permissions(check: str, directory: Path) -> Iterator[Finding]:
    """Check that a directory belongs to this user and is closed to others."""
    info = directory.stat()
    mode = stat.S_IMODE(info.st_mode)
    if info.st_uid != os.geteuid():
        detail = f"{directory} belongs to another user (number {info.st_uid})"
        yield warn(
            check,
            detail,
            f"Choose a folder of yours, or `chown {os.geteuid()} {shlex.quote(str(directory))}`.",
        )
    elif mode & 0o077:
        detail = f"{directory} is open to other users ({mode:04o})"
        yield warn(check, detail, f"`chmod go-rwx {shlex.quote(str(directory))}`")
