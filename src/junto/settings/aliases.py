"""Environment variables and config keys of other servers that map to Junto's settings."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from junto.provider_specs.registry import PROVIDER_SPECS


def _parse_milliseconds(value: str) -> float:
    return float(value) / 1000


def _parse_bool(value: str) -> bool:
    values = {"true": True, "1": True, "yes": True, "on": True}
    values |= {"false": False, "0": False, "no": False, "off": False}
    return values[value.strip().lower()]


def _parse_disable_logging(value: str) -> str | None:
    return "none" if _parse_bool(value) else None


def _parse_log_to_stderr(value: str) -> str:
    return "stderr" if _parse_bool(value) else "files"


@dataclass(frozen=True, slots=True)
class Alias:
    """An environment variable of another server, its setting path and its value parser."""

    variable: str
    path: str
    parse: Callable[[str], Any] = str
    accepts: str | None = None


_ACCEPTS_BOOLEAN = "true or false"

# If two variables map to the same setting, the first one listed wins.
ALIASES: tuple[Alias, ...] = (
    # Standard variables of the providers' own SDKs.
    *(
        Alias(variable, f"providers.{spec.name}.{option}")
        for spec in PROVIDER_SPECS.values()
        for variable, option in spec.variables.items()
    ),
    # claude-agent-mcp-server
    Alias("CLAUDE_MODEL", "default_model"),
    Alias("CLAUDE_MAX_TOKENS", "answers.max_tokens"),
    Alias("CLAUDE_TEMPERATURE", "answers.temperature"),
    Alias("CLAUDE_SYSTEM_PROMPT", "answers.system"),
    Alias("CLAUDE_ENABLE_CONVERSATIONS", "conversations.enabled"),
    Alias("CLAUDE_SESSION_TIMEOUT", "conversations.retention"),
    Alias("CLAUDE_MAX_HISTORY", "conversations.max_history"),
    Alias("CLAUDE_DISABLE_LOGGING", "logging.output", _parse_disable_logging, _ACCEPTS_BOOLEAN),
    Alias("CLAUDE_LOG_TO_STDERR", "logging.output", _parse_log_to_stderr, _ACCEPTS_BOOLEAN),
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
        _parse_milliseconds,
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

# Polybrain's single-model mode: takes effect only if all three are set, and then overrides the
# models of every config file.
POLYBRAIN_MODEL_VARIABLES = ("POLYBRAIN_BASE_URL", "POLYBRAIN_API_KEY", "POLYBRAIN_MODEL_NAME")
POLYBRAIN_CONFIG_PATH = "POLYBRAIN_CONFIG_PATH"

# Keys of ~/.polybrain.yaml whose names differ from Junto's.
POLYBRAIN_SETTING_PATHS = {
    "http_port": "http.port",
    "log_level": "logging.level",
    "truncate_limit": "conversations.truncate_limit",
}


def build_polybrain_model(environment: Mapping[str, str]) -> str | None:
    """Return Polybrain's single model as a JSON list, or None unless all variables are set."""
    base_url, api_key, name = (environment.get(variable) for variable in POLYBRAIN_MODEL_VARIABLES)
    if not (base_url and api_key and name):
        return None
    return json.dumps([{"id": name, "baseUrl": base_url, "apiKey": api_key}])
