"""Documents that can be searched, the passages they are cut into, and who keeps them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

# The owner of what every caller may see.
EVERYONE = ""


class Source(StrEnum):
    """Where a document comes from."""

    DOCUMENTS = "documents"
    NOTES = "notes"
    CONVERSATIONS = "conversations"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Something to be found; its text is kept apart."""

    id: str
    owner: str
    source: Source
    url: str
    title: str
    kind: str  # markdown, code, pdf, …
    digest: str  # of the content as it was read
    size: int  # in bytes, as it was read
    modified: float  # when the content was changed, in seconds
    indexed: float  # when it was read
    length: int  # of its text, in characters
    folder: str = ""  # the address of the folder around it, if there is one
    message: int | None = None  # the key of the message that it is, if it is one


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a document's text, from `start` to `end`, and the headings above it."""

    start: int
    end: int
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A document as it is put into the store."""

    document: Document
    text: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A message that is no document yet."""

    key: int
    owner: str
    conversation: str
    position: int
    role: str
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    """What tells whether a document has changed since it was read."""

    id: str
    digest: str
    size: int
    modified: float
    indexed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is searched: whose documents, and which of them."""

    owner: str
    sources: tuple[Source, ...] = ()  # all, if empty
    kinds: tuple[str, ...] = ()
    path: str | None = None  # part of the address
    after: float | None = None  # changed then or later
    before: float | None = None  # changed earlier


@dataclass(frozen=True, slots=True)
class Match:
    """A passage that was found, its document, both by key, and how well it fits by one measure."""

    key: int
    document: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A part of a document, to be shown."""

    key: int
    document: Document
    start: int
    end: int
    path: tuple[str, ...]
    text: str
    # For a message: who said it, where, and in which conversation.
    role: str | None = None
    position: int | None = None
    conversation: str | None = None


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A passage without a vector yet."""

    key: int
    text: str  # its headings and its words


@dataclass(frozen=True, slots=True)
class Model:
    """What makes vectors, by name, and how long they are."""

    name: str
    dimension: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """How much of a source there is."""

    source: Source
    documents: int
    passages: int
    characters: int


class DocumentStore(Protocol):
    """Keeps documents."""

    async def keep(self, entries: Sequence[Entry]) -> None:
        """Put documents in, each in the place of the one with its id, in one step.

        Passages whose words stay the same stay, with their vectors.
        """
        ...

    async def unread(self, most: int) -> tuple[Spoken, ...]:
        """Return messages that are no documents yet, the latest first."""
        ...

    async def known(self, owner: str, folder: str) -> Mapping[str, Known]:
        """Return what is known of the documents right in a folder, by address."""
        ...

    async def folders(self, owner: str, beneath: str, after: str, most: int) -> tuple[str, ...]:
        """Return folders at or beneath an address that have documents, in order, after one."""
        ...

    async def confirm(self, owner: str, known: Sequence[Known]) -> None:
        """Note what documents look like now, whose content has not changed."""
        ...

    async def forget(self, owner: str, ids: Sequence[str]) -> int:
        """Remove documents; return how many there were."""
        ...

    async def find(self, owner: str, id_or_url: str) -> Document | None:
        """Return a document that `owner` may see."""
        ...

    async def text(self, owner: str, id_: str, start: int, end: int) -> str:
        """Return a part of the text of a document that `owner` may see."""
        ...

    async def listed(self, scope: Scope, after: str, most: int) -> tuple[Document, ...]:
        """Return documents in the order of their addresses, after one."""
        ...

    async def stock(self, owner: str) -> tuple[Stock, ...]:
        """Return how much there is that `owner` may see."""
        ...


class SearchIndex(Protocol):
    """Finds passages, by words and by meaning."""

    async def by_words(self, scope: Scope, phrases: Sequence[str], most: int) -> tuple[Match, ...]:
        """Return passages with some of these words, the best first."""
        ...

    async def by_meaning(
        self, scope: Scope, model: Model, vector: bytes, most: int
    ) -> tuple[Match, ...]:
        """Return passages whose vectors are near, the nearest first; the score is the cosine."""
        ...

    async def passages(self, keys: Sequence[int]) -> Mapping[int, Passage]:
        """Return passages by key; some may be gone."""
        ...


class VectorStore(Protocol):
    """Keeps the vectors of passages.

    Vectors are bytes: numbers of four bytes, little end first, of length one.
    """

    async def unplaced(self, model: Model, after: int, most: int) -> tuple[Unplaced, ...]:
        """Return passages without a vector of this model, in the order of their keys, after one."""
        ...

    async def left(self, model: Model) -> int:
        """Return how many passages have no vector of this model."""
        ...

    async def place(self, model: Model, vectors: Mapping[int, bytes]) -> None:
        """Keep vectors, by the key of their passage; those of passages that are gone are not."""
        ...

    async def use(self, model: Model, now: float) -> None:
        """Note that a model is in use, if it has vectors."""
        ...

    async def settle(self, model: Model, before: float) -> None:
        """Drop what other models made that nobody has used since, and make searching quick."""
        ...

    async def hold(self, holder: str, until: float, now: float) -> bool:
        """Have the work on vectors for `holder` alone until then; tell whether nobody else has."""
        ...
