"""A running Junto, built from settings and taken down again: where the parts meet."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

from junto import __version__
from junto.app.counting import Counting, counting_of
from junto.app.embeddings import embedder_of
from junto.app.knowledge import Knowledge, knowledge_of
from junto.app.memory import conversations_of, jobs_of, signals_of, stores_of
from junto.app.models import catalog_of, council_of, refreshed_lists
from junto.app.surface import Services, surface_of
from junto.conversation.service import Conversations
from junto.conversation.sweeping import Sweeper
from junto.domain.sessions import SessionStore
from junto.jobs.service import Jobs
from junto.providers.catalog.catalog import Catalog
from junto.providers.deferred import Deferred
from junto.providers.provider import Provider
from junto.security.secrets import Redactor
from junto.settings import Loaded
from junto.settings.choices import LogOutput, Reach
from junto.settings.places import log_directory, state_directory
from junto.settings.showing import secrets_in
from junto.settings.tree import Settings
from junto.telemetry.logs import Log, Sinks, logging_to
from junto.telemetry.metrics import Metrics
from junto.tools.guard import Guard
from junto.tools.servers import servers_of
from junto.tools.status import Status
from junto.tools.surface import Surface

_log = Log.of("app")

# A start has better things to do; whoever stays so long will want to know.
_BEFORE_REFRESH = 3.0


@dataclass(frozen=True, slots=True)
class Junto:
    """Everything a transport needs to serve."""

    settings: Settings
    surface: Surface
    counting: Counting
    status: Status
    catalog: Catalog
    council: Provider
    conversations: Conversations
    jobs: Jobs
    sessions: SessionStore
    knowledge: Knowledge
    _stack: AsyncExitStack

    @property
    def metrics(self) -> Metrics:
        """Return the numbers of this process."""
        return self.counting.metrics

    @asynccontextmanager
    async def alone(self) -> AsyncIterator["Junto"]:
        """Do nothing in the background, and close at the end what was opened meanwhile."""
        async with self._stack:
            try:
                yield self
            finally:
                await self.counting.close()

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Junto"]:
        """Do what is done in the background, and close at the end what was opened meanwhile."""
        async with self.alone(), AsyncExitStack() as background:
            refresh = asyncio.create_task(_refreshed(self.catalog))
            background.callback(refresh.cancel)
            retention = self.settings.conversations.retention
            if self.conversations.store and retention:
                sweeper = Sweeper(self.conversations.store, retention, self.sessions)
                await background.enter_async_context(sweeper.running())
            await background.enter_async_context(self.counting.open())
            await background.enter_async_context(self.knowledge.open())
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
        status, stack = Status(__version__), AsyncExitStack()
        stores = stores_of(settings, state, stack)
        counting = counting_of(settings, stores, stack)
        catalog = catalog_of(settings, state)
        council = Deferred(lambda: council_of(settings, catalog, state, counting), stack)
        for warning in (*loaded.warnings, *catalog.warnings()):
            _log.warning(warning)
        _log.debug("configuration loaded", files=[str(path) for path in loaded.files])
        conversations = conversations_of(settings, catalog, council, stores.conversations)
        jobs = jobs_of(settings, stores.jobs, state, signals_of(settings, stack), counting.metrics)
        guard = Guard(counting.metrics, redactor, counting.book)
        servers = servers_of(settings.servers)
        for server in servers:
            stack.push_async_callback(server.close)
        embedder = embedder_of(settings, state, stack, redactor, counting.book)
        knowledge = knowledge_of(settings, stores, embedder)
        services = Services(
            conversations=conversations,
            jobs=jobs,
            status=status,
            servers=servers,
            sessions=stores.sessions,
            knowledge=knowledge,
            usage=counting.reports,
            state=state,
        )
        surface = surface_of(loaded, guard, services, reach)
        yield Junto(
            settings,
            surface,
            counting,
            status,
            catalog,
            council,
            conversations,
            jobs,
            stores.sessions,
            knowledge,
            stack,
        )


def _sinks(settings: Settings, default_level: str) -> Sinks:
    output = settings.logging.output
    return Sinks(
        level=settings.logging.level or default_level,
        stderr=output in (LogOutput.STDERR, LogOutput.BOTH),
        directory=log_directory(settings) if output in (LogOutput.FILES, LogOutput.BOTH) else None,
    )
