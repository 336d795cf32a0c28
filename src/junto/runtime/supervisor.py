"""A program that runs one command and stops all of its descendants.

It runs in a process of its own, with only Python's standard library, and reads its task (a
`ProcessSpec` as JSON) from the descriptor given as its argument:

    python -E -s -S supervisor.py 5 5<<<'{"command": ["/bin/ls"], "directory": 6, …}'

When the command exits, so does everything that it started. Where Linux permits, the command gets a
PID namespace, whose processes the kernel kills together; otherwise this process adopts orphans as
a subreaper and kills them. It also exits when its parent does. `sandbox` restricts what the command
can access.
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

import sandbox  # type: ignore[import-not-found]  # in the same directory as this script

_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
# Sent by the kernel when the parent dies. The kernel sends it when the parent's thread exits, at
# which time getppid() may still return the parent's pid; so receiving it also means being orphaned.
_ORPHAN_SIGNAL = signal.SIGHUP
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, _ORPHAN_SIGNAL)
_received_signals: list[int] = []
# Seconds beyond the grace period before the PID namespace is killed.
_EXTRA_GRACE_SECONDS = 1.0


def main() -> None:
    """Run the command of the task, report its exit status and clean up."""
    # Signals are blocked and read with sigwait, so that none arrives at a bad moment.
    signal.pthread_sigmask(signal.SIG_BLOCK, [*_STOP_SIGNALS, signal.SIGCHLD])
    if _LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _prctl(_PR_SET_PDEATHSIG, _ORPHAN_SIGNAL)
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        task: dict[str, Any] = json.load(file)
    if os.getppid() != task["parent"]:
        pass  # the parent is gone already
    elif _LINUX and sandbox.unshare_pid_namespace(confined=task["confined"]):
        _run_in_pid_namespace(task)
    else:
        _run(task)
        _kill_descendants()
    is_orphaned = _ORPHAN_SIGNAL in _received_signals or os.getppid() != task["parent"]
    if task["scratch"] and is_orphaned:  # the parent cannot remove it anymore
        import shutil

        shutil.rmtree(task["scratch"], ignore_errors=True)


def _run_in_pid_namespace(task: dict[str, Any]) -> None:
    """Run the command under an init process; when that exits, the kernel kills the others."""
    alive_read_fd, alive_write_fd = os.pipe()
    init_pid = os.fork()
    if init_pid == 0:
        os.close(alive_write_fd)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.set_blocking(alive_read_fd, False)
        with contextlib.suppress(BlockingIOError):
            os._exit(len(os.read(alive_read_fd, 1)))  # end of file: the supervisor is gone already
        _run(task)
        os._exit(0)
    os.close(alive_read_fd)
    _close_command_fds(task)
    deadline = None
    while os.waitpid(init_pid, os.WNOHANG)[0] == 0:
        timeout = 60.0 if deadline is None else deadline - time.monotonic()
        if timeout <= 0:
            os.kill(init_pid, signal.SIGKILL)
        info = signal.sigtimedwait([*_STOP_SIGNALS, signal.SIGCHLD], max(timeout, 0.01))
        if info and info.si_signo in _STOP_SIGNALS:
            _received_signals.append(info.si_signo)
        if _received_signals and deadline is None:
            os.kill(init_pid, signal.SIGTERM)
            deadline = time.monotonic() + task["grace"] + _EXTRA_GRACE_SECONDS


def _run(task: dict[str, Any]) -> None:
    """Run the command and report its exit status."""
    supervisor_pid = os.getpid()
    child_pid = os.fork()
    if child_pid == 0:
        _exec_command(task, supervisor_pid)
    _close_command_fds(task)
    status = _wait_for_command(child_pid, task["grace"])
    with contextlib.suppress(OSError):
        os.write(task["report"], json.dumps(status).encode())


def _close_command_fds(task: dict[str, Any]) -> None:
    """Close the command's descriptors, so that the other end sees end of file when it exits."""
    for fd in (task["directory"], task["secret"], 0, 1, 2):
        with contextlib.suppress(OSError):
            os.close(fd)


def _exec_command(task: dict[str, Any], supervisor_pid: int) -> NoReturn:
    """Set up this process for the command and replace it with the command."""
    try:
        os.setsid()
        for name, limit in task["limits"].items():
            resource.setrlimit(getattr(resource, name), (limit, limit))
        os.fchdir(task["directory"])
        if _LINUX and task["confined"]:
            sandbox.drop_capabilities()
        if task["user"]:
            _switch_user(**task["user"])
        if _LINUX:  # after switching users, which clears it
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor_pid:
            os._exit(127)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        if _LINUX and task["confined"]:
            sandbox.apply_sandbox(task)
        first_unused_fd = _pass_secret(task["secret"])
        task_fds = (task["directory"], task["report"], task["secret"])
        os.closerange(first_unused_fd, max(256, *(fd + 1 for fd in task_fds)))
        os.execve(task["command"][0], task["command"], task["environment"])  # noqa: S606
    except OSError as error:
        os.write(2, f"{error.strerror}\n".encode())
    finally:
        os._exit(127)


def _pass_secret(secret_fd: int) -> int:
    """Pass the secret to the command as descriptor 3; return the first descriptor to close."""
    if secret_fd < 0:
        return 3
    os.dup2(secret_fd, 3)
    return 4


def _switch_user(uid: int, gid: int, groups: list[int]) -> None:
    os.setgroups(groups)
    os.setgid(gid)
    os.setuid(uid)


def _wait_for_command(child_pid: int, grace: float) -> dict[str, Any]:
    """Wait until the command exits or a stop signal arrives; return the report."""
    while (signum := signal.sigwait([*_STOP_SIGNALS, signal.SIGCHLD])) == signal.SIGCHLD:
        pid = -1
        while pid != 0:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child_pid:
                return {"code": os.waitstatus_to_exitcode(status)}
    _received_signals.append(signum)
    _terminate(child_pid, grace)
    return {"stopped": True}


def _terminate(child_pid: int, grace: float) -> None:
    """Send SIGTERM to the command and wait up to `grace` seconds."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child_pid, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        try:
            if os.waitpid(child_pid, os.WNOHANG)[0]:
                return
        except ChildProcessError:
            return
        time.sleep(0.01)


def _kill_descendants() -> None:
    """Kill all remaining descendants, including those that are reparented to this process."""
    while True:
        # Stop all of them first, or a fork bomb would fork faster than it is killed.
        stopped: set[int] = set()
        while new := _find_descendants() - stopped:
            _send_signal(new, signal.SIGSTOP)
            stopped |= new
        _send_signal(stopped, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _send_signal(pids: set[int], signum: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)


def _find_descendants() -> set[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, parent = entry.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(entry.parent.name)] = int(parent)
    tree = {os.getpid()}
    while children := {pid for pid, parent in parents.items() if parent in tree} - tree:
        tree |= children
    return tree - {os.getpid()}


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
