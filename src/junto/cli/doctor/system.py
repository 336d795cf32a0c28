"""The HTTP server: its port, and whether it runs in the background."""

import errno
import http.client
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from junto.cli.doctor.findings import Case, Finding, broken, ok, warning

if TYPE_CHECKING:
    from junto.work.background import Sight

_LISTENS = "0A"
_HEALTH_SECONDS = 2.0


def background(case: Case) -> Iterator[Finding]:
    """Tell whether the background server runs, and whether a new one would be the same."""
    check = "background"
    from junto.cli.background import Wishes, changes_since
    from junto.work.launching import answers

    sight = _sight(case)
    server = sight.server
    if server is None and sight.there:
        yield warning(check, "it is starting or stopping", "Look again in a moment.")
        return
    if server is None:
        yield ok(check, "does not run", "`junto start` starts it, if you want one.")
        return
    changes = changes_since(server, Wishes.of(case.config, {}))
    if not answers(server):
        detail = f"pid {server.pid} does not answer at {server.url}; see {server.log}"
        yield broken(check, detail, "`junto restart`")
    elif changes:
        detail = f"a new one would have another {' and another '.join(changes)}"
        yield warning(check, detail, "`junto restart`")
    else:
        yield ok(check, f"runs at {server.url}/mcp (pid {server.pid}), as a new one would")


def _sight(case: Case) -> "Sight":
    from junto.cli.background import place_of
    from junto.work.background import Sight

    place = place_of(case.settings)
    # Looking takes a lock in that folder; where there is none, nobody runs.
    try:
        return place.look() if place.folder.exists() else Sight(there=False)
    except PermissionError:  # nor does anybody of ours run where we may not go
        return Sight(there=False)


def port(case: Case) -> Iterator[Finding]:
    """Tell whether the port is free, or who holds it."""
    host, number = case.settings.http.host, case.settings.http.port
    if number == 0:
        yield ok("port", "any that is free (http.port is 0)")
        return
    problem = _problem(host, number)
    if problem is None:
        yield ok("port", f"{host}:{number} is free")
    elif problem != errno.EADDRINUSE:
        detail = f"{host}:{number} cannot be had: {os.strerror(problem)}"
        yield broken("port", detail, "Set http.host to 127.0.0.1, and http.port above 1023.")
    else:
        yield _held(case, host, number)


def _problem(host: str, number: int) -> int | None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), number))
        except OSError as error:
            return error.errno or errno.EADDRNOTAVAIL
    return None


def _held(case: Case, host: str, number: int) -> Finding:
    server = _sight(case).server
    if server and server.url.endswith(f":{number}"):
        return ok("port", f"{host}:{number} is held by the background server")
    where, who = f"{host}:{number} is held by", holder(number)
    if version := _junto_at(host, number):
        detail = f"{where} a Junto {version}{f' ({who})' if who else ''}, not in the background"
        return warning("port", detail, "Fine if you have started it; otherwise end it.")
    detail = f"{where} {who or 'another program'}"
    return warning("port", detail, "Set another http.port (JUNTO_HTTP_PORT), or end that program.")


def _junto_at(host: str, number: int) -> str | None:
    """Return the version of the Junto that answers there, if one does."""
    connection = http.client.HTTPConnection(host.strip("[]"), number, timeout=_HEALTH_SECONDS)
    try:
        connection.request("GET", "/health")
        return str(json.loads(connection.getresponse().read(10_000))["version"])
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def holder(number: int) -> str | None:
    """Return the process that listens at a port, where the system tells."""
    sockets = set(_listening(number))
    for fd in Path("/proc").glob("[0-9]*/fd/*") if sockets else ():
        try:
            if str(fd.readlink()) in sockets:
                pid = fd.parts[2]
                return f"{Path('/proc', pid, 'comm').read_text().strip()}, pid {pid}"
        except OSError:
            continue  # it has ended, or is not ours to look at
    return None


def _listening(number: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == number:
                yield f"socket:[{fields[9]}]"
