"""A program that runs one command and leaves nothing of it behind.

It is started in a process of its own, with Python's standard library and nothing else, and reads
what to do from the descriptor that it is told:

    python -E -s -S keeper.py 5 5<<<'{"command": ["/bin/ls"], "directory": 6, …}'

Whatever the command starts ends with it. Where Linux lets us, the command gets a world of processes
of its own, which the kernel ends as one; elsewhere orphans come to this process, which kills them.
It ends with its parent, too. What else the command may see and do is said in `confinement`.
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
from typing import Any, NoReturn

import confinement  # type: ignore[import-not-found]  # it lies beside this file

_LINUX = sys.platform == "linux"
_PDEATHSIG, _SUBREAPER = 1, 36
# What the kernel sends when whoever started us is gone. It comes with the end of a thread already,
# when the process still has its number for a moment; so having heard it counts, too.
_ORPHANED = signal.SIGHUP
_STOPS = (signal.SIGTERM, signal.SIGINT, _ORPHANED)
_heard: list[int] = []
# How much longer than its grace a command's world may take to end.
_SLACK = 1.0


def main() -> None:
    """Run the command that the task describes, and report how it ended."""
    # All of them wait until they are asked for, so none can come at a bad moment.
    signal.pthread_sigmask(signal.SIG_BLOCK, [*_STOPS, signal.SIGCHLD])
    if _LINUX:
        _prctl(_SUBREAPER, 1)
        _prctl(_PDEATHSIG, _ORPHANED)
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        task: dict[str, Any] = json.load(file)
    if os.getppid() != task["parent"]:
        pass  # whoever wanted it is gone
    elif _LINUX and confinement.new_processes(confined=task["confined"]):
        _in_a_world(task)
    else:
        _run(task)
        _clear()
    gone = _ORPHANED in _heard or os.getppid() != task["parent"]
    if task["scratch"] and gone:  # nobody else would remove it
        import shutil

        shutil.rmtree(task["scratch"], ignore_errors=True)


def _in_a_world(task: dict[str, Any]) -> None:
    """Run the command under a first process, with whose end the kernel ends all others."""
    lives, ours = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(ours)
        _prctl(_PDEATHSIG, signal.SIGKILL)
        os.set_blocking(lives, False)
        with contextlib.suppress(BlockingIOError):
            os._exit(len(os.read(lives, 1)))  # we are orphaned already
        _run(task)
        os._exit(0)
    os.close(lives)
    _let_go(task)
    until = None
    while os.waitpid(first, os.WNOHANG)[0] == 0:
        left = 60.0 if until is None else until - time.monotonic()
        if left <= 0:
            os.kill(first, signal.SIGKILL)
        heard = signal.sigtimedwait([*_STOPS, signal.SIGCHLD], max(left, 0.01))
        if heard and heard.si_signo in _STOPS:
            _heard.append(heard.si_signo)
        if _heard and until is None:
            os.kill(first, signal.SIGTERM)
            until = time.monotonic() + task["grace"] + _SLACK


def _run(task: dict[str, Any]) -> None:
    """Run the command, and report how it ended."""
    me = os.getpid()
    child = os.fork()
    if child == 0:
        _become(task, me)
    _let_go(task)
    status = _awaited(child, task["grace"])
    with contextlib.suppress(OSError):
        os.write(task["report"], json.dumps(status).encode())


def _let_go(task: dict[str, Any]) -> None:
    """Close what only the command reads and writes: it ends then for who is at the other end."""
    for fd in (task["directory"], task["secret"], 0, 1, 2):
        with contextlib.suppress(OSError):
            os.close(fd)


def _become(task: dict[str, Any], keeper: int) -> NoReturn:
    """Turn into the command, with nothing but what it needs."""
    try:
        os.setsid()
        for name, most in task["limits"].items():
            resource.setrlimit(getattr(resource, name), (most, most))
        os.fchdir(task["directory"])
        if _LINUX and task["confined"]:
            confinement.weaken()
        if task["user"]:
            _step_down(**task["user"])
        if _LINUX:  # afterwards, since another user's process would forget it
            _prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(127)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        if _LINUX and task["confined"]:
            confinement.confine(task)
        first = _handed_on(task["secret"])
        used = (task["directory"], task["report"], task["secret"])
        os.closerange(first, max(256, *(fd + 1 for fd in used)))
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
    while (heard := signal.sigwait([*_STOPS, signal.SIGCHLD])) == signal.SIGCHLD:
        done = -1
        while done != 0:
            done, status = os.waitpid(-1, os.WNOHANG)
            if done == child:
                return {"code": os.waitstatus_to_exitcode(status)}
    _heard.append(heard)
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


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
