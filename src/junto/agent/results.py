"""What comes of a run: the bundle that a caller gets, and the failures that carry it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from junto.agent.course import Course, number
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
from junto.domain.questions import Usage

_REFUSED = (401, 403)
_TOO_MANY, _OVERLOADED, _NOT_FOUND = 429, 529, 404
_SERVER_FAULTS = 500
_NOT_SAID = "Claude Code ended without an answer."
# How the program says that it never reached its model.
_UNREACHED = ("Connection error", "Unable to connect", "ECONNREFUSED", "fetch failed", "timed out")
_NO_KEY = ("Invalid API key", "Please run /login", "authentication_error", "Not logged in")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """What a run said and did, how long it took, and what it used."""

    session_id: str
    messages: tuple[Mapping[str, Any], ...]
    message_count: int
    truncated: bool
    seconds: float
    usage: Mapping[str, Any]
    summary: str
    success: bool
    denied: tuple[str, ...] = ()

    def facts(self, error: str | None = None) -> dict[str, Any]:
        """Return it as a caller sees it."""
        return {
            "sessionId": self.session_id,
            "messages": list(self.messages),
            "messageCount": self.message_count,
            "truncated": self.truncated,
            "executionTime": round(self.seconds * 1000),
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
        """Return how often its model was asked."""
        return int(self.usage.get("turns", 0))

    @property
    def tokens(self) -> Usage:
        """Return what went in and came out; what the program tells apart is part of the whole."""
        sent = ("inputTokens", "cacheReadTokens", "cacheWriteTokens")
        return Usage(
            input_tokens=sum(self.usage.get(name, 0) for name in sent),
            output_tokens=self.usage.get("outputTokens", 0),
        )

    @property
    def cost(self) -> float | None:
        """Return what the run cost in US dollars, if anybody knows."""
        return self.usage.get("costUsd")


def bundle(course: Course, session: str, seconds: float) -> Bundle:
    """Return what came of a run so far."""
    result = course.result or {}
    return Bundle(
        session_id=session,
        messages=course.messages,
        message_count=course.count,
        truncated=course.count > len(course.messages),
        seconds=seconds,
        usage=_usage(course),
        summary=str(result.get("result") or ""),
        success=bool(result) and not result.get("is_error"),
        denied=tuple(course.denied),
    )


def _usage(course: Course) -> dict[str, Any]:
    """Return what was used in this run: the program counts from its start, not its session's."""
    if not course.result:
        return {}
    models = course.result.get("modelUsage")
    used = [each for each in models.values() if isinstance(each, dict)] if models else []
    names = {
        "inputTokens": "inputTokens",
        "outputTokens": "outputTokens",
        "cacheReadTokens": "cacheReadInputTokens",
        "cacheWriteTokens": "cacheCreationInputTokens",
    }
    usage: dict[str, Any] = {
        ours: sum(number(each.get(theirs)) for each in used) for ours, theirs in names.items()
    }
    usage["turns"] = course.turns
    cost = course.result.get("total_cost_usd")
    return usage | {"costUsd": round(cost, 6)} if isinstance(cost, int | float) else usage


def failure(result: Mapping[str, Any], complaints: str) -> JuntoError | None:
    """Return why a run did not do what it was asked, if it did not."""
    if result and not result.get("is_error") and result.get("subtype") == "success":
        return None
    said = _said(result) or complaints.strip().rpartition("\n")[2] or _NOT_SAID
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
    return _by_status(result.get("api_error_status"), said)


def _by_status(status: Any, said: str) -> JuntoError:
    if status in _REFUSED or any(words in said for words in _NO_KEY):
        return AuthenticationError(
            f"Claude Code's key was not accepted ({said}). Check ANTHROPIC_API_KEY "
            "(providers.anthropic.api_key), then start Junto again."
        )
    if status in (_TOO_MANY, _OVERLOADED):
        return RateLimitedError(f"Claude Code's model has no room now: {said} Try again later.")
    if status == _NOT_FOUND:
        return NotFoundError(
            f"Claude Code's model was not found ({said}). Leave `model` out, or name another."
        )
    if (status or 0) >= _SERVER_FAULTS or any(words in said for words in _UNREACHED):
        return NetworkError(f"Claude Code did not reach its model: {said} Try again later.")
    if "too long" in said:
        return ContextOverflowError(f"{said} Start a new session.")
    return ExecutionError(f"Claude Code failed: {said}")


def _said(result: Mapping[str, Any]) -> str:
    errors = result.get("errors") or []
    if errors:
        return "; ".join(str(each) for each in errors)
    return str(result.get("result") or "").strip()
