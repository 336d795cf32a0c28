"""Permission prompts: asks the user about tool calls that the CLI's rules leave open."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from junto.agent.activity import describe_tool_call
from junto.agent.run import Permission, RunListener
from junto.agent.run_state import RunState, redact_and_truncate

# Of longer inputs, only the start and the end are shown.
_MAX_INPUT_CHARS = 2000
_WHITESPACE_RUNS = re.compile(r"[ \t]{9,}|(?:\\[nrt]){5,}")
_UNAVAILABLE_MESSAGE = (
    "Not allowed: this needs a permission, and nobody can be asked here. Do it another way, or say "
    "what the operator must allow (agent.allowed_tools)."
)


@dataclass(eq=False, slots=True)
class PermissionPrompt:
    """Decides on tool calls by asking the user; they are denied if nobody can be asked."""

    listener: RunListener
    state: RunState
    cwd: str
    redact: Callable[[str], str]
    _always_allowed: set[str] = field(default_factory=set, init=False)

    def build_can_use_tool(self, sdk: Any) -> Callable[[str, Mapping[str, Any], Any], Any]:
        """Return the `can_use_tool` callback for the SDK."""

        async def can_use_tool(tool: str, tool_input: Mapping[str, Any], _context: Any) -> Any:
            match await self.decide(tool, tool_input):
                case Permission.ONCE | Permission.ALWAYS:
                    return sdk.PermissionResultAllow()
                case Permission.UNAVAILABLE:
                    return sdk.PermissionResultDeny(message=_UNAVAILABLE_MESSAGE)
                case Permission.DENIED:
                    return sdk.PermissionResultDeny(message="The user does not allow this.")

        return can_use_tool

    async def decide(self, tool: str, tool_input: Mapping[str, Any]) -> Permission:
        """Return whether a tool call is allowed."""
        if tool in self._always_allowed:
            return Permission.ALWAYS
        redacted = redact_and_truncate(tool_input, self.redact)
        description = describe_tool_call(tool, redacted, self.cwd)
        answer = await self.listener.ask_permission(format_question(tool, redacted, self.cwd))
        if answer is Permission.ALWAYS:
            self._always_allowed.add(tool)
        if answer in (Permission.DENIED, Permission.UNAVAILABLE):
            self.state.denied.append(description)
            self.listener.on_status(f"not allowed: {description}")
        return answer


def format_question(tool: str, tool_input: Mapping[str, Any], cwd: str) -> str:
    """Format a tool call for the user, with invisible characters and long gaps made visible."""
    raw = json.dumps(dict(tool_input), ensure_ascii=False, indent=2)
    text = _WHITESPACE_RUNS.sub(
        lambda match: f" …({len(match[0])} blanks)… ", "".join(map(_escape_invisible, raw))
    )
    if len(text) > _MAX_INPUT_CHARS:
        half = _MAX_INPUT_CHARS // 2
        text = f"{text[:half]}\n… ({len(text) - 2 * half:,} characters) …\n{text[-half:]}"
    return f"Claude Code wants to use {tool} in {cwd}:\n{text}"


def _escape_invisible(character: str) -> str:
    """Escape a control or format character, which could change how the text is displayed."""
    is_invisible = unicodedata.category(character).startswith("C") and character != "\n"
    return f"\\u{ord(character):04x}" if is_invisible else character
