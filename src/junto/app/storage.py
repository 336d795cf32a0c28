"""Builds the stores from settings: SQLite or PostgreSQL, and the signals between servers."""

from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from junto.domain.conversations import ConversationStore
from junto.domain.documents import DocumentStore, SearchIndex, VectorStore
from junto.domain.errors import ConfigurationError
from junto.domain.jobs import JobStore
from junto.domain.limits import BudgetAccountStore
from junto.domain.pubsub import PubSub
from junto.domain.sessions import SessionStore
from junto.domain.usage import UsageStore
from junto.runtime.lazy import Lazy
from junto.settings.schema import Settings

if TYPE_CHECKING:
    from junto.storage.sqlite.vector_files import VectorFiles


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores, all in one database."""

    conversations: ConversationStore
    jobs: JobStore
    sessions: SessionStore
    documents: DocumentStore
    search: SearchIndex
    usage: UsageStore
    accounts: BudgetAccountStore
    # Created late, because numpy takes a while to import.
    open_vectors: Callable[[], VectorStore]


def build_stores(settings: Settings, state_dir: Path, stack: AsyncExitStack) -> Stores:
    """Return the stores; the database is opened on first use."""
    if settings.database.url is None:
        return _build_sqlite_stores(settings, state_dir, stack)
    return _build_postgres_stores(settings.database.url.get_secret_value(), stack)


def _build_sqlite_stores(settings: Settings, state_dir: Path, stack: AsyncExitStack) -> Stores:
    from junto.storage.sqlite.conversations import SqliteConversations
    from junto.storage.sqlite.database import SqliteDatabase
    from junto.storage.sqlite.documents import SqliteDocuments
    from junto.storage.sqlite.jobs import SqliteJobs
    from junto.storage.sqlite.search import SqliteSearch
    from junto.storage.sqlite.sessions import SqliteSessions
    from junto.storage.sqlite.usage import SqliteBudgetAccounts, SqliteUsage

    file = Lazy(lambda: SqliteDatabase.open(state_dir / "junto.db"), stack)

    @cache
    def open_vector_files() -> "VectorFiles":
        with _explain_missing_packages():
            from junto.storage.sqlite.vector_files import VectorFiles

        made = VectorFiles(state_dir / "vectors", settings.knowledge.exact_up_to)
        stack.callback(made.close)
        return made

    def open_vectors() -> VectorStore:
        with _explain_missing_packages():
            from junto.storage.sqlite.vector_store import SqliteVectors

        return SqliteVectors(file, open_vector_files)

    return Stores(
        SqliteConversations(file),
        SqliteJobs(file),
        SqliteSessions(file),
        SqliteDocuments(file),
        SqliteSearch(file, open_vector_files),
        SqliteUsage(file),
        SqliteBudgetAccounts(file),
        open_vectors,
    )


@contextmanager
def _explain_missing_packages() -> Iterator[None]:
    """Turn a missing package into an error that names the extra to install."""
    try:
        yield
    except ImportError:
        raise ConfigurationError("Vectors in SQLite need: pip install 'junto[embedded]'.") from None


def _build_postgres_stores(url: str, stack: AsyncExitStack) -> Stores:
    from junto.storage.postgres.conversations import PostgresConversations
    from junto.storage.postgres.database import PostgresDatabase
    from junto.storage.postgres.documents import PostgresDocuments
    from junto.storage.postgres.jobs import PostgresJobs
    from junto.storage.postgres.search import PostgresSearch
    from junto.storage.postgres.sessions import PostgresSessions
    from junto.storage.postgres.usage import PostgresBudgetAccounts, PostgresUsage
    from junto.storage.postgres.vector_store import PostgresVectors

    server = Lazy(lambda: PostgresDatabase.open(url), stack)
    return Stores(
        PostgresConversations(server),
        PostgresJobs(server),
        PostgresSessions(server),
        PostgresDocuments(server),
        PostgresSearch(server),
        PostgresUsage(server),
        PostgresBudgetAccounts(server),
        lambda: PostgresVectors(server),
    )


def build_signals(settings: Settings, stack: AsyncExitStack) -> PubSub | None:
    """Return the channel to other servers, if Redis is configured."""
    if settings.redis.url is None:
        return None
    from junto.storage.redis_client import open_redis
    from junto.storage.redis_pubsub import RedisPubSub

    url = settings.redis.url.get_secret_value()
    return RedisPubSub(Lazy(lambda: open_redis(url), stack))
