"""Prometheus metrics."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from junto.version import __version__

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

EXPOSITION_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_RUN_SECONDS_BUCKETS = (1.0, 5.0, 15.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
_RUN_TURNS_BUCKETS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMetrics:
    """Metrics about model requests."""

    requests: "Counter"
    input_tokens: "Counter"
    output_tokens: "Counter"
    errors: "Counter"
    latency: "Histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMetrics:
    """Metrics about agent runs."""

    runs: "Counter"
    active_runs: "Gauge"
    cost: "Counter"
    duration: "Histogram"
    turns: "Histogram"


@dataclass(frozen=True)
class Metrics:
    """All metrics of one Junto instance, in a registry of their own.

    prometheus_client is imported with the first metric, to keep startup fast.
    """

    @cached_property
    def registry(self) -> "CollectorRegistry":
        """Return the registry that holds all metrics."""
        from prometheus_client import CollectorRegistry, Gauge

        registry = CollectorRegistry()
        help_text = "Always 1; the label tells which Junto this is."
        Gauge("junto_info", help_text, ["version"], registry=registry).labels(__version__).set(1)
        return registry

    @cached_property
    def _tool_calls(self) -> "Counter":
        from prometheus_client import Counter

        return Counter(
            "mcp_tool_calls_total",
            "Calls of a tool, by outcome: ok, or the error's code.",
            ["tool", "outcome"],
            registry=self.registry,
        )

    @cached_property
    def _tool_call_duration(self) -> "Histogram":
        from prometheus_client import Histogram

        return Histogram(
            "mcp_tool_call_duration_seconds",
            "How long calls of a tool took.",
            ["tool"],
            registry=self.registry,
        )

    @cached_property
    def _jobs(self) -> "tuple[Gauge, Counter]":
        from prometheus_client import Counter, Gauge

        return (
            Gauge("junto_jobs", "Jobs that have not ended.", ["tool"], registry=self.registry),
            Counter(
                "junto_jobs_ended_total",
                "Jobs that have ended, by their state.",
                ["tool", "state"],
                registry=self.registry,
            ),
        )

    @cached_property
    def _agent(self) -> "AgentMetrics":
        from prometheus_client import Counter, Gauge, Histogram

        def build_histogram(name: str, help_text: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(name, help_text, registry=self.registry, buckets=buckets)

        return AgentMetrics(
            runs=Counter(
                "agent_runs_total",
                "Runs of Claude Code, by how they ended: ok, or the error's code.",
                ["status"],
                registry=self.registry,
            ),
            active_runs=Gauge("agent_running", "Runs under way.", registry=self.registry),
            cost=Counter("agent_cost_usd_total", "Dollars spent by runs.", registry=self.registry),
            duration=build_histogram(
                "agent_run_duration_seconds", "How long runs took.", _RUN_SECONDS_BUCKETS
            ),
            turns=build_histogram("agent_run_turns", "Turns that runs took.", _RUN_TURNS_BUCKETS),
        )

    def record_run_start(self) -> None:
        """Record that an agent run has started."""
        self._agent.active_runs.inc()

    def record_run_end(self, status: str, seconds: float, turns: int, dollars: float) -> None:
        """Record that an agent run has ended."""
        metrics = self._agent
        metrics.active_runs.dec()
        metrics.runs.labels(status).inc()
        metrics.duration.observe(seconds)
        metrics.turns.observe(turns)
        metrics.cost.inc(dollars)

    @cached_property
    def _models(self) -> "ModelMetrics":
        from prometheus_client import Counter, Histogram

        def build_counter(name: str, help_text: str, *labels: str) -> Counter:
            return Counter(name, help_text, labels, registry=self.registry)

        # Metric names are kept from an earlier system that only supported Claude; the `provider`
        # label tells providers apart.
        return ModelMetrics(
            requests=build_counter(
                "claude_requests_total", "Answers of models.", "provider", "model"
            ),
            input_tokens=build_counter(
                "claude_tokens_input_total", "Tokens that went in.", "provider", "model"
            ),
            output_tokens=build_counter(
                "claude_tokens_output_total", "Tokens that came out.", "provider", "model"
            ),
            errors=build_counter(
                "claude_errors_total", "Failures, by their code.", "provider", "type"
            ),
            latency=Histogram(
                "claude_request_latency_seconds",
                "How long answers took.",
                ["provider", "model"],
                registry=self.registry,
            ),
        )

    def record_model_answer(
        self, provider: str, model: str, input_tokens: int, output_tokens: int, seconds: float
    ) -> None:
        """Record one answer of a model."""
        metrics = self._get_model_metrics(provider, model)
        metrics.requests.inc()
        metrics.input_tokens.inc(input_tokens)
        metrics.output_tokens.inc(output_tokens)
        metrics.latency.observe(seconds)

    @cached_property
    def _metrics_by_model(self) -> dict[tuple[str, str], "ModelMetrics"]:
        return {}  # cached per model, because looking up labels is slow

    def _get_model_metrics(self, provider: str, model: str) -> "ModelMetrics":
        if (provider, model) not in self._metrics_by_model:
            unlabeled = self._models
            self._metrics_by_model[provider, model] = ModelMetrics(
                requests=unlabeled.requests.labels(provider, model),
                input_tokens=unlabeled.input_tokens.labels(provider, model),
                output_tokens=unlabeled.output_tokens.labels(provider, model),
                errors=unlabeled.errors,
                latency=unlabeled.latency.labels(provider, model),
            )
        return self._metrics_by_model[provider, model]

    def record_model_error(self, provider: str, code: str) -> None:
        """Record one failed request to a model."""
        self._models.errors.labels(provider, code).inc()

    def record_tool_call(self, tool: str, outcome: str, seconds: float) -> None:
        """Record one tool call."""
        self._tool_calls.labels(tool, outcome).inc()
        self._tool_call_duration.labels(tool).observe(seconds)

    def record_job_start(self, tool: str) -> None:
        """Record that a job has started."""
        self._jobs[0].labels(tool).inc()

    def record_job_end(self, tool: str, state: str) -> None:
        """Record that a job has ended."""
        self._jobs[0].labels(tool).dec()
        self._jobs[1].labels(tool, state).inc()

    def render_exposition(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)
