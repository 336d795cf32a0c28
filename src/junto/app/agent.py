"""Builds the agent (Claude Code), if it is enabled and installed."""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from junto.app.models import build_prompt_guard
from junto.domain.errors import ConfigurationError, InvalidInputError
from junto.domain.limits import Budget
from junto.domain.models import Price
from junto.domain.sessions import SessionStore
from junto.providers.catalog.prices import find_public_info
from junto.security.paths import Roots
from junto.security.redaction import Redactor
from junto.settings.enums import PermissionMode
from junto.settings.schema import Settings
from junto.telemetry.metrics import Metrics
from junto.telemetry.usage_recorder import UsageRecorder
from junto.tools.registry import Registry
from junto.tools.services import AgentServices

if TYPE_CHECKING:
    from junto.agent.claude_cli import ClaudeCredentials
    from junto.agent.launcher import ExposedTools
    from junto.agent.options import RunPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDependencies:
    """What the agent needs of the application."""

    roots: Roots
    state_dir: Path
    sessions: SessionStore
    redactor: Redactor
    metrics: Metrics
    usage_recorder: UsageRecorder
    budget: Budget
    # Returns the Junto tools that a run may call.
    build_exposed_tools: Callable[[], Registry]


def build_agent(settings: Settings, dependencies: AgentDependencies) -> AgentServices | None:
    """Return the agent, if it is enabled and installed.

    Raises:
        ConfigurationError: there is no such user, or only root could become them.
    """
    from junto.agent.claude_cli import find_program, is_installed

    chosen = settings.agent
    program = find_program(chosen.program) if chosen.enabled and is_installed() else None
    if program is None:
        return None
    from junto.agent.launcher import Launcher
    from junto.agent.run_budget import RunBudget
    from junto.agent.run_queue import RunQueue
    from junto.agent.service import AgentService

    _check_user(chosen.user)
    launcher = Launcher(
        program_path=program,
        roots=dependencies.roots,
        get_credentials=lambda: build_credentials(settings),
        base_dir=_scratch_base_dir(dependencies.state_dir, chosen.user),
        hidden_paths=(dependencies.state_dir, *_claude_config_dirs()),
        store=dependencies.sessions,
        redact=dependencies.redactor.redact_text,
        environment=os.environ,
        user=chosen.user,
        sandboxed=chosen.confine,
        writable_paths=tuple(str(folder) for folder in chosen.writable),
        build_exposed_tools=_exposed_tools_builder(dependencies) if chosen.consult else None,
        start_semaphore=asyncio.Semaphore(chosen.starting),
    )
    agent = AgentService(
        launcher=launcher,
        store=dependencies.sessions,
        queue=RunQueue(chosen.concurrent, chosen.waiting),
        metrics=dependencies.metrics,
        usage_recorder=dependencies.usage_recorder,
        check_prompt=build_prompt_guard(settings).check,
        budget=RunBudget(dependencies.budget, _find_price),
    )
    return AgentServices(agent, _build_policy(settings))


def _find_price(model: str) -> Price | None:
    return find_public_info(model, "anthropic", None).price


def _scratch_base_dir(state_dir: Path, user: str | None) -> Path:
    """Return the base of scratch directories: private, unless runs have another user."""
    return (
        Path(tempfile.gettempdir()) / f"junto-agent-{os.geteuid()}" if user else state_dir / "agent"
    )


def _claude_config_dirs() -> list[Path]:
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return [Path(folder)] if folder else []


def _exposed_tools_builder(dependencies: AgentDependencies) -> Callable[[], "ExposedTools"]:
    from junto.agent.launcher import ExposedTools
    from junto.app.agent_server import build_agent_server

    def build() -> ExposedTools:
        tools = dependencies.build_exposed_tools()
        server = build_agent_server(tools, dependencies.redactor)
        return ExposedTools(tuple(tools.names), server)

    return build


def _build_policy(settings: Settings) -> "RunPolicy":
    from junto.agent.options import RunOptions, RunPolicy

    chosen = settings.agent
    return RunPolicy(
        defaults=RunOptions(
            cwd=str(chosen.cwd) if chosen.cwd else ".",
            model=chosen.model,
            permission_mode=chosen.permission_mode,
            max_turns=chosen.max_turns,
            allowed_tools=_normalize_tools("allowed_tools", chosen.allowed_tools),
            disallowed_tools=_normalize_tools("disallowed_tools", chosen.disallowed_tools),
            max_messages=chosen.max_messages,
            include_system_messages=chosen.include_system_messages,
            timeout_seconds=chosen.time_limit,
            max_budget_usd=None if chosen.max_budget is None else float(chosen.max_budget),
        ),
        overridable=frozenset(chosen.overrides),
        allow_bypass=chosen.allow_bypass or chosen.permission_mode is PermissionMode.BYPASS,
        has_other_user=chosen.user is not None,
        model_aliases={
            entry.id: entry.model_name or entry.id
            for entry in settings.models
            if entry.provider == "anthropic"
        },
    )


def _normalize_tools(setting: str, tools: tuple[str, ...]) -> tuple[str, ...]:
    from junto.agent.options import normalize_tool_names

    try:
        return normalize_tool_names(tools)
    except InvalidInputError as error:
        raise ConfigurationError(f"agent.{setting}: {error.message}") from None


def build_credentials(settings: Settings) -> "ClaudeCredentials":
    """Return the credentials and the address with which a run reaches its model."""
    from junto.agent.claude_cli import ClaudeCredentials, load_oauth_token

    claude = settings.providers.get("anthropic")
    token = os.environ.get("CLAUDE_CODE_OAUTH_TOKEN") or load_oauth_token(os.environ, time.time())
    return ClaudeCredentials(
        api_key=claude.api_key.get_secret_value() if claude.api_key else None,
        oauth_token=token,
        base_url=claude.base_url,
        extra_environment={
            name: os.environ[name] for name in settings.agent.environment if name in os.environ
        },
    )


def _check_user(name: str | None) -> None:
    from junto.agent.claude_cli import find_user

    try:
        user = find_user(name)
    except KeyError:
        raise ConfigurationError(f"agent.user: there is no user {name}.") from None
    if user and os.geteuid() not in (0, user.pw_uid):
        raise ConfigurationError(f"agent.user: only root can run it as {name}.")
