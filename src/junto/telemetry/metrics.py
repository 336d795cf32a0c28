"""The numbers that Junto keeps, for Prometheus to collect."""

from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class ToolMetrics:
    """How often each tool was called, how that ended, and how long it took."""

    calls: Counter
    duration: Histogram

    @classmethod
    def on(cls, registry: CollectorRegistry) -> "ToolMetrics":
        """Register the metrics of tools."""
        return cls(
            calls=Counter(
                "mcp_tool_calls_total",
                "Calls of a tool, by outcome: ok, or the error's code.",
                ["tool", "outcome"],
                registry=registry,
            ),
            duration=Histogram(
                "mcp_tool_call_duration_seconds",
                "How long calls of a tool took.",
                ["tool"],
                registry=registry,
            ),
        )

    def record(self, tool: str, outcome: str, seconds: float) -> None:
        """Count one call."""
        self.calls.labels(tool, outcome).inc()
        self.duration.labels(tool).observe(seconds)


@dataclass(frozen=True, slots=True)
class Metrics:
    """Everything that is counted, and how to write it down."""

    tools: ToolMetrics
    exposition: Callable[[], bytes]

    @classmethod
    def new(cls) -> "Metrics":
        """Start counting at zero, apart from every other Junto in this process."""
        registry = CollectorRegistry()
        return cls(tools=ToolMetrics.on(registry), exposition=lambda: generate_latest(registry))
