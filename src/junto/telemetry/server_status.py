"""Version and uptime of the running server."""

import time
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """Version and uptime of the running server."""

    version: str
    started_at: float = field(default_factory=time.monotonic)

    def report(self) -> dict[str, Any]:
        """Return the current status."""
        return {
            "status": "ok",
            "version": self.version,
            "uptimeSeconds": round(time.monotonic() - self.started_at),
        }
