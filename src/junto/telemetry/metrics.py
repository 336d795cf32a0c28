"""The numbers that Junto keeps, for Prometheus to collect."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from junto import __version__

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelNumbers:
    """What is counted about models."""

    requests: "Counter"
    input_tokens: "Counter"
    output_tokens: "Counter"
    errors: "Counter"
    latency: "Histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentNumbers:
    """What is counted about runs of the agent."""

    runs: "Counter"
    running: "Gauge"
    cost: "Counter"
    duration: "Histogram"
    turns: "Histogram"


_RUN_SECONDS = (1.0, 5.0, 15.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
_RUN_TURNS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)


@dataclass(frozen=True)
class Metrics:
    """Everything that is counted, from zero and apart from every other Junto in this process.

    The library is imported with the first number: a start should not wait for it.
    """

    @cached_property
    def registry(self) -> "CollectorRegistry":
        """Return where all numbers are registered."""
        from prometheus_client import CollectorRegistry, Gauge

        registry = CollectorRegistry()
        about = "Always 1; the label tells which Junto this is."
        Gauge("junto_info", about, ["version"], registry=registry).labels(__version__).set(1)
        return registry

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
    def _agent(self) -> "AgentNumbers":
        from prometheus_client import Counter, Gauge, Histogram

        def histogram(name: str, about: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(name, about, registry=self.registry, buckets=buckets)

        return AgentNumbers(
            runs=Counter(
                "agent_runs_total",
                "Runs of Claude Code, by how they ended: ok, or the error's code.",
                ["status"],
                registry=self.registry,
            ),
            running=Gauge("agent_running", "Runs under way.", registry=self.registry),
            cost=Counter("agent_cost_usd_total", "Dollars spent by runs.", registry=self.registry),
            duration=histogram("agent_run_duration_seconds", "How long runs took.", _RUN_SECONDS),
            turns=histogram("agent_run_turns", "Turns that runs took.", _RUN_TURNS),
        )

    def agent_began(self) -> None:
        """Count a run of the agent that is under way."""
        self._agent.running.inc()

    def agent_ended(self, status: str, seconds: float, turns: int, dollars: float) -> None:
        """Count a run of the agent that has ended."""
        numbers = self._agent
        numbers.running.dec()
        numbers.runs.labels(status).inc()
        numbers.duration.observe(seconds)
        numbers.turns.observe(turns)
        numbers.cost.inc(dollars)

    @cached_property
    def _models(self) -> "ModelNumbers":
        from prometheus_client import Counter, Histogram

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(name, about, labels, registry=self.registry)

        # The names are those of an earlier system, which knew one provider; the label tells which.
        return ModelNumbers(
            requests=counter("claude_requests_total", "Answers of models.", "provider", "model"),
            input_tokens=counter(
                "claude_tokens_input_total", "Tokens that went in.", "provider", "model"
            ),
            output_tokens=counter(
                "claude_tokens_output_total", "Tokens that came out.", "provider", "model"
            ),
            errors=counter("claude_errors_total", "Failures, by their code.", "provider", "type"),
            latency=Histogram(
                "claude_request_latency_seconds",
                "How long answers took.",
                ["provider", "model"],
                registry=self.registry,
            ),
        )

    def model_answered(
        self, provider: str, model: str, input_tokens: int, output_tokens: int, seconds: float
    ) -> None:
        """Count one answer of a model."""
        numbers = self._of_model(provider, model)
        numbers.requests.inc()
        numbers.input_tokens.inc(input_tokens)
        numbers.output_tokens.inc(output_tokens)
        numbers.latency.observe(seconds)

    @cached_property
    def _by_model(self) -> dict[tuple[str, str], "ModelNumbers"]:
        return {}  # as many as there are models; looking a label up takes its time

    def _of_model(self, provider: str, model: str) -> "ModelNumbers":
        if (provider, model) not in self._by_model:
            every = self._models
            self._by_model[provider, model] = ModelNumbers(
                requests=every.requests.labels(provider, model),
                input_tokens=every.input_tokens.labels(provider, model),
                output_tokens=every.output_tokens.labels(provider, model),
                errors=every.errors,
                latency=every.latency.labels(provider, model),
            )
        return self._by_model[provider, model]

    def model_failed(self, provider: str, code: str) -> None:
        """Count one failure of a model."""
        self._models.errors.labels(provider, code).inc()

    def tool_called(self, tool: str, outcome: str, seconds: float) -> None:
        """Count one call of a tool."""
        self._calls.labels(tool, outcome).inc()
        self._duration.labels(tool).observe(seconds)

    def job_began(self, tool: str) -> None:
        """Count one job more."""
        self._jobs[0].labels(tool).inc()

    def job_ended(self, tool: str, state: str) -> None:
        """Count one job less."""
        self._jobs[0].labels(tool).dec()
        self._jobs[1].labels(tool, state).inc()

    def exposition(self) -> bytes:
        """Return all numbers as Prometheus reads them."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)
