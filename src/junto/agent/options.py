"""The options of a run: the operator's defaults, with the overrides that callers may make."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from junto.domain.errors import InvalidInputError, PermissionDeniedError
from junto.settings.enums import AgentOption, PermissionMode

# Known tools; a rule may follow the name, as in `Bash(git *)`.
_TOOL_NAMES = """
Agent Bash BashOutput Edit ExitPlanMode Glob Grep KillShell ListMcpResources LS Monitor MultiEdit
NotebookEdit Read ReadMcpResource SendMessage Skill SlashCommand Task TaskStop TodoWrite ToolSearch
WebFetch WebSearch Workflow Write
"""
_CANONICAL_TOOL_NAMES = {name.lower(): name for name in _TOOL_NAMES.split()}
_TOOL_PATTERN = re.compile(r"([A-Za-z]\w*)(\([^\x00-\x1f,()]{1,500}\))?")
_MODEL_PATTERN = re.compile(r"[A-Za-z0-9][\w.:@/\[\]-]{0,199}")
_MODES_BY_PERMISSIVENESS = (
    PermissionMode.PLAN,
    PermissionMode.DEFAULT,
    PermissionMode.ACCEPT_EDITS,
    PermissionMode.BYPASS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options and limits of a run."""

    cwd: str = "."
    model: str | None = None
    permission_mode: PermissionMode = PermissionMode.ACCEPT_EDITS
    max_turns: int | None = None
    append_system_prompt: str | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    max_messages: int = 100
    include_system_messages: bool = True
    timeout_seconds: float = 300.0
    max_budget_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPolicy:
    """The operator's defaults, and what callers may override."""

    defaults: RunOptions
    overridable: frozenset[AgentOption]
    allow_bypass: bool = False
    # Whether runs have a user of their own: Claude Code does not bypass permissions as root.
    has_other_user: bool = False
    # Model names by the operator's aliases.
    model_aliases: Mapping[str, str]

    def resolve_options(self, overrides: Mapping[AgentOption, Any]) -> RunOptions:
        """Return the defaults with a caller's overrides applied.

        Raises:
            PermissionDeniedError: the operator does not allow an override.
            InvalidInputError: an override is invalid.
        """
        for name in overrides:
            # ALLOWED_TOOLS is checked later: naming tools that are already allowed is fine.
            if name not in self.overridable and name is not AgentOption.ALLOWED_TOOLS:
                raise PermissionDeniedError(
                    f"{name} is not for a caller to set here; the operator opens it with "
                    "agent.overrides."
                )
        options = replace(self.defaults, **_to_option_fields(overrides))
        self._check_mode(options.permission_mode)
        self._check_limits(options)
        return replace(
            options,
            model=self._resolve_model(options.model),
            allowed_tools=self._resolve_allowed_tools(options.allowed_tools),
            disallowed_tools=normalize_tool_names(
                (*self.defaults.disallowed_tools, *options.disallowed_tools)
            ),
        )

    def _check_mode(self, mode: PermissionMode) -> None:
        max_mode = self.defaults.permission_mode
        if not self.allow_bypass and _MODES_BY_PERMISSIVENESS.index(
            mode
        ) > _MODES_BY_PERMISSIVENESS.index(max_mode):
            setting = "allow_bypass" if mode is PermissionMode.BYPASS else "permission_mode"
            raise PermissionDeniedError(
                f"permissionMode {mode} goes further than {max_mode}, which is as far as the "
                f"operator lets it go (agent.{setting})."
            )
        if mode is PermissionMode.BYPASS and os.geteuid() == 0 and not self.has_other_user:
            raise PermissionDeniedError(
                "Claude Code does not bypass permissions as root. The operator can name another "
                "user for it (agent.user)."
            )

    def _check_limits(self, options: RunOptions) -> None:
        max_seconds, max_dollars = self.defaults.timeout_seconds, self.defaults.max_budget_usd
        if options.timeout_seconds > max_seconds:
            raise InvalidInputError(
                f"timeoutMs: a run may take {max_seconds * 1000:.0f} ms at the most "
                "(agent.time_limit)."
            )
        if max_dollars is not None and (options.max_budget_usd or 0) > max_dollars:
            raise InvalidInputError(
                f"maxBudgetUsd: a run may cost {max_dollars:g} at the most (agent.max_budget)."
            )

    def _resolve_model(self, name: str | None) -> str | None:
        if name is None:
            return None
        if not _MODEL_PATTERN.fullmatch(name):
            raise InvalidInputError("model: this is no model's name.")
        return self.model_aliases.get(name, name)

    def _resolve_allowed_tools(self, names: Sequence[str]) -> tuple[str, ...]:
        allowed = normalize_tool_names(names)
        extra = set(allowed) - set(normalize_tool_names(self.defaults.allowed_tools))
        if extra and AgentOption.ALLOWED_TOOLS not in self.overridable:
            raise PermissionDeniedError(
                f"allowedTools: {', '.join(sorted(extra))} is more than the operator allows; "
                "agent.allowed_tools names what may be used without asking, and agent.overrides "
                "can leave that to callers."
            )
        return allowed


def _to_option_fields(overrides: Mapping[AgentOption, Any]) -> dict[str, Any]:
    fields = {_to_snake_case(name): value for name, value in overrides.items()}
    if (milliseconds := fields.pop("timeout_ms", None)) is not None:
        fields["timeout_seconds"] = milliseconds / 1000
    return fields


def _to_snake_case(name: str) -> str:
    return re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", name)


def normalize_tool_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return tool names as Claude Code spells them, without duplicates.

    Raises:
        InvalidInputError: a name is not a valid tool name.
    """
    return tuple(dict.fromkeys(_normalize_tool_name(name) for name in names))


def _normalize_tool_name(name: str) -> str:
    match = _TOOL_PATTERN.fullmatch(name.strip())
    if match is None:
        raise InvalidInputError(
            f"{name[:80]!r} is no name of a tool; Read, Bash and Bash(git *) are examples."
        )
    tool, rule = match[1], match[2] or ""
    return _CANONICAL_TOOL_NAMES.get(tool.lower(), tool) + rule
