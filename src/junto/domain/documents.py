"""Searchable documents, their passages and vectors, and the protocols of stores and indexes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

# The owner of documents that every caller may see.
PUBLIC_OWNER = ""


class Source(StrEnum):
    """Where a document comes from."""

    DOCUMENTS = "documents"
    NOTES = "notes"
    CONVERSATIONS = "conversations"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A searchable document; its text is stored separately."""

    id: str
    owner: str
    source: Source
    url: str
    title: str
    kind: str  # markdown, code, pdf, …
    digest: str  # of the content when it was indexed
    size: int  # in bytes, when it was indexed
    modified: float  # when the content last changed, in seconds since 1970
    indexed: float  # when it was indexed
    length: int  # of its text, in characters
    folder: str = ""  # URL of its folder, if it has one
    message: int | None = None  # key of the message, if the document is a message


@dataclass(frozen=True, slots=True)
class Span:
    """A section of a document's text, from `start` to `end`, and the headings above it."""

    start: int
    end: int
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document to be saved, with its text and the spans of its passages."""

    document: Document
    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnindexedMessage:
    """A message that is not indexed as a document yet."""

    key: int
    owner: str
    conversation: str
    position: int
    role: str
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class IndexedState:
    """The facts that tell whether a document has changed since it was indexed."""

    id: str
    digest: str
    size: int
    modified: float
    indexed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchScope:
    """The documents that a search covers."""

    owner: str
    sources: tuple[Source, ...] = ()  # all, if empty
    kinds: tuple[str, ...] = ()
    path: str | None = None  # substring of the URL
    after: float | None = None  # modified at this time or later
    before: float | None = None  # modified before this time


@dataclass(frozen=True, slots=True)
class Match:
    """A search hit: the keys of a passage and of its document, and a score."""

    key: int
    document_key: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage of a document, with its text."""

    key: int
    document: Document
    start: int
    end: int
    headings: tuple[str, ...]
    text: str
    # Set if the document is a message: its author, its position and its conversation.
    role: str | None = None
    position: int | None = None
    conversation: str | None = None


@dataclass(frozen=True, slots=True)
class PendingPassage:
    """A passage that has no vector yet."""

    key: int
    text: str  # with its headings


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The name of an embedding model and the dimension of its vectors."""

    name: str
    dimension: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStats:
    """The size of the index for one source."""

    source: Source
    documents: int
    passages: int
    characters: int


class DocumentStore(Protocol):
    """A store of documents."""

    async def save(self, entries: Sequence[DocumentEntry]) -> None:
        """Insert or replace documents by id, in one transaction.

        Passages whose text has not changed keep their vectors.
        """
        ...

    async def list_unindexed_messages(self, limit: int) -> tuple[UnindexedMessage, ...]:
        """Return messages that are not indexed yet, latest first."""
        ...

    async def load_indexed_states(self, owner: str, folder: str) -> Mapping[str, IndexedState]:
        """Return the indexed states of the documents directly in a folder, by URL."""
        ...

    async def list_folders(self, owner: str, root: str, after: str, limit: int) -> tuple[str, ...]:
        """Return the folders with documents at or below `root`, sorted, those after `after`."""
        ...

    async def update_indexed_states(self, owner: str, states: Sequence[IndexedState]) -> None:
        """Update the states of documents whose content has not changed."""
        ...

    async def delete(self, owner: str, ids: Sequence[str]) -> int:
        """Delete documents; return how many existed."""
        ...

    async def find(self, owner: str, id_or_url: str) -> Document | None:
        """Return a document that `owner` may see."""
        ...

    async def read_text(self, owner: str, id_: str, start: int, end: int) -> str:
        """Return the text from `start` to `end` of a document that `owner` may see."""
        ...

    async def list_documents(
        self, scope: SearchScope, after: str, limit: int
    ) -> tuple[Document, ...]:
        """Return documents sorted by URL, those after the URL `after`."""
        ...

    async def load_index_stats(self, owner: str) -> tuple[IndexStats, ...]:
        """Return the statistics of the documents that `owner` may see, by source."""
        ...


class SearchIndex(Protocol):
    """An index that finds passages by keywords and by vector similarity."""

    async def search_keywords(
        self, scope: SearchScope, phrases: Sequence[str], limit: int
    ) -> tuple[Match, ...]:
        """Return passages that contain some of the phrases, best match first."""
        ...

    async def search_vectors(
        self, scope: SearchScope, model: EmbeddingModel, vector: bytes, limit: int
    ) -> tuple[Match, ...]:
        """Return the passages with the nearest vectors; the score is the cosine similarity."""
        ...

    async def load_passages(self, keys: Sequence[int]) -> Mapping[int, Passage]:
        """Return passages by key, without those that were deleted meanwhile."""
        ...


class VectorStore(Protocol):
    """A store of passage vectors.

    Vectors are bytes: little-endian float32 components, normalized to length one.
    """

    async def list_pending(
        self, model: EmbeddingModel, after: int, limit: int
    ) -> tuple[PendingPassage, ...]:
        """Return passages without a vector of this model, sorted by key, those after `after`."""
        ...

    async def count_pending(self, model: EmbeddingModel) -> int:
        """Return the number of passages without a vector of this model."""
        ...

    async def save_vectors(self, model: EmbeddingModel, vectors: Mapping[int, bytes]) -> None:
        """Save vectors by passage key, and skip passages that were deleted meanwhile."""
        ...

    async def touch_model(self, model: EmbeddingModel, now: float) -> None:
        """Record that a model is in use, if it has vectors."""
        ...

    async def optimize(self, model: EmbeddingModel, unused_since: float) -> None:
        """Delete vectors of other models not used since `unused_since`, and update indexes."""
        ...

    async def acquire_lease(self, holder: str, until: float, now: float) -> bool:
        """Acquire or renew the lease on embedding work; return whether `holder` has it."""
        ...


class Embedder(Protocol):
    """An embedding model that turns texts into vectors."""

    async def model(self) -> EmbeddingModel:
        """Return the model's name and dimension, which may need a first request to it.

        Raises:
            JuntoError: the model is not available; the message says what to do.
        """
        ...

    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        """Return the vector of each text: little-endian float32, normalized to length one.

        Raises:
            JuntoError: embedding failed.
        """
        ...
