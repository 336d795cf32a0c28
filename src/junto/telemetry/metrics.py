"""The numbers that Junto keeps, for Prometheus to collect."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class Metrics:
    """Everything that is counted, from zero and apart from every other Junto in this process.

    The library is imported with the first number: a start should not wait for it.
    """

    @cached_property
    def registry(self) -> "CollectorRegistry":
        """Return where all numbers are registered."""
        from prometheus_client import CollectorRegistry

        return CollectorRegistry()

    @cached_property
    def _calls(self) -> "Counter":
        from prometheus_client import Counter

        return Counter(
            "mcp_tool_calls_total",
            "Calls of a tool, by outcome: ok, or the error's code.",
            ["tool", "outcome"],
            registry=self.registry,
        )

    @cached_property
    def _duration(self) -> "Histogram":
        from prometheus_client import Histogram

        return Histogram(
            "mcp_tool_call_duration_seconds",
            "How long calls of a tool took.",
            ["tool"],
            registry=self.registry,
        )

    def tool_called(self, tool: str, outcome: str, seconds: float) -> None:
        """Count one call of a tool."""
        self._calls.labels(tool, outcome).inc()
        self._duration.labels(tool).observe(seconds)

    def exposition(self) -> bytes:
        """Return all numbers as Prometheus reads them."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)
