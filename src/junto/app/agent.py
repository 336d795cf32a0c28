"""The agent of a running Junto, built from its settings, where it is installed."""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from junto.domain.errors import ConfigurationError, InvalidInputError
from junto.domain.sessions import SessionStore
from junto.kit.attachments import Attachments
from junto.security.paths import Roots
from junto.security.secrets import Redactor
from junto.settings.choices import PermissionMode
from junto.settings.tree import Settings
from junto.telemetry.metrics import Metrics
from junto.telemetry.usage import UsageBook
from junto.tools.registry import Registry
from junto.tools.tool import Tool

if TYPE_CHECKING:
    from junto.agent.house import Consulting
    from junto.agent.options import Policy
    from junto.agent.program import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What of the house the agent needs."""

    roots: Roots
    state: Path
    files: Attachments
    sessions: SessionStore
    redactor: Redactor
    metrics: Metrics
    book: UsageBook
    # Our own tools that it may use, if it may use any.
    consulted: Registry


def agent_of(settings: Settings, around: Around) -> Iterator[Tool[Any]]:
    """Yield the agent's tool, if it is wanted and can be had.

    Raises:
        ConfigurationError: there is no such user, or only root could become them.
    """
    from junto.agent.program import found, installed

    chosen = settings.agent
    program = found(chosen.program) if chosen.enabled and installed() else None
    if program is None:
        return
    from junto.agent.house import House
    from junto.agent.places import Places
    from junto.agent.service import Agent
    from junto.tools.agent import claude_code_query

    _check_user(chosen.user)
    house = House(
        program=program,
        roots=around.roots,
        access=lambda: access_of(settings),
        base=_base(around.state, chosen.user),
        hidden=(around.state, *_claude_folder()),
        store=around.sessions,
        clean=around.redactor.text,
        environment=os.environ,
        user=chosen.user,
        confined=chosen.confine,
        writable=tuple(str(folder) for folder in chosen.writable),
        consulting=_consulting(around) if chosen.consult else None,
        starting=asyncio.Semaphore(chosen.starting),
    )
    agent = Agent(
        house=house,
        store=around.sessions,
        places=Places(chosen.concurrent, chosen.waiting),
        metrics=around.metrics,
        book=around.book,
    )
    yield claude_code_query(agent, _policy(settings), around.files, settings.jobs.reply_bytes)


def _base(state: Path, user: str | None) -> Path:
    """Return where runs have their folders: where nobody looks, or where another user can be."""
    return Path(tempfile.gettempdir()) / f"junto-agent-{os.geteuid()}" if user else state / "agent"


def _claude_folder() -> list[Path]:
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return [Path(folder)] if folder else []


def _consulting(around: Around) -> "Consulting":
    from junto.agent.house import Consulting
    from junto.app.consulting import consulted

    tools = around.consulted
    return Consulting(tuple(tools.names), lambda: consulted(tools, around.redactor))


def _policy(settings: Settings) -> "Policy":
    from junto.agent.options import Options, Policy

    chosen = settings.agent
    return Policy(
        defaults=Options(
            cwd=str(chosen.cwd) if chosen.cwd else ".",
            model=chosen.model,
            permission_mode=chosen.permission_mode,
            max_turns=chosen.max_turns,
            allowed_tools=_named("allowed_tools", chosen.allowed_tools),
            disallowed_tools=_named("disallowed_tools", chosen.disallowed_tools),
            max_messages=chosen.max_messages,
            include_system_messages=chosen.include_system_messages,
            seconds=chosen.time_limit,
            max_budget_usd=None if chosen.max_budget is None else float(chosen.max_budget),
        ),
        open=frozenset(chosen.overrides),
        bypass=chosen.allow_bypass or chosen.permission_mode is PermissionMode.BYPASS,
        other_user=chosen.user is not None,
        models={
            entry.id: entry.model_name or entry.id
            for entry in settings.models
            if entry.provider == "anthropic"
        },
    )


def _named(setting: str, tools: tuple[str, ...]) -> tuple[str, ...]:
    from junto.agent.options import tool_names

    try:
        return tool_names(tools)
    except InvalidInputError as error:
        raise ConfigurationError(f"agent.{setting}: {error.message}") from None


def access_of(settings: Settings) -> "Access":
    """Return how the agent gets at its model."""
    from junto.agent.program import Access, login_of

    claude = settings.providers.anthropic
    token = os.environ.get("CLAUDE_CODE_OAUTH_TOKEN") or login_of(os.environ, time.time())
    return Access(
        key=claude.api_key.get_secret_value() if claude.api_key else None,
        token=token,
        base_url=claude.base_url,
        environment={
            name: os.environ[name] for name in settings.agent.environment if name in os.environ
        },
    )


def _check_user(name: str | None) -> None:
    from junto.agent.program import user_named

    try:
        user = user_named(name)
    except KeyError:
        raise ConfigurationError(f"agent.user: there is no user {name}.") from None
    if user and os.geteuid() not in (0, user.pw_uid):
        raise ConfigurationError(f"agent.user: only root can run it as {name}.")
