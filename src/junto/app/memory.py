"""The memory of a running Junto, built from its settings."""

from contextlib import AsyncExitStack
from pathlib import Path

from junto.conversation.history import History
from junto.conversation.service import Conversations
from junto.domain.conversations import ConversationStore
from junto.providers.catalog.catalog import Catalog
from junto.providers.provider import Provider
from junto.settings.tree import Settings
from junto.storage.lazily import Lazily


def store_of(settings: Settings, state: Path, stack: AsyncExitStack) -> ConversationStore:
    """Return where conversations are kept; nothing is opened before it is used."""
    if settings.database.url is None:
        from junto.storage.sqlite.conversations import SqliteConversations
        from junto.storage.sqlite.database import Database

        return SqliteConversations(Lazily(lambda: Database.opened(state / "junto.db"), stack))
    from junto.storage.postgres.conversations import PostgresConversations
    from junto.storage.postgres.database import Database as Server

    url = settings.database.url.get_secret_value()
    return PostgresConversations(Lazily(lambda: Server.opened(url), stack))


def conversations_of(
    settings: Settings, catalog: Catalog, council: Provider, store: ConversationStore
) -> Conversations:
    """Return the service that answers within conversations."""
    chosen = settings.conversations
    kept = store if chosen.enabled else None
    return Conversations(
        council=council,
        catalog=catalog,
        answers=settings.answers,
        store=kept,
        history=History(kept, chosen.context, chosen.max_history) if kept else None,
    )
