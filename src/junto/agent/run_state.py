"""The state of a run, derived from the messages of Claude Code."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from junto.domain.completions import Usage, clamp_token_count

ClaudeMessage = dict[str, Any]

# Longer texts, mostly images and listings, are truncated.
_MAX_TEXT_CHARS = 20_000
# Protocol messages between the CLI and its SDK.
_INTERNAL_MESSAGE_TYPES = frozenset(
    {"control_request", "control_response", "control_cancel_request", "keep_alive"}
    | {"transcript_mirror", "command_lifecycle"}
)


@dataclass(eq=False, slots=True)
class RunState:
    """The messages, counters and pending requests of a run."""

    max_messages: int
    include_system: bool
    redact: Callable[[str], str]
    message_count: int = field(default=0, init=False)
    result_count: int = field(default=0, init=False)
    turn_count: int = field(default=0, init=False)
    # Its usage includes that of all earlier results.
    last_result: ClaudeMessage | None = field(default=None, init=False)
    denied: list[str] = field(default_factory=list, init=False)
    # Model and usage of each answer, by its id: the CLI repeats both with every block.
    _answers: dict[str, tuple[str, Usage]] = field(default_factory=dict, init=False)
    _recent_messages: deque[ClaudeMessage] = field(init=False)
    _is_idle: bool = field(default=False, init=False)
    # Messages sent to the CLI that it has not replayed yet.
    _pending_uuids: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._recent_messages = deque(maxlen=self.max_messages)

    @property
    def is_complete(self) -> bool:
        """Whether every message sent to the CLI is answered."""
        return self._is_idle and self.result_count > 0 and not self._pending_uuids

    @property
    def messages(self) -> tuple[ClaudeMessage, ...]:
        """The latest messages, at most `max_messages`."""
        return tuple(self._recent_messages)

    @property
    def usage_by_model(self) -> dict[str, Usage]:
        """The usage of the answers so far, which is known before the CLI reports its result."""
        totals: dict[str, Usage] = {}
        for model, usage in self._answers.values():
            totals[model] = totals.get(model, Usage()) + usage
        return totals

    def expect_message(self, uuid: str) -> None:
        """Register a message that is being sent to the CLI."""
        self._pending_uuids.add(uuid)

    def forget_message(self, uuid: str) -> None:
        """Remove a registered message that is not sent after all."""
        self._pending_uuids.discard(uuid)

    def receive(self, message: ClaudeMessage) -> ClaudeMessage | None:
        """Update the state; return the redacted message, or None for an internal one."""
        kind, subtype = message.get("type"), message.get("subtype")
        if kind in _INTERNAL_MESSAGE_TYPES:
            return None
        if kind == "system" and subtype == "session_state_changed":
            self._is_idle = message.get("state") == "idle"
            return None
        if kind == "user" and message.get("isReplay"):
            self._pending_uuids.discard(str(message.get("uuid")))
            self._is_idle = False  # an earlier idle report predates this message
            return None
        redacted: ClaudeMessage = redact_and_truncate(message, self.redact)
        self.message_count += 1
        if kind == "assistant":
            self._count_answer(message.get("message"))
        if kind == "result":
            self.last_result, self.result_count = redacted, self.result_count + 1
            self.turn_count += parse_count(message.get("num_turns"))
        if self.include_system or kind != "system":
            self._recent_messages.append(redacted)
        return redacted

    def _count_answer(self, answer: Any) -> None:
        match answer:
            case {"id": str(id_), "model": str(model), "usage": dict(usage)}:
                self._answers[id_] = (model, _parse_usage(usage))


def _parse_usage(usage: Mapping[str, Any]) -> Usage:
    plain, read, write, output = (
        clamp_token_count(usage.get(name))
        for name in (
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "output_tokens",
        )
    )
    return Usage(
        input_tokens=plain + read + write,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=write,
    )


def redact_and_truncate(
    value: Any, redact: Callable[[str], str], max_chars: int = _MAX_TEXT_CHARS
) -> Any:
    """Return a JSON value with secrets redacted and long texts truncated."""
    match value:
        case str():
            # Redact beyond the limit, since cutting first could split a secret and hide it from
            # redaction. Lone surrogates are replaced: they cannot be encoded.
            head = value[: max_chars + 1000].encode("utf-8", "replace").decode()
            text = redact(head)
            if len(value) > max_chars:
                return f"{text[:max_chars]} … ({len(value):,} characters)"
            return text
        case Mapping():
            return {
                redact(str(key)): redact_and_truncate(each, redact, max_chars)
                for key, each in value.items()
            }
        case list():
            return [redact_and_truncate(each, redact, max_chars) for each in value]
        case _:
            return value


def parse_count(value: Any) -> int:
    """Return a count reported by the CLI, or 0 if it is not a number."""
    return int(value) if isinstance(value, int | float) else 0


def extract_text(message: Mapping[str, Any]) -> str:
    """Return the text of an assistant message; subagents are left out."""
    if message.get("type") != "assistant" or message.get("parent_tool_use_id"):
        return ""
    blocks = message.get("message", {}).get("content") or ()
    return "\n".join(block["text"] for block in blocks if block.get("type") == "text")
