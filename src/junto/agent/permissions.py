"""What an agent may not do by itself: somebody is asked where somebody can be, or it is denied."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from junto.agent.course import Course
from junto.agent.run import Permission, Voice
from junto.agent.summaries import doing

_LONGEST = 2000
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
        what = doing(tool, given, self.cwd)
        answer = await self.voice.permits(_question(tool, given, self.cwd))
        if answer is Permission.ALWAYS:
            self._always.add(tool)
        if answer in (Permission.DENIED, Permission.NOBODY):
            self.course.denied.append(what)
            self.voice.notes(f"not allowed: {what}")
        return answer


def _question(tool: str, given: Mapping[str, Any], cwd: str) -> str:
    """Return what somebody must know to decide: all of it, and not only what it looks like."""
    whole = json.dumps(dict(given), ensure_ascii=False, indent=2)
    if len(whole) > _LONGEST:
        whole = f"{whole[:_LONGEST]} … ({len(whole):,} characters)"
    return f"Claude Code wants to use {tool} in {cwd}:\n{whole}"
