"""What a run may do: the operator's defaults, and of a caller's wishes those that are open."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from junto.domain.errors import InvalidInputError, PermissionDeniedError
from junto.settings.choices import AgentOption, PermissionMode

# Every tool that people know by name; a rule may follow, as in `Bash(git *)`.
_TOOLS = """
Agent Bash BashOutput Edit ExitPlanMode Glob Grep KillShell ListMcpResources LS Monitor MultiEdit
NotebookEdit Read ReadMcpResource SendMessage Skill SlashCommand Task TaskStop TodoWrite ToolSearch
WebFetch WebSearch Workflow Write
"""
_SPELT = {name.lower(): name for name in _TOOLS.split()}
_TOOL = re.compile(r"([A-Za-z]\w*)(\([^\x00-\x1f,()]{1,500}\))?")
_MODEL = re.compile(r"[A-Za-z0-9][\w.:@/\[\]-]{0,199}")
_WIDER = (
    PermissionMode.PLAN,
    PermissionMode.DEFAULT,
    PermissionMode.ACCEPT_EDITS,
    PermissionMode.BYPASS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a run is done, and how far it may go."""

    cwd: str = "."
    model: str | None = None
    permission_mode: PermissionMode = PermissionMode.ACCEPT_EDITS
    max_turns: int | None = None
    append_system_prompt: str | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    max_messages: int = 100
    include_system_messages: bool = True
    seconds: float = 300.0
    max_budget_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the operator has decided: the defaults, and what a caller may change."""

    defaults: Options
    open: frozenset[AgentOption]
    bypass: bool = False
    # Whether somebody else is there to run it, where root may not.
    other_user: bool = False
    # Models by the names that the operator gave them.
    models: Mapping[str, str]

    def options(self, wishes: Mapping[AgentOption, Any]) -> Options:
        """Return the defaults with these wishes.

        Raises:
            PermissionDeniedError: one of them is the operator's to decide.
            InvalidInputError: one of them makes no sense.
        """
        for name in wishes:
            # Some tools may be named in any case: those that are allowed already.
            if name not in self.open and name is not AgentOption.ALLOWED_TOOLS:
                raise PermissionDeniedError(
                    f"{name} is not for a caller to set here; the operator opens it with "
                    "agent.overrides."
                )
        chosen = replace(self.defaults, **_fields(wishes))
        self._check_mode(chosen.permission_mode)
        self._check_limits(chosen)
        return replace(
            chosen,
            model=self._model(chosen.model),
            allowed_tools=self._allowed(chosen.allowed_tools),
            disallowed_tools=tool_names(
                (*self.defaults.disallowed_tools, *chosen.disallowed_tools)
            ),
        )

    def _check_mode(self, mode: PermissionMode) -> None:
        widest = self.defaults.permission_mode
        if not self.bypass and _WIDER.index(mode) > _WIDER.index(widest):
            setting = "allow_bypass" if mode is PermissionMode.BYPASS else "permission_mode"
            raise PermissionDeniedError(
                f"permissionMode {mode} goes further than {widest}, which is as far as the "
                f"operator lets it go (agent.{setting})."
            )
        if mode is PermissionMode.BYPASS and os.geteuid() == 0 and not self.other_user:
            raise PermissionDeniedError(
                "Claude Code does not bypass permissions as root. The operator can name another "
                "user for it (agent.user)."
            )

    def _check_limits(self, chosen: Options) -> None:
        most, dollars = self.defaults.seconds, self.defaults.max_budget_usd
        if chosen.seconds > most:
            raise InvalidInputError(
                f"timeoutMs: a run may take {most * 1000:.0f} ms at the most (agent.time_limit)."
            )
        if dollars is not None and (chosen.max_budget_usd or 0) > dollars:
            raise InvalidInputError(
                f"maxBudgetUsd: a run may cost {dollars:g} at the most (agent.max_budget)."
            )

    def _model(self, name: str | None) -> str | None:
        if name is None:
            return None
        if not _MODEL.fullmatch(name):
            raise InvalidInputError("model: this is no model's name.")
        return self.models.get(name, name)

    def _allowed(self, names: Sequence[str]) -> tuple[str, ...]:
        allowed = tool_names(names)
        more = set(allowed) - set(tool_names(self.defaults.allowed_tools))
        if more and AgentOption.ALLOWED_TOOLS not in self.open:
            raise PermissionDeniedError(
                f"allowedTools: {', '.join(sorted(more))} is more than the operator allows; "
                "agent.allowed_tools names what may be used without asking, and agent.overrides "
                "can leave that to callers."
            )
        return allowed


def _fields(wishes: Mapping[AgentOption, Any]) -> dict[str, Any]:
    fields = {_snake(name): value for name, value in wishes.items()}
    if (milliseconds := fields.pop("timeout_ms", None)) is not None:
        fields["seconds"] = milliseconds / 1000
    return fields


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", name)


def tool_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of tools as Claude Code spells them, each once.

    Raises:
        InvalidInputError: one of them is no name of a tool.
    """
    return tuple(dict.fromkeys(_spelt(name) for name in names))


def _spelt(name: str) -> str:
    match = _TOOL.fullmatch(name.strip())
    if match is None:
        raise InvalidInputError(
            f"{name[:80]!r} is no name of a tool; Read, Bash and Bash(git *) are examples."
        )
    tool, rule = match[1], match[2] or ""
    return _SPELT.get(tool.lower(), tool) + rule
