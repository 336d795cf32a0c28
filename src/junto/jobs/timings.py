"""The intervals and timeouts of the job service, its writer and its reaper."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTimings:
    """Intervals and timeouts of the job service. Unlike `JobLimits`, they are not settings."""

    # How often a server that has jobs looks for commands from other servers.
    poll_interval_seconds: float = 1.0
    heartbeat_interval_seconds: float = 5.0
    # How long `cancel` waits for the final state.
    cancel_timeout_seconds: float = 3.0
    # How long the shutdown waits for cancelled jobs to end.
    stop_timeout_seconds: float = 5.0
    # Timeout of a flush that a caller waits for.
    store_timeout_seconds: float = 2.0
    # Output since the last flush is lost if the process is killed.
    flush_interval_seconds: float = 0.5
    final_flush_timeout_seconds: float = 5.0
    # Keeps the first pass of the reaper from slowing down the startup.
    reap_delay_seconds: float = 3.0
    reap_interval_seconds: float = 60.0
    # A server without a marker on this machine is dead after this long without a heartbeat.
    dead_after_seconds: float = 30.0
