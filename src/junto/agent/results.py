"""The result of a run as callers see it, and the errors of failed runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from junto.agent.run_state import RunState, parse_count
from junto.domain.completions import Usage
from junto.domain.errors import (
    AuthenticationError,
    BudgetExceededError,
    ContextOverflowError,
    ExecutionError,
    JuntoError,
    NetworkError,
    NotFoundError,
    RateLimitedError,
)

_AUTH_STATUSES = (401, 403)
_STATUS_TOO_MANY_REQUESTS, _STATUS_OVERLOADED, _STATUS_NOT_FOUND = 429, 529, 404
_MIN_SERVER_ERROR_STATUS = 500
_NO_ANSWER_MESSAGE = "Claude Code ended without an answer."
# Phrases in the CLI's error messages when it cannot reach its model.
_NETWORK_ERROR_PHRASES = (
    "Connection error",
    "Unable to connect",
    "ECONNREFUSED",
    "fetch failed",
    "timed out",
)
_AUTH_ERROR_PHRASES = (
    "Invalid API key",
    "Please run /login",
    "authentication_error",
    "Not logged in",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The messages, duration, usage and outcome of a run."""

    session_id: str
    messages: tuple[Mapping[str, Any], ...]
    message_count: int
    truncated: bool
    duration_seconds: float
    usage: Mapping[str, Any]
    summary: str
    success: bool
    denied: tuple[str, ...] = ()
    usage_by_model: Mapping[str, Usage] = field(default_factory=dict)

    def to_dict(self, error: str | None = None) -> dict[str, Any]:
        """Return the JSON object that callers get."""
        return {
            "sessionId": self.session_id,
            "messages": list(self.messages),
            "messageCount": self.message_count,
            "truncated": self.truncated,
            "executionTime": round(self.duration_seconds * 1000),
            "usage": dict(self.usage),
            "result": {
                "success": self.success and error is None,
                "summary": self.summary,
                **({"error": error} if error else {}),
                **({"denied": list(self.denied)} if self.denied else {}),
            },
        }

    @property
    def turns(self) -> int:
        """The number of model calls."""
        return int(self.usage.get("turns", 0))

    @property
    def token_usage(self) -> Usage:
        """The token counts; input includes tokens read from and written to the cache."""
        input_fields = ("inputTokens", "cacheReadTokens", "cacheWriteTokens")
        return Usage(
            input_tokens=sum(self.usage.get(name, 0) for name in input_fields),
            output_tokens=self.usage.get("outputTokens", 0),
        )

    @property
    def cost_usd(self) -> float | None:
        """The cost of the run in US dollars, if known."""
        return self.usage.get("costUsd")


def build_result(state: RunState, session_id: str, duration_seconds: float) -> RunResult:
    """Build the result from the current state of a run."""
    result = state.last_result or {}
    return RunResult(
        session_id=session_id,
        messages=state.messages,
        message_count=state.message_count,
        truncated=state.message_count > len(state.messages),
        duration_seconds=duration_seconds,
        usage=_sum_usage(state),
        summary=str(result.get("result") or ""),
        success=bool(result) and not result.get("is_error"),
        denied=tuple(state.denied),
        usage_by_model=state.usage_by_model,
    )


def _sum_usage(state: RunState) -> dict[str, Any]:
    """Return the usage of this run: the CLI counts from its own start, not the session's."""
    if not state.last_result:
        return {}
    models = state.last_result.get("modelUsage")
    model_usages = [each for each in models.values() if isinstance(each, dict)] if models else []
    cli_names = {
        "inputTokens": "inputTokens",
        "outputTokens": "outputTokens",
        "cacheReadTokens": "cacheReadInputTokens",
        "cacheWriteTokens": "cacheCreationInputTokens",
    }
    usage: dict[str, Any] = {
        ours: sum(parse_count(each.get(theirs)) for each in model_usages)
        for ours, theirs in cli_names.items()
    }
    usage["turns"] = state.turn_count
    cost = state.last_result.get("total_cost_usd")
    return usage | {"costUsd": round(cost, 6)} if isinstance(cost, int | float) else usage


def build_result_error(result: Mapping[str, Any], stderr_tail: str) -> JuntoError | None:
    """Return the error of a failed run, or None if the run succeeded."""
    if result and not result.get("is_error") and result.get("subtype") == "success":
        return None
    message = (
        _extract_message(result) or stderr_tail.strip().rpartition("\n")[2] or _NO_ANSWER_MESSAGE
    )
    match result.get("subtype"):
        case "error_max_turns":
            return ExecutionError(
                "It took as many turns as it may (maxTurns) and was not done. Call again with its "
                "sessionId to go on."
            )
        case "error_max_budget_usd":
            return BudgetExceededError(
                "It cost as much as it may (maxBudgetUsd) and was not done. Call again with its "
                "sessionId to go on."
            )
    return _build_status_error(result.get("api_error_status"), message)


def _build_status_error(status: Any, message: str) -> JuntoError:
    if status in _AUTH_STATUSES or any(phrase in message for phrase in _AUTH_ERROR_PHRASES):
        return AuthenticationError(
            f"Claude Code's key was not accepted ({message}). Check ANTHROPIC_API_KEY "
            "(providers.anthropic.api_key), then start Junto again."
        )
    if status in (_STATUS_TOO_MANY_REQUESTS, _STATUS_OVERLOADED):
        return RateLimitedError(f"Claude Code's model has no room now: {message} Try again later.")
    if status == _STATUS_NOT_FOUND:
        return NotFoundError(
            f"Claude Code's model was not found ({message}). Leave `model` out, or name another."
        )
    if (status or 0) >= _MIN_SERVER_ERROR_STATUS or any(
        phrase in message for phrase in _NETWORK_ERROR_PHRASES
    ):
        return NetworkError(f"Claude Code did not reach its model: {message} Try again later.")
    if "too long" in message:
        return ContextOverflowError(f"{message} Start a new session.")
    return ExecutionError(f"Claude Code failed: {message}")


def _extract_message(result: Mapping[str, Any]) -> str:
    errors = result.get("errors") or []
    if errors:
        return "; ".join(str(each) for each in errors)
    return str(result.get("result") or "").strip()
