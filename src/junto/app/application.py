"""The application: the services of a running Junto, without any protocol on top.

Commands use it directly; `app.server` builds the MCP server on it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from junto.app.models import build_catalog, build_embedder, open_council, refresh_model_lists
from junto.app.services import (
    KnowledgeServices,
    build_conversations,
    build_jobs,
    build_knowledge,
)
from junto.app.storage import build_signals, build_stores
from junto.app.usage import UsageTracker, build_usage_tracker
from junto.conversation.retention import Sweeper
from junto.conversation.service import Conversations
from junto.domain.sessions import SessionStore
from junto.jobs.service import JobService
from junto.providers.catalog.catalog import Catalog
from junto.providers.provider import LazyProvider, Provider
from junto.security.redaction import Redactor
from junto.settings import LoadedSettings
from junto.settings.enums import LogOutput
from junto.settings.paths import resolve_log_dir, resolve_state_dir
from junto.settings.render import iter_secrets
from junto.settings.schema import Settings
from junto.telemetry.logs import Log, LogSinks, configure_logging
from junto.telemetry.metrics import Metrics
from junto.telemetry.server_status import ServerStatus
from junto.version import __version__

_log = Log.get("app")

# Long enough for a start, or a short command, not to be slowed down by it.
_REFRESH_DELAY_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The services, built from settings; `open` runs them."""

    loaded: LoadedSettings
    redactor: Redactor
    state_dir: Path
    status: ServerStatus
    usage: UsageTracker
    catalog: Catalog
    council: Provider
    conversations: Conversations
    jobs: JobService
    sessions: SessionStore
    knowledge: KnowledgeServices
    # Closes, at the end of `open`, what was opened meanwhile.
    stack: AsyncExitStack

    @property
    def settings(self) -> Settings:
        """The settings that the application was built from."""
        return self.loaded.settings

    @property
    def metrics(self) -> Metrics:
        """The metrics of this process."""
        return self.usage.metrics

    @asynccontextmanager
    async def open(self, *, background: bool = True) -> AsyncIterator["Application"]:
        """Run the services, and close at the end what was opened meanwhile.

        With `background`, also run what a server does between calls: refresh the lists of models,
        delete what has expired, write usage, embed documents, supervise jobs.
        """
        async with AsyncExitStack() as running:
            await running.enter_async_context(self.stack)
            running.push_async_callback(self.usage.close)
            if background:
                await self._start_background(running)
            yield self

    async def _start_background(self, running: AsyncExitStack) -> None:
        refresh = asyncio.create_task(_refresh_stale_lists(self.catalog))
        running.callback(refresh.cancel)
        retention = self.settings.conversations.retention
        if self.conversations.store and retention:
            sweeper = Sweeper(self.conversations.store, retention, self.sessions)
            await running.enter_async_context(sweeper.run_in_background())
        await running.enter_async_context(self.usage.open())
        await running.enter_async_context(self.knowledge.open())
        await running.enter_async_context(self.jobs.open())


async def _refresh_stale_lists(catalog: Catalog) -> None:
    await asyncio.sleep(_REFRESH_DELAY_SECONDS)
    if catalog.lists.find_stale():
        await refresh_model_lists(catalog)


@contextmanager
def build_app(loaded: LoadedSettings, *, default_level: str) -> Iterator[Application]:
    """Build the application with its logs configured, which ends with the block.

    Raises:
        ConfigurationError: the settings are inconsistent.
    """
    settings = loaded.settings
    redactor = Redactor(iter_secrets(settings))
    with configure_logging(_build_sinks(settings, default_level), redactor):
        state_dir, stack = resolve_state_dir(settings), AsyncExitStack()
        stores = build_stores(settings, state_dir, stack)
        usage = build_usage_tracker(settings, stores, stack)
        catalog = build_catalog(settings, state_dir)
        council = LazyProvider(lambda: open_council(settings, catalog, state_dir, usage), stack)
        for warning in (*loaded.warnings, *catalog.iter_warnings()):
            _log.warning(warning)
        _log.debug("configuration loaded", files=[str(path) for path in loaded.files])
        signals = build_signals(settings, stack)
        embedder = build_embedder(settings, state_dir, stack, redactor, usage.recorder)
        yield Application(
            loaded=loaded,
            redactor=redactor,
            state_dir=state_dir,
            status=ServerStatus(__version__),
            usage=usage,
            catalog=catalog,
            council=council,
            conversations=build_conversations(settings, catalog, council, stores.conversations),
            jobs=build_jobs(settings, stores.jobs, state_dir, signals, usage.metrics),
            sessions=stores.sessions,
            knowledge=build_knowledge(settings, stores, embedder),
            stack=stack,
        )


def _build_sinks(settings: Settings, default_level: str) -> LogSinks:
    output = settings.logging.output
    to_files = output in (LogOutput.FILES, LogOutput.BOTH)
    return LogSinks(
        level=settings.logging.level or default_level,
        stderr=output in (LogOutput.STDERR, LogOutput.BOTH),
        directory=resolve_log_dir(settings) if to_files else None,
    )
