"""Try the sandbox on this machine, to report what it keeps commands from."""

import asyncio
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from junto.runtime.processes import ProcessSpec, run_supervised
from junto.runtime.tree_limits import ControlGroup

_TIMEOUT_SECONDS = 20.0
# Each attempt should fail; those that do not are printed.
_ATTEMPTS = """
import json, os, socket, sys
outside = sys.argv[1]
attempts = {
    "reading other files": lambda: open(outside).close(),
    "writing other files": lambda: open(outside, "a").close(),
    "changing the mode of other files": lambda: os.chmod(outside, 0o600),
    "opening sockets": lambda: socket.socket().close(),
    "starting programs": lambda: os._exit(0) if os.fork() == 0 else os.wait(),
}
possible = []
for name, attempt in attempts.items():
    try:
        attempt()
        possible.append(name)
    except OSError:
        pass
print(json.dumps(possible))
"""


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """What a confined command can do here although it should not, and how its limits are held."""

    possible: tuple[str, ...]
    has_control_group: bool


def probe_sandbox() -> SandboxStatus:
    """Run a command in the sandbox that tries to get out.

    Raises:
        OSError: it does not start.
        TimeoutError: it does not end.
    """
    with tempfile.TemporaryDirectory(prefix="junto-") as directory:
        root, outside = Path(directory, "root"), Path(directory, "outside")
        root.mkdir()
        outside.touch()
        directory_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        spec = ProcessSpec(
            command=[os.path.realpath(sys.executable), "-I", "-S", "-c", _ATTEMPTS, str(outside)],
            directory=directory_fd,
            environment={},
            max_processes=1,
            confined=True,
            network=False,
            readable=["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/nix/store", sys.base_prefix],
            writable=["/dev/null", str(root)],
            hide_rest=True,
        )
        try:
            output = asyncio.run(_run(spec))
        finally:
            os.close(directory_fd)
    try:
        possible = tuple(json.loads(output))
    except ValueError:
        raise OSError(0, "the confined command did not run") from None
    group = ControlGroup.create(2, 2**20)
    if group:
        group.remove()
    return SandboxStatus(possible, has_control_group=group is not None)


async def _run(spec: ProcessSpec) -> bytes:
    async with asyncio.timeout(_TIMEOUT_SECONDS), run_supervised(spec) as process:
        output, _ = await process.communicate()
    return output
