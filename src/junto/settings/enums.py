"""The words among which a setting, or a caller, chooses."""

from enum import StrEnum


class LogOutput(StrEnum):
    """Where log lines go."""

    STDERR = "stderr"
    FILES = "files"
    BOTH = "both"
    NONE = "none"


class LogLevel(StrEnum):
    """How much is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ContextPolicy(StrEnum):
    """Which part of a long conversation is sent to the model."""

    LAST_N = "last_n"
    HEAD_TAIL = "head_tail"
    TOKEN_BUDGET = "token_budget"  # noqa: S105 - a policy's name


class Reach(StrEnum):
    """How much of this machine clients may use."""

    NONE = "none"
    READ = "read"
    ALL = "all"


class Trust(StrEnum):
    """How far a source is trusted: what ranks higher, lower, or is not shown at all."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"
    NONE = "none"


class PermissionMode(StrEnum):
    """How far a coding agent may go without asking."""

    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    BYPASS = "bypassPermissions"
    PLAN = "plan"


class AgentOption(StrEnum):
    """What a call may want of a run, by the name that callers use."""

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
