"""A program that runs one command and leaves nothing of it behind.

It is started in a process of its own, with Python's standard library and nothing else, and reads
what to do from the descriptor that it is told:

    python -I -S keeper.py 5 5<<<'{"command": ["/bin/ls"], "directory": 6, …}'

Whatever the command starts ends with it, even what has left its session, because orphans come to
this process. It ends with its parent, too. Where Linux has Landlock, the command sees the named
folders and nothing else of the disk, and reaches no network.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

_LINUX = sys.platform == "linux"
_PDEATHSIG, _SUBREAPER, _NO_NEW_PRIVS = 1, 36, 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_READ = _EXECUTE | _READ_FILE | _READ_DIR
# Which rights Landlock knows in which version; what it does not know it cannot take away.
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_ON_FILES = _EXECUTE | _READ_FILE | (1 << 1) | (1 << 14) | (1 << 15)


def main() -> None:
    """Run the command that standard input describes, and report how it ended."""
    # All of them wait until they are asked for, so none can come at a bad moment.
    signal.pthread_sigmask(signal.SIG_BLOCK, [*_STOPS, signal.SIGCHLD])
    if _LINUX:
        _prctl(_SUBREAPER, 1)
        _prctl(_PDEATHSIG, signal.SIGTERM)
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        task: dict[str, Any] = json.load(file)
    if os.getppid() != task["parent"]:
        return
    me = os.getpid()
    child = os.fork()
    if child == 0:
        _become(task, me)
    # What only the command reads and writes ends with it, for whoever is at the other end.
    for fd in (task["directory"], task["secret"], 0, 1, 2):
        with contextlib.suppress(OSError):
            os.close(fd)
    status = _awaited(child, task["grace"])
    _clear()
    if task["scratch"] and os.getppid() != task["parent"]:  # whoever would remove it is gone
        import shutil

        shutil.rmtree(task["scratch"], ignore_errors=True)
    with contextlib.suppress(OSError):
        os.write(task["report"], json.dumps(status).encode())


def _become(task: dict[str, Any], keeper: int) -> None:
    """Turn into the command, with nothing but what it needs."""
    try:
        os.setsid()
        for name, most in task["limits"].items():
            resource.setrlimit(getattr(resource, name), (most, most))
        os.fchdir(task["directory"])
        if task["user"]:
            _step_down(**task["user"])
        if _LINUX:  # afterwards, since another user's process would forget it
            _prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            return
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        if _LINUX and task["confined"]:
            _confine(task)
        first = _handed_on(task["secret"])
        os.closerange(first, max(256, task["directory"] + 1, task["report"] + 1))
        os.execve(task["command"][0], task["command"], task["environment"])  # noqa: S606
    except OSError as error:
        os.write(2, f"{error.strerror}\n".encode())
    finally:
        os._exit(127)


def _handed_on(secret: int) -> int:
    """Give the command, as descriptor 3, what is meant for nobody else; return what it has not."""
    if secret < 0:
        return 3
    os.dup2(secret, 3)
    return 4


def _step_down(uid: int, gid: int, groups: list[int]) -> None:
    os.setgroups(groups)
    os.setgid(gid)
    os.setuid(uid)


def _awaited(child: int, grace: float) -> dict[str, Any]:
    """Wait for the command, or until somebody wants it to end."""
    while signal.sigwait([*_STOPS, signal.SIGCHLD]) == signal.SIGCHLD:
        done = -1
        while done != 0:
            done, status = os.waitpid(-1, os.WNOHANG)
            if done == child:
                return {"code": os.waitstatus_to_exitcode(status)}
    _asked_to_end(child, grace)
    return {"stopped": True}


def _asked_to_end(child: int, grace: float) -> None:
    """Give the command a moment to end by itself."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGTERM)
    until = time.monotonic() + grace
    while time.monotonic() < until:
        try:
            if os.waitpid(child, os.WNOHANG)[0]:
                return
        except ChildProcessError:
            return
        time.sleep(0.01)


def _clear() -> None:
    """Kill whatever is left; what its death orphans comes to us and is killed in turn."""
    while True:
        # All are halted first, or those that multiply would do so faster than they are killed.
        halted: set[int] = set()
        while new := _descendants() - halted:
            _signal(new, signal.SIGSTOP)
            halted |= new
        _signal(halted, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _signal(processes: set[int], number: int) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _descendants() -> set[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, parent = entry.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(entry.parent.name)] = int(parent)
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def _confine(task: dict[str, Any]) -> None:
    """Let this process, and all that it becomes, see only what the task names."""
    version = _syscall(_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return  # a kernel without it
    known = max(rights for since, rights in _RIGHTS.items() if since <= version)
    net = 0b11 if version >= 4 and not task["network"] else 0  # noqa: PLR2004 - binding, connecting
    scoped = 0b11 if version >= 6 else 0  # noqa: PLR2004 - abstract sockets, signals
    attributes = (ctypes.c_uint64 * 3)(known, net, scoped)
    size = 24 if version >= 6 else 16 if version >= 4 else 8  # noqa: PLR2004 - of what it knows
    ruleset = _syscall(_CREATE_RULESET, ctypes.byref(attributes), size, 0)
    for path in task["readable"]:
        _allow(ruleset, path, _READ & known)
    for path in task["writable"]:
        _allow(ruleset, path, known)
    _prctl(_NO_NEW_PRIVS, 1)
    if ruleset < 0 or _syscall(_RESTRICT_SELF, ruleset, 0) < 0:
        raise OSError(0, "The command could not be confined")


def _allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(OSError):  # what is not there need not be allowed
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        folder = Path(path).is_dir()
        rule = _Rule(rights if folder else rights & _ON_FILES, fd)
        _syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0)
        os.close(fd)


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _syscall(number: int, *arguments: Any) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(ctypes.c_long(number), *arguments))


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
