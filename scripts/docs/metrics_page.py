"""Writes docs/reference/metrics.md: every number that is kept, from the registry itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from prometheus_client.metrics import MetricWrapperBase

from junto.telemetry.metrics import Metrics

_HEAD = """\
# Metrics

`junto serve` and `junto start` show their numbers at `/metrics`, for Prometheus to collect. They count from zero
with each process, and carry no text that a caller has sent. (`junto mcp` has no port, so nobody can collect
from it; its [audit log](logs.md) has the same facts, call by call.)

```yaml
scrape_configs:
  - job_name: junto
    static_configs:
      - targets: ["127.0.0.1:32701"]
```

The names that begin with `claude_` are those of an earlier system, which knew one provider; here they count all of
them, and the label `provider` tells which.

| metric | kind | labels | counts |
|---|---|---|---|
"""
_TAIL = """
`outcome` is `ok`, or the code of an [error](errors.md), or `ProtocolError` or `Crash`; so are `status` and
`type`. `state` is that of a [job](../explanation/jobs.md#states).

## Questions

Calls a second, by tool:

```promql
sum by (tool) (rate(mcp_tool_calls_total[5m]))
```

The part of calls that fails:

```promql
sum(rate(mcp_tool_calls_total{outcome!="ok"}[5m])) / sum(rate(mcp_tool_calls_total[5m]))
```

How long 95 of 100 answers of each model take at the most:

```promql
histogram_quantile(0.95, sum by (model, le) (rate(claude_request_latency_seconds_bucket[15m])))
```

Tokens that came out today, by provider:

```promql
sum by (provider) (increase(claude_tokens_output_total[24h]))
```

Whether a provider refuses us for asking too often:

```promql
sum by (provider) (rate(claude_errors_total{type="RateLimited"}[5m])) > 0
```

What Claude Code has cost in a week, and jobs that are lost (a server was killed):

```promql
increase(agent_cost_usd_total[7d])
increase(junto_jobs_ended_total{state="lost"}[1h]) > 0
```
"""


@dataclass(frozen=True, slots=True)
class Number:
    name: str
    kind: str
    labels: tuple[str, ...]
    about: str


def metrics_page() -> str:
    rows = (
        f"| `{each.name}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels)} | {each.about} |\n"
        for each in numbers()
    )
    return _HEAD + "".join(rows) + _TAIL


def numbers() -> Iterator[Number]:
    """Yield every number, once all of them have been made."""
    metrics = Metrics()
    for name, value in vars(Metrics).items():
        if isinstance(value, cached_property):
            getattr(metrics, name)
    for collector in metrics.registry._collector_to_names:
        assert isinstance(collector, MetricWrapperBase)
        [family] = collector.describe()
        ending = "_total" if family.type == "counter" else ""
        yield Number(
            family.name + ending,
            family.type,
            collector._labelnames,
            family.documentation,
        )
