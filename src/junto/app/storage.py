"""The memory of a running Junto, built from its settings."""

from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from junto.conversation.history import History
from junto.conversation.service import Conversations
from junto.domain.conversations import ConversationStore
from junto.domain.documents import DocumentStore, SearchIndex, VectorStore
from junto.domain.errors import ConfigurationError
from junto.domain.ids import new_id
from junto.domain.jobs import JobStore
from junto.domain.limits import Accounts, Rate, RateLimiter
from junto.domain.sessions import SessionStore
from junto.domain.signals import Signals
from junto.domain.usage import UsageStore
from junto.jobs.presence import Presence
from junto.jobs.service import Bounds, Jobs
from junto.providers.catalog.catalog import Catalog
from junto.providers.provider import Provider
from junto.settings.tree import Settings
from junto.storage.lazily import Lazily
from junto.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from junto.storage.sqlite.vectors import VectorFiles

# No number of tokens is too many for a pace.
_ANY = 2**31


@dataclass(frozen=True, slots=True)
class Stores:
    """Where everything is kept, in one database."""

    conversations: ConversationStore
    jobs: JobStore
    sessions: SessionStore
    documents: DocumentStore
    search: SearchIndex
    usage: UsageStore
    accounts: Accounts
    # Opened late: it needs a library that takes a while to import.
    vectors: Callable[[], VectorStore]


def stores_of(settings: Settings, state: Path, stack: AsyncExitStack) -> Stores:
    """Return where everything is kept; nothing is opened before it is used."""
    if settings.database.url is None:
        return _in_a_file(settings, state, stack)
    return _on_a_server(settings.database.url.get_secret_value(), stack)


def _in_a_file(settings: Settings, state: Path, stack: AsyncExitStack) -> Stores:
    from junto.storage.sqlite.accounts import SqliteAccounts
    from junto.storage.sqlite.conversations import SqliteConversations
    from junto.storage.sqlite.database import Database
    from junto.storage.sqlite.documents import SqliteDocuments
    from junto.storage.sqlite.jobs import SqliteJobs
    from junto.storage.sqlite.searching import SqliteSearch
    from junto.storage.sqlite.sessions import SqliteSessions
    from junto.storage.sqlite.usage import SqliteUsage

    file = Lazily(lambda: Database.opened(state / "junto.db"), stack)

    @cache
    def files() -> "VectorFiles":
        with _installed():
            from junto.storage.sqlite.vectors import VectorFiles

        made = VectorFiles(state / "vectors", settings.knowledge.exact_up_to)
        stack.callback(made.close)
        return made

    def vectors() -> VectorStore:
        with _installed():
            from junto.storage.sqlite.placing import SqliteVectors

        return SqliteVectors(file, files)

    return Stores(
        SqliteConversations(file),
        SqliteJobs(file),
        SqliteSessions(file),
        SqliteDocuments(file),
        SqliteSearch(file, files),
        SqliteUsage(file),
        SqliteAccounts(file),
        vectors,
    )


@contextmanager
def _installed() -> Iterator[None]:
    """Say what to install, if something is not."""
    try:
        yield
    except ImportError:
        raise ConfigurationError("Vectors in SQLite need: pip install 'junto[embedded]'.") from None


def _on_a_server(url: str, stack: AsyncExitStack) -> Stores:
    from junto.storage.postgres.accounts import PostgresAccounts
    from junto.storage.postgres.conversations import PostgresConversations
    from junto.storage.postgres.database import Database
    from junto.storage.postgres.documents import PostgresDocuments
    from junto.storage.postgres.jobs import PostgresJobs
    from junto.storage.postgres.placing import PostgresVectors
    from junto.storage.postgres.searching import PostgresSearch
    from junto.storage.postgres.sessions import PostgresSessions
    from junto.storage.postgres.usage import PostgresUsage

    server = Lazily(lambda: Database.opened(url), stack)
    return Stores(
        PostgresConversations(server),
        PostgresJobs(server),
        PostgresSessions(server),
        PostgresDocuments(server),
        PostgresSearch(server),
        PostgresUsage(server),
        PostgresAccounts(server),
        lambda: PostgresVectors(server),
    )


def signals_of(settings: Settings, stack: AsyncExitStack) -> Signals | None:
    """Return the way to other servers, if there is one."""
    if settings.redis.url is None:
        return None
    from junto.storage.redis_server import connected
    from junto.storage.redis_signals import RedisSignals

    url = settings.redis.url.get_secret_value()
    return RedisSignals(Lazily(lambda: connected(url), stack))


def jobs_of(
    settings: Settings, store: JobStore, state: Path, signals: Signals | None, metrics: Metrics
) -> Jobs:
    """Return the service that runs what may be long."""
    chosen = settings.jobs
    return Jobs(
        store=store,
        signals=signals,
        metrics=metrics,
        presence=Presence(state / "servers", new_id()),
        bounds=Bounds(
            concurrent=chosen.concurrent,
            seconds=chosen.time_limit,
            drain=chosen.drain,
            retention=chosen.retention,
        ),
    )


def _limiter() -> RateLimiter:
    from junto.providers.pipeline.limits import LocalLimiter  # for those who want it

    return LocalLimiter()


def conversations_of(
    settings: Settings, catalog: Catalog, council: Provider, store: ConversationStore
) -> Conversations:
    """Return the service that answers within conversations."""
    chosen = settings.conversations
    kept = store if chosen.enabled else None
    often = settings.guards.session_requests_per_minute
    return Conversations(
        council=council,
        catalog=catalog,
        answers=settings.answers,
        store=kept,
        history=History(kept, chosen.context, chosen.max_history) if kept else None,
        limiter=_limiter() if often else None,
        pace=Rate(often, _ANY) if often else None,
    )
