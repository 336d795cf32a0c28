"""What an agent may not do by itself: somebody is asked where somebody can be, or it is denied."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from junto.agent.course import Course, shortened
from junto.agent.run import Permission, Voice
from junto.agent.summaries import doing

# What is longer is shown with its beginning and its end.
_LONGEST = 2000
_GAPS = re.compile(r"[ \t]{9,}|(?:\\[nrt]){5,}")
_NOBODY = (
    "Not allowed: this needs a permission, and nobody can be asked here. Do it another way, or say "
    "what the operator must allow (agent.allowed_tools)."
)


@dataclass(eq=False, slots=True)
class Gate:
    """Decides what the program's own rules leave open."""

    voice: Voice
    course: Course
    cwd: str
    clean: Callable[[str], str]
    _always: set[str] = field(default_factory=set, init=False)

    def decider(self, sdk: Any) -> Callable[[str, Mapping[str, Any], Any], Any]:
        """Return the function that the SDK asks."""

        async def decide(tool: str, given: Mapping[str, Any], _context: Any) -> Any:
            match await self.decided(tool, given):
                case Permission.ONCE | Permission.ALWAYS:
                    return sdk.PermissionResultAllow()
                case Permission.NOBODY:
                    return sdk.PermissionResultDeny(message=_NOBODY)
                case Permission.DENIED:
                    return sdk.PermissionResultDeny(message="The user does not allow this.")

        return decide

    async def decided(self, tool: str, given: Mapping[str, Any]) -> Permission:
        """Return whether a tool may be used in this way."""
        if tool in self._always:
            return Permission.ALWAYS
        told = shortened(given, self.clean)
        what = doing(tool, told, self.cwd)
        answer = await self.voice.permits(question(tool, told, self.cwd))
        if answer is Permission.ALWAYS:
            self._always.add(tool)
        if answer in (Permission.DENIED, Permission.NOBODY):
            self.course.denied.append(what)
            self.voice.notes(f"not allowed: {what}")
        return answer


def question(tool: str, given: Mapping[str, Any], cwd: str) -> str:
    """Return what somebody must know to decide, with nothing hidden in it."""
    whole = json.dumps(dict(given), ensure_ascii=False, indent=2)
    plain = _GAPS.sub(lambda gap: f" …({len(gap[0])} blanks)… ", "".join(map(_visible, whole)))
    if len(plain) > _LONGEST:
        half = _LONGEST // 2
        plain = f"{plain[:half]}\n… ({len(plain) - 2 * half:,} characters) …\n{plain[-half:]}"
    return f"Claude Code wants to use {tool} in {cwd}:\n{plain}"


def _visible(character: str) -> str:
    """Return a character, or its number if it is one that changes how others are shown."""
    hidden = unicodedata.category(character).startswith("C") and character != "\n"
    return f"\\u{ord(character):04x}" if hidden else character
