"""The names that earlier systems gave to the same settings."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


def _milliseconds(value: str) -> float:
    return float(value) / 1000


def _truth(value: str) -> bool:
    answers = {"true": True, "1": True, "yes": True, "on": True}
    answers |= {"false": False, "0": False, "no": False, "off": False}
    return answers[value.strip().lower()]


def _output_if_disabled(value: str) -> str | None:
    return "none" if _truth(value) else None


def _output_if_stderr(value: str) -> str:
    return "stderr" if _truth(value) else "files"


@dataclass(frozen=True, slots=True)
class Alias:
    """An old variable, the setting it stands for, and how its value is read."""

    variable: str
    path: str
    read: Callable[[str], Any] = str
    takes: str | None = None


_BOOLEAN = "true or false"

# Where two names stand for one setting, the earlier line wins.
ALIASES: tuple[Alias, ...] = (
    # Keys, under the names that each provider's own tools use.
    Alias("ANTHROPIC_API_KEY", "providers.anthropic.api_key"),
    Alias("ANTHROPIC_BASE_URL", "providers.anthropic.base_url"),
    Alias("OPENAI_API_KEY", "providers.openai.api_key"),
    Alias("OPENAI_BASE_URL", "providers.openai.base_url"),
    Alias("GEMINI_API_KEY", "providers.gemini.api_key"),
    Alias("OPENROUTER_API_KEY", "providers.openrouter.api_key"),
    # claude-agent-mcp-server
    Alias("CLAUDE_MODEL", "default_model"),
    Alias("CLAUDE_MAX_TOKENS", "answers.max_tokens"),
    Alias("CLAUDE_TEMPERATURE", "answers.temperature"),
    Alias("CLAUDE_SYSTEM_PROMPT", "answers.system"),
    Alias("CLAUDE_ENABLE_CONVERSATIONS", "conversations.enabled"),
    Alias("CLAUDE_SESSION_TIMEOUT", "conversations.retention"),
    Alias("CLAUDE_MAX_HISTORY", "conversations.max_history"),
    Alias("CLAUDE_DISABLE_LOGGING", "logging.output", _output_if_disabled, _BOOLEAN),
    Alias("CLAUDE_LOG_TO_STDERR", "logging.output", _output_if_stderr, _BOOLEAN),
    Alias("CLAUDE_LOG_DIR", "logging.directory"),
    # The claude_code_query tool
    Alias("CLAUDE_CODE_ENABLE", "agent.enabled"),
    Alias("CLAUDE_CODE_DEFAULT_CWD", "agent.cwd"),
    Alias("CLAUDE_CODE_DEFAULT_MODEL", "agent.model"),
    Alias("CLAUDE_CODE_DEFAULT_PERMISSION_MODE", "agent.permission_mode"),
    Alias("CLAUDE_CODE_MAX_TURNS", "agent.max_turns"),
    Alias("CLAUDE_CODE_MAX_MESSAGES", "agent.max_messages"),
    Alias("CLAUDE_CODE_INCLUDE_SYSTEM_MESSAGES", "agent.include_system_messages"),
    Alias(
        "CLAUDE_CODE_MAX_EXECUTION_TIME",
        "agent.time_limit",
        _milliseconds,
        "a number of milliseconds",
    ),
    Alias("CLAUDE_CODE_ALLOWED_TOOLS", "agent.allowed_tools"),
    # TelemetryFlow
    Alias("TELEMETRYFLOW_MCP_CLAUDE_API_KEY", "providers.anthropic.api_key"),
    Alias("TELEMETRYFLOW_MCP_CLAUDE_DEFAULT_MODEL", "default_model"),
    Alias("TELEMETRYFLOW_MCP_CLAUDE_MAX_TOKENS", "answers.max_tokens"),
    Alias("TELEMETRYFLOW_MCP_CLAUDE_TEMPERATURE", "answers.temperature"),
    Alias("TELEMETRYFLOW_MCP_CLAUDE_TIMEOUT", "answers.timeout"),
    Alias("TELEMETRYFLOW_MCP_CLAUDE_MAX_RETRIES", "answers.max_retries"),
    Alias("TELEMETRYFLOW_MCP_CLAUDE_BASE_URL", "providers.anthropic.base_url"),
    # Polybrain
    Alias("POLYBRAIN_HTTP_PORT", "http.port"),
    Alias("POLYBRAIN_LOG_LEVEL", "logging.level"),
    # Koopa
    Alias("DATABASE_URL", "database.url"),
)

# Polybrain's single-model mode: only all three together mean anything, and then the models of
# every file are ignored.
POLYBRAIN_MODEL = ("POLYBRAIN_BASE_URL", "POLYBRAIN_API_KEY", "POLYBRAIN_MODEL_NAME")
POLYBRAIN_CONFIG_PATH = "POLYBRAIN_CONFIG_PATH"

# The keys of ~/.polybrain.yaml that are not already ours.
POLYBRAIN_KEYS = {
    "http_port": "http.port",
    "log_level": "logging.level",
    "truncate_limit": "conversations.truncate_limit",
}


def polybrain_model(environment: Mapping[str, str]) -> str | None:
    """Return Polybrain's single model as a JSON list of one entry, if all of it is set."""
    base_url, api_key, name = (environment.get(variable) for variable in POLYBRAIN_MODEL)
    if not (base_url and api_key and name):
        return None
    return json.dumps([{"id": name, "baseUrl": base_url, "apiKey": api_key}])
