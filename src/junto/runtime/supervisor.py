"""A program that runs one command and stops all of its descendants.

It runs in a process of its own, with only Python's standard library, and reads its task (a
`ProcessSpec` as JSON) from the descriptor given as its argument:

    python -E -s -S supervisor.py 5 5<<<'{"command": ["/bin/ls"], "directory": 6, …}'

When the command exits, so does everything that it started. Where Linux permits, the command gets a
PID namespace, whose processes the kernel kills together; otherwise this process adopts orphans as
a subreaper and kills them. It also exits when its parent does. `namespaces` and `sandbox` restrict
what the command can access, `tree_limits` how much it and its descendants can use.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import stat
import sys
import time
from typing import Any, NoReturn

# In the same directory as this script.
import namespaces  # type: ignore[import-not-found]
import sandbox  # type: ignore[import-not-found]
import tree_limits  # type: ignore[import-not-found]

_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
# Sent by the kernel when the parent dies. The kernel sends it when the parent's thread exits, at
# which time getppid() may still return the parent's pid; so receiving it also means being orphaned.
_ORPHAN_SIGNAL = signal.SIGHUP
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, _ORPHAN_SIGNAL)
_received_signals: list[int] = []
# Seconds beyond the grace period before the PID namespace is killed.
_EXTRA_GRACE_SECONDS = 1.0
# How often the limits of the tree are checked, and how long to wait without any.
_CHECK_SECONDS, _IDLE_SECONDS = 0.1, 60.0


def main() -> None:
    """Run the command of the task, report its exit status and clean up."""
    # Signals are blocked and read with sigwait, so that none arrives at a bad moment.
    signal.pthread_sigmask(signal.SIG_BLOCK, [*_STOP_SIGNALS, signal.SIGCHLD])
    if _LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _prctl(_PR_SET_PDEATHSIG, _ORPHAN_SIGNAL)
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        task: dict[str, Any] = json.load(file)
    if os.getppid() == task["parent"]:  # otherwise, the parent is gone already
        limits = tree_limits.TreeLimits.from_task(task) if _LINUX else None
        # Without the sandbox, the command reads the host's /proc, which would show other pids.
        if _LINUX and task["confined"] and namespaces.unshare_pid_namespace():
            _run_in_pid_namespace(task, limits)
        else:
            try:
                _run(task, limits)
            finally:
                _kill_descendants()
                if limits:
                    limits.close()
    is_orphaned = _ORPHAN_SIGNAL in _received_signals or os.getppid() != task["parent"]
    if task["scratch"] and is_orphaned:  # the parent cannot remove it anymore
        import shutil

        shutil.rmtree(task["scratch"], ignore_errors=True)


def _run_in_pid_namespace(task: dict[str, Any], limits: tree_limits.TreeLimits | None) -> None:
    """Run the command under an init process; when that exits, the kernel kills the others."""
    alive_read_fd, alive_write_fd = os.pipe()
    init_pid = os.fork()
    if init_pid == 0:
        os.close(alive_write_fd)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.set_blocking(alive_read_fd, False)
        with contextlib.suppress(BlockingIOError):
            os._exit(len(os.read(alive_read_fd, 1)))  # end of file: the supervisor is gone already
        _run(task, limits, is_init=True)
        os._exit(0)
    os.close(alive_read_fd)
    _close_command_fds(task)
    exceeded = _watch_init(init_pid, task["grace"], limits)
    if limits:
        exceeded = limits.close() or exceeded
    if exceeded:
        _report(task, {"exceeded": exceeded})


def _watch_init(init_pid: int, grace: float, limits: tree_limits.TreeLimits | None) -> str | None:
    """Wait for the init process, pass on stop signals, and return the limit that ended it."""
    deadline, exceeded = None, None
    while os.waitpid(init_pid, os.WNOHANG)[0] == 0:
        timeout = _CHECK_SECONDS if limits else _IDLE_SECONDS
        if deadline is not None:
            timeout = deadline - time.monotonic()
        if timeout <= 0:
            os.kill(init_pid, signal.SIGKILL)
        info = signal.sigtimedwait([*_STOP_SIGNALS, signal.SIGCHLD], max(timeout, 0.01))
        if info and info.si_signo in _STOP_SIGNALS:
            _received_signals.append(info.si_signo)
        if _received_signals and deadline is None:
            os.kill(init_pid, signal.SIGTERM)
            deadline = time.monotonic() + grace + _EXTRA_GRACE_SECONDS
        if limits and not exceeded and (exceeded := limits.find_excess(init_pid)):
            os.kill(init_pid, signal.SIGKILL)
    return exceeded


def _run(
    task: dict[str, Any], limits: tree_limits.TreeLimits | None, *, is_init: bool = False
) -> None:
    """Run the command and report its exit status."""
    supervisor_pid = os.getpid()
    try:
        mounts_read_only = is_init and namespaces.isolate(task)
    except OSError as error:
        os.write(2, f"{error.strerror}\n".encode())
        _report(task, {"code": 127})
        return
    child_pid = os.fork()
    if child_pid == 0:
        group = limits.group if limits else None
        _exec_command(task, supervisor_pid, group, mounts_read_only=mounts_read_only)
    _close_command_fds(task)
    _report(task, _wait_for_command(child_pid, task["grace"], None if is_init else limits))


def _report(task: dict[str, Any], status: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        os.write(task["report"], json.dumps(status).encode() + b"\n")


def _close_command_fds(task: dict[str, Any]) -> None:
    """Close the command's descriptors, so that the other end sees end of file when it exits."""
    for fd in (task["directory"], task["secret"], 0, 1, 2):
        with contextlib.suppress(OSError):
            os.close(fd)


def _exec_command(
    task: dict[str, Any],
    supervisor_pid: int,
    group: tree_limits.ControlGroup | None,
    *,
    mounts_read_only: bool,
) -> NoReturn:
    """Set up this process for the command and replace it with the command."""
    try:
        if group:
            group.join()
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
        _close_stdin()
        if _LINUX:
            _restrict(task, mounts_read_only=mounts_read_only, memory_counted=group is not None)
        first_unused_fd = _pass_secret(task["secret"])
        task_fds = (task["directory"], task["report"], task["secret"])
        os.closerange(first_unused_fd, max(256, *(fd + 1 for fd in task_fds)))
        os.execve(task["command"][0], task["command"], task["environment"])  # noqa: S606
    except OSError as error:
        os.write(2, f"{error.strerror}\n".encode())
    finally:
        os._exit(127)


def _restrict(task: dict[str, Any], *, mounts_read_only: bool, memory_counted: bool) -> None:
    if task["confined"]:
        sandbox.apply_sandbox(
            task, mounts_read_only=mounts_read_only, memory_counted=memory_counted
        )
    elif task["max_processes"] == 1:
        sandbox.forbid_spawning(task)


def _close_stdin() -> None:
    """Replace the null device, whose mode could be changed through it, by an empty pipe."""
    if not stat.S_ISCHR(os.fstat(0).st_mode):
        return
    read_fd, write_fd = os.pipe()
    os.dup2(read_fd, 0)
    os.close(read_fd)
    os.close(write_fd)


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


def _wait_for_command(
    child_pid: int, grace: float, limits: tree_limits.TreeLimits | None
) -> dict[str, Any]:
    """Wait until the command exits, exceeds a limit or a stop signal arrives; return the report."""
    signals = [*_STOP_SIGNALS, signal.SIGCHLD]
    while True:
        if limits:
            info = signal.sigtimedwait(signals, _CHECK_SECONDS)
            signum = info.si_signo if info else signal.SIGCHLD
        else:
            signum = signal.sigwait(signals)
        if signum != signal.SIGCHLD:
            _received_signals.append(signum)
            _terminate(child_pid, grace)
            return {"stopped": True}
        pid = -1
        while pid != 0:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child_pid:
                return {"code": os.waitstatus_to_exitcode(status)}
        if limits and (exceeded := limits.find_excess(os.getpid())):
            return {"exceeded": exceeded}


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
        while new := tree_limits.find_descendants(os.getpid()) - stopped:
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


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
