"""The course of a run: what it has said and done so far, and whether that is all."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]

# No single text is worth more; the longest are pictures and listings.
_LONGEST = 20_000
# What the program and its SDK say to each other.
_UNTOLD = frozenset(
    {"control_request", "control_response", "control_cancel_request", "keep_alive"}
    | {"transcript_mirror", "command_lifecycle"}
)


@dataclass(eq=False, slots=True)
class Course:
    """Takes the program's messages as they come."""

    keep: int
    with_system: bool
    clean: Callable[[str], str]
    count: int = field(default=0, init=False)
    results: int = field(default=0, init=False)
    turns: int = field(default=0, init=False)
    # The last result, which tells what all of them used.
    result: Message | None = field(default=None, init=False)
    denied: list[str] = field(default_factory=list, init=False)
    _kept: deque[Message] = field(init=False)
    _idle: bool = field(default=False, init=False)
    # Messages to it that it has not taken yet, by their identity.
    _unheard: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._kept = deque(maxlen=self.keep)

    @property
    def over(self) -> bool:
        """Return whether all that was asked is answered."""
        return self._idle and self.results > 0 and not self._unheard

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the last messages, as many as are wanted."""
        return tuple(self._kept)

    def expects(self, uuid: str) -> None:
        """Take note that a message is on its way to the program."""
        self._unheard.add(uuid)

    def hears(self, message: Message) -> Message | None:
        """Take a message, and return what may be told of it."""
        kind, subtype = message.get("type"), message.get("subtype")
        if kind in _UNTOLD:
            return None
        if kind == "system" and subtype == "session_state_changed":
            self._idle = message.get("state") == "idle"
            return None
        if kind == "user" and message.get("isReplay"):
            self._unheard.discard(str(message.get("uuid")))
            self._idle = False  # whatever it said of itself was before this
            return None
        told: Message = shortened(message, self.clean)
        self.count += 1
        if kind == "result":
            self.result, self.results = told, self.results + 1
            self.turns += number(message.get("num_turns"))
        if self.with_system or kind != "system":
            self._kept.append(told)
        return told


def shortened(value: Any, clean: Callable[[str], str], longest: int = _LONGEST) -> Any:
    """Return what may be told of a message: no secrets, and no text without end."""
    match value:
        case str():
            # What is cut must not end within a secret; half a character cannot be sent.
            whole = value[: longest + 1000].encode("utf-8", "replace").decode()
            text = clean(whole)
            if len(value) > longest:
                return f"{text[:longest]} … ({len(value):,} characters)"
            return text
        case Mapping():
            return {clean(str(key)): shortened(each, clean, longest) for key, each in value.items()}
        case list():
            return [shortened(each, clean, longest) for each in value]
        case _:
            return value


def number(value: Any) -> int:
    """Return a count that the program tells, if it is one."""
    return int(value) if isinstance(value, int | float) else 0


def texts(message: Mapping[str, Any]) -> str:
    """Return what the agent says in a message, for people."""
    if message.get("type") != "assistant" or message.get("parent_tool_use_id"):
        return ""
    blocks = message.get("message", {}).get("content") or ()
    return "\n".join(block["text"] for block in blocks if block.get("type") == "text")
