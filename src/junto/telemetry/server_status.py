"""How the server is, and how it is set up, as resources."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from junto.tools.resources import Resource


@dataclass(frozen=True, slots=True)
class Status:
    """What is known about the health of a running server."""

    version: str
    started: float = field(default_factory=time.monotonic)

    def report(self) -> dict[str, Any]:
        """Return it as it stands now."""
        return {
            "status": "ok",
            "version": self.version,
            "uptimeSeconds": round(time.monotonic() - self.started),
        }


def health_resource(status: Status) -> Resource:
    """Return the resource that shows `status`."""

    async def read() -> str:
        return json.dumps(status.report(), indent=2)

    return Resource(
        uri="status://health",
        name="health",
        title="Health",
        description="Whether the server is well, its version, and how long it has been up.",
        read=read,
    )


def config_resource(settings: Mapping[str, Any]) -> Resource:
    """Return the resource that shows `settings`, which must hold no secrets."""

    async def read() -> str:
        return json.dumps(settings, indent=2)

    return Resource(
        uri="config://server",
        name="configuration",
        title="Configuration",
        description="Every setting in force and where it comes from; secrets are masked.",
        read=read,
    )
