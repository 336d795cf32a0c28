"""Builds the services: conversations, jobs and knowledge."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from junto.app.storage import Stores
from junto.conversation.context import ContextBuilder
from junto.conversation.service import Conversations
from junto.domain.conversations import ConversationStore
from junto.domain.documents import Embedder, Source
from junto.domain.ids import new_id
from junto.domain.jobs import JobStore
from junto.domain.limits import RateLimit, RateLimiter
from junto.domain.pubsub import PubSub
from junto.jobs.liveness import Liveness
from junto.jobs.service import JobLimits, JobService
from junto.knowledge.documents import DocumentLibrary
from junto.knowledge.embedding_worker import EmbeddingWorker
from junto.knowledge.search import Search, SearchThresholds
from junto.providers.catalog.catalog import Catalog
from junto.providers.provider import Provider
from junto.settings.schema import Settings
from junto.telemetry.metrics import Metrics

# Conversations are limited by requests, not by tokens.
_UNLIMITED_TOKENS = 2**31


@dataclass(frozen=True, slots=True)
class KnowledgeServices:
    """Search, documents and the embedding worker."""

    search: Search
    documents: DocumentLibrary
    embedding_worker: EmbeddingWorker | None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Index messages and embed passages in the background."""
        if self.embedding_worker is None:
            yield
            return
        async with self.embedding_worker.run_in_background():
            yield


def build_knowledge(
    settings: Settings, stores: Stores, embedder: Embedder | None
) -> KnowledgeServices:
    """Return the knowledge services."""
    chosen = settings.knowledge
    remembers = settings.conversations.enabled
    news = asyncio.Event()
    library = DocumentLibrary(stores.documents, news, includes_conversations=remembers)
    prepare = library.index_messages if remembers else None
    placing = EmbeddingWorker(stores.open_vectors, embedder, news, prepare) if embedder else None
    standards = SearchThresholds(chosen.threshold, chosen.similarity, chosen.trust)
    everyday = (Source.DOCUMENTS, Source.NOTES, *((Source.CONVERSATIONS,) if remembers else ()))
    search = Search(stores.search, embedder, standards, library.refresh, everyday)
    return KnowledgeServices(search, library, placing)


def build_jobs(
    settings: Settings, store: JobStore, state_dir: Path, signals: PubSub | None, metrics: Metrics
) -> JobService:
    """Return the job service."""
    chosen = settings.jobs
    return JobService(
        store=store,
        signals=signals,
        metrics=metrics,
        liveness=Liveness(state_dir / "servers", new_id()),
        limits=JobLimits(
            max_concurrent=chosen.concurrent,
            timeout_seconds=chosen.time_limit,
            drain_seconds=chosen.drain,
            retention_seconds=chosen.retention,
        ),
    )


def _build_limiter() -> RateLimiter:
    from junto.providers.middleware.limits import InMemoryRateLimiter

    return InMemoryRateLimiter()


def build_conversations(
    settings: Settings, catalog: Catalog, council: Provider, store: ConversationStore
) -> Conversations:
    """Return the conversation service."""
    chosen = settings.conversations
    kept = store if chosen.enabled else None
    often = settings.guards.session_requests_per_minute
    return Conversations(
        provider=council,
        catalog=catalog,
        answer_settings=settings.answers,
        store=kept,
        context_builder=ContextBuilder(kept, chosen.context, chosen.max_history) if kept else None,
        rate_limiter=_build_limiter() if often else None,
        rate=RateLimit(often, _UNLIMITED_TOKENS) if often else None,
    )
