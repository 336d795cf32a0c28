"""The tools that search, read and add to what Junto knows, and the resource of a document."""

import json
from collections.abc import Iterator
from typing import Any, Self

from pydantic import Field
from typing_extensions import override

from junto.domain.documents import Source
from junto.domain.errors import NotFoundError
from junto.knowledge.documents import RESOURCE_URI_PREFIX, DocumentLibrary, DocumentPage
from junto.knowledge.passages import DOCUMENT_URL_PREFIX
from junto.knowledge.search import Search, SearchResponse
from junto.settings.enums import SearchShape
from junto.tools.base import Arguments, Result
from junto.tools.resources import ResourceTemplate
from junto.tools.services import ToolServices
from junto.tools.summaries import HistoryHit, SearchHit, format_time
from junto.tools.tool import LOCAL_CALLER, READ_ONLY_HINTS, CallContext, Group, Hints, Tool

_MAX_HITS = 10
_NON_DESTRUCTIVE_HINTS = Hints(read_only=False, destructive=False, open_world=False)


def build_tools(services: ToolServices) -> Iterator[Tool[Any]]:
    """Yield the tools of this module."""
    if services.conversations.store:
        yield build_search_history_tool(services.search)
    yield build_search_documents_tool(services.search)
    yield build_search_system_knowledge_tool(services.search)
    yield build_search_tool(services.search, services.settings.tools.search_shape)
    yield build_fetch_tool(services.documents, services.settings.tools.search_shape)
    yield build_add_note_tool(services.documents)


class SearchArguments(Arguments):
    """Arguments of `search`."""

    query: str = Field(
        description="What to find. Filters: path:docs type:pdf source:notes after:2026-01-31."
    )


class TopKArguments(Arguments):
    """Arguments of searches with a configurable number of results."""

    query: str = Field(description="What to find.")
    top_k: int = Field(3, ge=1, le=10, description="Number of results.")


class SearchDocumentsArguments(TopKArguments):
    """Arguments of `search_documents`."""

    top_k: int = Field(5, ge=1, le=10, description="Number of results.")


class SearchResult(Result):
    """Result of `search`."""

    results: list[SearchHit]
    note: str | None = None

    @override
    def text(self) -> str:
        """Return one paragraph per hit."""
        return _format_hits([hit.text() for hit in self.results], self.note)


class ConnectorHit(Result):
    """One result of `search`, with the fields that OpenAI connectors expect."""

    id: str
    title: str
    url: str


class ConnectorSearchResult(Result):
    """Result of `search`, in the format that OpenAI connectors expect; its text is JSON."""

    results: list[ConnectorHit]


class SearchDocumentsResult(Result):
    """Result of `search_documents` and `search_system_knowledge`."""

    hits: list[SearchHit]
    note: str | None = None

    @override
    def text(self) -> str:
        """Return one paragraph per hit."""
        return _format_hits([hit.text() for hit in self.hits], self.note)


class SearchHistoryResult(Result):
    """Result of `search_history`."""

    hits: list[HistoryHit]
    note: str | None = None

    @override
    def text(self) -> str:
        """Return one paragraph per hit."""
        hits = [
            f"{hit.title} ({hit.conversation_id}, {hit.role}, {hit.at}):\n{hit.snippet}"
            for hit in self.hits
        ]
        return _format_hits(hits, self.note)


class FetchArguments(Arguments):
    """Arguments of `fetch`."""

    id: str = Field(max_length=4096, description="Id from `search`. Append :2 for the second page.")


class FetchResult(Result):
    """Result of `fetch`."""

    text_fields = frozenset({"text"})

    id: str
    title: str
    text_: str = Field(alias="text")
    url: str
    metadata: dict[str, Any]

    @override
    def text(self) -> str:
        """Return a line with title, id and URL, then the text, then where the next page is."""
        head = f"{self.title} [{self.id}] {self.url}"
        if "pages" not in self.metadata:
            return f"{head}\n\n{self.text_}"
        page, count = self.metadata["page"], self.metadata["pages"]
        following = self.metadata.get("next")
        more = f" For the next one, fetch {following}." if following else ""
        return f"{head}\n\n{self.text_}\n\n[Page {page} of {count}.{more}]"

    @classmethod
    def from_page(cls, page: DocumentPage, document_id: str) -> Self:
        """Return a page as the result for `document_id`, which is the id that was requested."""
        document = page.document
        paging = {"page": page.number, "pages": page.count, "next": page.next_page_id}
        metadata = {
            "source": document.source,
            "type": document.kind,
            "modified": format_time(document.modified),
            "indexed": format_time(document.indexed),
            "characters": document.length,
            **(paging if page.count > 1 else {}),
        }
        return cls(
            id=document_id,
            title=document.title,
            text=page.text,
            url=document.url,
            metadata={name: value for name, value in metadata.items() if value is not None},
        )


class ConnectorFetchResult(FetchResult):
    """Result of `fetch`, in the format that OpenAI connectors expect."""

    text_fields = frozenset()

    @override
    def text(self) -> str:
        """Return the structured content as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


class AddNoteArguments(Arguments):
    """Arguments of `add_note`."""

    text: str = Field(description="Text of the note.")
    title: str | None = Field(
        None, max_length=200, description="Title. A note with the same title is replaced."
    )


class AddNoteResult(Result):
    """Result of `add_note`."""

    id: str
    title: str
    url: str

    @override
    def text(self) -> str:
        """Return a confirmation with title and id."""
        return f"Noted: {self.title} [{self.id}]"


def _format_hits(hits: list[str], note: str | None) -> str:
    return "\n\n".join([*hits, *([note] if note else [])]) or "Nothing found."


def build_search_tool(service: Search, shape: SearchShape) -> Tool[SearchArguments]:
    """Build the `search` tool."""
    is_connector = shape is SearchShape.CONNECTOR

    async def run(arguments: SearchArguments, call: CallContext) -> Result:
        response = await service.find(call.caller, arguments.query, _MAX_HITS)
        hits = [SearchHit.from_hit(hit) for hit in response.hits]
        if is_connector:
            return ConnectorSearchResult(
                results=[ConnectorHit(id=hit.id, title=hit.title, url=hit.url) for hit in hits]
            )
        return SearchResult(results=hits, note=response.note)

    return Tool(
        name="search",
        title="Search",
        description=(
            "Search your documents, notes and conversations by words and by meaning. Returns ids, "
            "titles and links; read a result with `fetch`."
        ),
        group=Group.KNOWLEDGE,
        arguments=SearchArguments,
        result=ConnectorSearchResult if is_connector else SearchResult,
        run=run,
        hints=READ_ONLY_HINTS,
        instructions="search finds documents, notes and past messages; fetch reads them.",
        for_agent=True,
        for_council=True,
    )


def build_search_documents_tool(service: Search) -> Tool[SearchDocumentsArguments]:
    """Build the `search_documents` tool."""
    sources = (Source.DOCUMENTS, Source.NOTES)

    async def run(arguments: SearchDocumentsArguments, call: CallContext) -> SearchDocumentsResult:
        return _build_documents_result(
            await service.find(call.caller, arguments.query, arguments.top_k, sources)
        )

    return Tool(
        name="search_documents",
        title="Search documents",
        description="Search indexed documents and notes. Returns snippets, scores and ids.",
        group=Group.MEMORY,
        arguments=SearchDocumentsArguments,
        result=SearchDocumentsResult,
        run=run,
        hints=READ_ONLY_HINTS,
    )


def build_search_system_knowledge_tool(service: Search) -> Tool[TopKArguments]:
    """Build the `search_system_knowledge` tool, which searches Junto's own manual."""

    async def run(arguments: TopKArguments, call: CallContext) -> SearchDocumentsResult:
        return _build_documents_result(
            await service.find(call.caller, arguments.query, arguments.top_k, (Source.SYSTEM,))
        )

    return Tool(
        name="search_system_knowledge",
        title="Search Junto's manual",
        description="Search Junto's own manual: setup, settings, tools.",
        group=Group.MEMORY,
        arguments=TopKArguments,
        result=SearchDocumentsResult,
        run=run,
        hints=READ_ONLY_HINTS,
    )


def build_search_history_tool(service: Search) -> Tool[TopKArguments]:
    """Build the `search_history` tool."""

    async def run(arguments: TopKArguments, call: CallContext) -> SearchHistoryResult:
        response = await service.find(
            call.caller, arguments.query, arguments.top_k, (Source.CONVERSATIONS,)
        )
        return SearchHistoryResult(
            hits=[HistoryHit.from_hit(hit) for hit in response.hits], note=response.note
        )

    return Tool(
        name="search_history",
        title="Search history",
        description="Search the messages of all conversations. Returns snippets, scores and ids.",
        group=Group.MEMORY,
        arguments=TopKArguments,
        result=SearchHistoryResult,
        run=run,
        hints=READ_ONLY_HINTS,
    )


def _build_documents_result(found: SearchResponse) -> SearchDocumentsResult:
    return SearchDocumentsResult(
        hits=[SearchHit.from_hit(hit) for hit in found.hits], note=found.note
    )


def build_fetch_tool(library: DocumentLibrary, shape: SearchShape) -> Tool[FetchArguments]:
    """Build the `fetch` tool."""
    result = ConnectorFetchResult if shape is SearchShape.CONNECTOR else FetchResult

    async def run(arguments: FetchArguments, call: CallContext) -> FetchResult:
        page = await library.read_page(call.caller, arguments.id)
        return result.from_page(page, arguments.id)

    return Tool(
        name="fetch",
        title="Fetch a document",
        description="Read a document, note or conversation that a search found, in pages.",
        group=Group.KNOWLEDGE,
        arguments=FetchArguments,
        result=result,
        run=run,
        hints=READ_ONLY_HINTS,
        for_council=True,
    )


def build_add_note_tool(library: DocumentLibrary) -> Tool[AddNoteArguments]:
    """Build the `add_note` tool."""

    async def run(arguments: AddNoteArguments, call: CallContext) -> AddNoteResult:
        note = await library.add_note(call.caller, arguments.text, arguments.title)
        return AddNoteResult(id=note.id, title=note.title, url=note.url)

    return Tool(
        name="add_note",
        title="Add a note",
        description="Store a note that `search` finds later, such as a decision or a fact.",
        group=Group.KNOWLEDGE,
        arguments=AddNoteArguments,
        result=AddNoteResult,
        run=run,
        hints=_NON_DESTRUCTIVE_HINTS,
    )


def build_document_template(library: DocumentLibrary) -> ResourceTemplate:
    """Build the resource template for pages of documents."""

    async def read(uri: str) -> str | None:
        if not uri.startswith((RESOURCE_URI_PREFIX, DOCUMENT_URL_PREFIX)):
            return None
        try:
            page = await library.read_page(LOCAL_CALLER, uri)
        except NotFoundError:
            return None
        id_ = uri.removeprefix(RESOURCE_URI_PREFIX).removeprefix(DOCUMENT_URL_PREFIX)
        return json.dumps(FetchResult.from_page(page, id_).to_dict(), indent=2, ensure_ascii=False)

    return ResourceTemplate(
        uri_template=f"{RESOURCE_URI_PREFIX}{{id}}",
        name="document",
        title="Document",
        description="A document that was indexed, or a note.",
        read=read,
    )
