"""Enumerations used by settings and tool arguments."""

from enum import StrEnum


class LogOutput(StrEnum):
    """Where log lines are written."""

    STDERR = "stderr"
    FILES = "files"
    BOTH = "both"
    NONE = "none"


class LogLevel(StrEnum):
    """The minimum level of logged events."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ContextPolicy(StrEnum):
    """Which part of a long conversation is sent to the model."""

    LAST_N = "last_n"
    HEAD_TAIL = "head_tail"
    TOKEN_BUDGET = "token_budget"  # noqa: S105 - a policy name


class ToolAccess(StrEnum):
    """How much of this machine clients may access, in ascending order."""

    NONE = "none"
    READ = "read"
    ALL = "all"

    def includes(self, other: "ToolAccess") -> bool:
        """Return whether who has this access may use what needs `other`."""
        levels = list(ToolAccess)
        return levels.index(self) >= levels.index(other)


class ToolProfile(StrEnum):
    """Which tools clients see."""

    FULL = "full"
    COUNCIL = "council"


class TextFormat(StrEnum):
    """What the text of a tool's result is."""

    READABLE = "readable"
    JSON = "json"


class SearchShape(StrEnum):
    """The fields of the results of `search` and `fetch`."""

    FULL = "full"
    CONNECTOR = "connector"


class SourceTrust(StrEnum):
    """How much a source is trusted: ranks its results higher or lower, or hides them."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"
    NONE = "none"


class PermissionMode(StrEnum):
    """What a coding agent may do without asking for permission."""

    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    BYPASS = "bypassPermissions"
    PLAN = "plan"


class AgentOption(StrEnum):
    """An option that a call may set for an agent run, named as in the tool's arguments."""

    CWD = "cwd"
    MAX_TURNS = "maxTurns"
    MODEL = "model"
    APPEND_SYSTEM_PROMPT = "appendSystemPrompt"
    PERMISSION_MODE = "permissionMode"
    ALLOWED_TOOLS = "allowedTools"
    DISALLOWED_TOOLS = "disallowedTools"
    MAX_MESSAGES = "maxMessages"
    INCLUDE_SYSTEM_MESSAGES = "includeSystemMessages"
    TIMEOUT_MS = "timeoutMs"
    MAX_BUDGET_USD = "maxBudgetUsd"
