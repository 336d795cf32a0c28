"""A running Junto, built from settings and taken down again: where the parts meet."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from junto import __version__
from junto.app.kit import kit_of, roots_of
from junto.app.memory import conversations_of, jobs_of, signals_of, stores_of
from junto.app.models import catalog_of, council_of, refreshed_lists
from junto.conversation.reading import Reader
from junto.conversation.service import Conversations
from junto.conversation.sweeping import Sweeper
from junto.conversation.tool_loop import Toolbox
from junto.jobs.service import Jobs
from junto.kit.attachments import Attachments
from junto.kit.files import Files
from junto.providers.catalog.catalog import Catalog
from junto.providers.deferred import Deferred
from junto.providers.provider import Provider
from junto.security.paths import Roots
from junto.security.secrets import Redactor
from junto.settings import Loaded
from junto.settings.showing import as_facts, secrets_in
from junto.settings.tree import LogOutput, Reach, Settings
from junto.telemetry.logs import Log, Sinks, logging_to
from junto.telemetry.metrics import Metrics
from junto.tools.chat import chat, query
from junto.tools.completions import LANGUAGES, Completions
from junto.tools.files import file_template
from junto.tools.guard import Guard
from junto.tools.jobs import job
from junto.tools.long import LongCalls
from junto.tools.memory import conversation_history, list_conversations, search_history
from junto.tools.models import list_models
from junto.tools.prompts import Prompts, house_prompts
from junto.tools.registry import Registry
from junto.tools.resources import Resources
from junto.tools.screening import Screened
from junto.tools.servers import Server, ServerTools, servers_of
from junto.tools.status import Status, config_resource, health_resource
from junto.tools.stories import conversation_ids, conversation_template
from junto.tools.surface import Surface
from junto.tools.tasks import Tasks
from junto.tools.tool import Call, Tool
from junto.tools.toolbox import OwnTools

_log = Log.of("app")

DESCRIPTION = "A council of models with one memory, for any MCP client."
_INSTRUCTIONS = "Junto gives you other models and local tools."
_ABOUT_TOOLS = {
    "chat": "chat asks another model and remembers; pass conversationId to go on.",
    "list_models": "list_models shows which models can be asked.",
    "job": "A long call goes on as a job, which job finds; background: true asks for that.",
    "search_history": "search_history finds what was said before.",
    "current_time": "current_time tells the time in any zone.",
    "read_file": "read_file and its like reach only the allowed folders.",
    "get_env": "get_env reads one environment variable of the server; secrets are never shown.",
}
_ABOUT_ALL = """\
An error says what to change and whether trying again can help. The resource config://server shows \
the settings in force and where each comes from."""


def _instructions(tools: Registry) -> str:
    offered = set(tools.names)
    about = [sentence for name, sentence in _ABOUT_TOOLS.items() if name in offered]
    return " ".join([_INSTRUCTIONS, *about, _ABOUT_ALL])


# A start has better things to do; whoever stays so long will want to know.
_BEFORE_REFRESH = 3.0


@dataclass(frozen=True, slots=True)
class Junto:
    """Everything a transport needs to serve."""

    settings: Settings
    surface: Surface
    metrics: Metrics
    status: Status
    catalog: Catalog
    council: Provider
    conversations: Conversations
    jobs: Jobs
    _stack: AsyncExitStack

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Junto"]:
        """Do what is done in the background, and close at the end what was opened meanwhile."""
        async with self._stack, AsyncExitStack() as background:
            refresh = asyncio.create_task(_refreshed(self.catalog))
            background.callback(refresh.cancel)
            retention = self.settings.conversations.retention
            if self.conversations.store and retention:
                sweeper = Sweeper(self.conversations.store, retention)
                await background.enter_async_context(sweeper.running())
            await background.enter_async_context(self.jobs.open())
            yield self


async def _refreshed(catalog: Catalog) -> None:
    await asyncio.sleep(_BEFORE_REFRESH)
    if catalog.lists.stale():
        await refreshed_lists(catalog)


@contextmanager
def running(loaded: Loaded, *, default_level: str, reach: Reach = Reach.ALL) -> Iterator[Junto]:
    """Build a Junto from settings, with its logs open, and take it down at the end.

    Raises:
        ConfigurationError: the settings do not fit together.
    """
    settings = loaded.settings
    redactor = Redactor(secrets_in(settings))
    with logging_to(_sinks(settings, default_level), redactor):
        state = state_directory(settings)
        metrics, status, stack = Metrics(), Status(__version__), AsyncExitStack()
        catalog = catalog_of(settings, state)
        council = Deferred(lambda: council_of(settings, catalog, state, metrics), stack)
        for warning in (*loaded.warnings, *catalog.warnings()):
            _log.warning(warning)
        _log.debug("configuration loaded", files=[str(path) for path in loaded.files])
        stores = stores_of(settings, state, stack)
        conversations = conversations_of(settings, catalog, council, stores.conversations)
        jobs = jobs_of(settings, stores.jobs, state, signals_of(settings, stack), metrics)
        guard = Guard(metrics, redactor)
        servers = servers_of(settings.servers)
        for server in servers:
            stack.push_async_callback(server.close)
        services = _Services(conversations, jobs, status, servers)
        surface = _surface(loaded, guard, services, reach)
        yield Junto(
            settings, surface, metrics, status, catalog, council, conversations, jobs, stack
        )


def _sinks(settings: Settings, default_level: str) -> Sinks:
    output = settings.logging.output
    return Sinks(
        level=settings.logging.level or default_level,
        stderr=output in (LogOutput.STDERR, LogOutput.BOTH),
        directory=log_directory(settings) if output in (LogOutput.FILES, LogOutput.BOTH) else None,
    )


def log_directory(settings: Settings) -> Path:
    """Return the folder for log files."""
    return settings.logging.directory or state_directory(settings) / "logs"


def state_directory(settings: Settings) -> Path:
    """Return the folder in which Junto keeps its files."""
    if settings.state_directory:
        return settings.state_directory
    import platformdirs  # only needed by those who keep files

    return platformdirs.user_data_path("junto", appauthor=False)


@dataclass(frozen=True, slots=True)
class _Services:
    conversations: Conversations
    jobs: Jobs
    status: Status
    servers: tuple[Server, ...]


def _surface(loaded: Loaded, guard: Guard, services: _Services, reach: Reach) -> Surface:
    conversations, jobs = services.conversations, services.jobs
    settings, catalog, redactor = loaded.settings, conversations.catalog, guard.redactor
    chosen = settings.jobs
    page = settings.tools.page_size
    reader = Reader(conversations, settings.conversations.truncate_limit)
    roots = roots_of(settings)
    files = Attachments(Roots(()) if reach is Reach.NONE else roots)
    remembering: tuple[Tool[Any], ...] = (
        conversation_history(reader),
        list_conversations(reader),
        search_history(reader),
    )
    # A model may use what is offered, and what is offered holds the tools that ask models.
    offered: list[Registry] = []

    async def toolbox(call: Call) -> Toolbox:
        own = OwnTools(offered[0], call)
        box: Toolbox = own
        if services.servers:
            box = await ServerTools.beside(own, services.servers)
        return Screened(box) if settings.guards.screen_results else box

    tools: tuple[Tool[Any], ...] = (
        chat(conversations, files, toolbox),
        query(conversations, files, toolbox),
        list_models(catalog),
        *(remembering if conversations.store else ()),
        job(jobs, chosen.reply_bytes),
        *kit_of(settings, roots, redactor, reach),
    )
    long = LongCalls(
        jobs=jobs,
        guard=guard,
        patience=chosen.long_call_seconds,
        before_task=chosen.task_seconds,
        kept=chosen.retention,
        most_bytes=chosen.reply_bytes,
    )
    registry = Registry(tools, guard=guard, long=long, off=settings.tools.disabled, page=page)
    offered.append(registry)
    prompts = Prompts(house_prompts(), page=page)
    return Surface(
        name="junto",
        title="Junto",
        version=__version__,
        description=DESCRIPTION,
        instructions=_instructions(registry),
        tools=registry,
        resources=Resources(
            (config_resource(as_facts(loaded)), health_resource(services.status)),
            (
                *((conversation_template(reader),) if conversations.store else ()),
                *(() if reach is Reach.NONE else (file_template(Files(roots)),)),
            ),
            page=page,
        ),
        prompts=prompts,
        completions=Completions(
            {"modelId": lambda: list(catalog.offers()), "language": lambda: LANGUAGES},
            prompts,
            {"id": conversation_ids(reader)} if conversations.store else None,
        ),
        redactor=redactor,
        tasks=Tasks(
            jobs,
            kept=chosen.retention,
            most_bytes=chosen.reply_bytes if "job" in registry.names else None,
        ),
    )
