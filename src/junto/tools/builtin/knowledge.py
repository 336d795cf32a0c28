"""The tools that search: everything at once, documents, the manual, and what was said."""

import json

from pydantic import Field
from typing_extensions import override

from junto.domain.documents import Source
from junto.knowledge.library import page_id
from junto.knowledge.service import Found, Hit, Search
from junto.tools.memory import time_text
from junto.tools.tool import HARMLESS, Arguments, Call, Group, Result, Tool

_MOST = 10


class SearchArguments(Arguments):
    """Arguments of `search`."""

    query: str = Field(
        description="Words, and filters such as path:docs type:pdf source:notes after:2026-01-31."
    )


class TopArguments(Arguments):
    """Arguments of a search that says how many results it wants."""

    query: str
    top_k: int = Field(3, ge=1, le=10)


class DocumentArguments(TopArguments):
    """Arguments of `search_documents`."""

    top_k: int = Field(5, ge=1, le=10)


class SearchHit(Result):
    """One result: where it is, and the part of it that fits."""

    id: str
    title: str
    url: str
    score: float
    snippet: str
    source: str
    type: str
    modified: str
    trust: str | None = None

    @classmethod
    def of(cls, hit: Hit) -> "SearchHit":
        """Return what a caller sees of `hit`; its id leads to the page with the passage."""
        document = hit.document
        path = " > ".join(step for step in hit.passage.path if step != document.title)
        return cls(
            id=page_id(document, hit.passage.start),
            title=f"{document.title} ({path})" if path else document.title,
            url=document.url,
            score=hit.score,
            snippet=hit.snippet,
            source=document.source,
            type=document.kind,
            modified=time_text(document.modified),
            trust=None if hit.trust == "normal" else hit.trust,
        )


class SearchResults(Result):
    """Result of `search`: what connectors expect as text, and more for whoever reads more."""

    results: list[SearchHit]
    note: str | None = None

    @override
    def text(self) -> str:
        """Return exactly the shape that connectors read."""
        shown = [{"id": hit.id, "title": hit.title, "url": hit.url} for hit in self.results]
        return json.dumps({"results": shown}, ensure_ascii=False)


class DocumentHits(Result):
    """Result of `search_documents` and `search_system_knowledge`."""

    hits: list[SearchHit]
    note: str | None = None

    @override
    def text(self) -> str:
        """Return one paragraph for each."""
        return _told(
            [f"{hit.title} [{hit.id}] {hit.url}\n  {hit.snippet}" for hit in self.hits], self.note
        )


class HistoryHit(Result):
    """One message that was found."""

    conversation_id: str
    title: str
    position: int
    role: str
    snippet: str
    score: float
    at: str

    @classmethod
    def of(cls, hit: Hit) -> "HistoryHit":
        """Return what a caller sees of `hit`."""
        return cls(
            conversation_id=hit.passage.conversation or "",
            title=hit.document.title,
            position=hit.passage.position or 0,
            role=hit.passage.role or "",
            snippet=hit.snippet,
            score=hit.score,
            at=time_text(hit.document.modified),
        )


class HistoryHits(Result):
    """Result of `search_history`."""

    hits: list[HistoryHit]
    note: str | None = None

    @override
    def text(self) -> str:
        """Return one paragraph for each."""
        hits = [
            f"{hit.title} ({hit.conversation_id}, {hit.role}, {hit.at}):\n{hit.snippet}"
            for hit in self.hits
        ]
        return _told(hits, self.note)


def _told(hits: list[str], note: str | None) -> str:
    return "\n\n".join([*hits, *([note] if note else [])]) or "Nothing was found."


def search(service: Search) -> Tool[SearchArguments]:
    """Return the tool that searches everything."""

    async def run(arguments: SearchArguments, call: Call) -> SearchResults:
        found = await service.find(call.caller, arguments.query, _MOST)
        return SearchResults(results=[SearchHit.of(hit) for hit in found.hits], note=found.note)

    return Tool(
        name="search",
        title="Search",
        description="Search indexed documents, notes and conversations.",
        group=Group.KNOWLEDGE,
        arguments=SearchArguments,
        result=SearchResults,
        run=run,
        hints=HARMLESS,
    )


def search_documents(service: Search) -> Tool[DocumentArguments]:
    """Return the tool that searches documents and notes."""
    sources = (Source.DOCUMENTS, Source.NOTES)

    async def run(arguments: DocumentArguments, call: Call) -> DocumentHits:
        return _hits(await service.find(call.caller, arguments.query, arguments.top_k, sources))

    return Tool(
        name="search_documents",
        title="Search documents",
        description="Search indexed documents and notes.",
        group=Group.MEMORY,
        arguments=DocumentArguments,
        result=DocumentHits,
        run=run,
        hints=HARMLESS,
    )


def search_system_knowledge(service: Search) -> Tool[TopArguments]:
    """Return the tool that searches Junto's own manual."""

    async def run(arguments: TopArguments, call: Call) -> DocumentHits:
        found = await service.find(call.caller, arguments.query, arguments.top_k, (Source.SYSTEM,))
        return _hits(found)

    return Tool(
        name="search_system_knowledge",
        title="Search Junto's manual",
        description="Search Junto's own manual: settings, tools, how to.",
        group=Group.MEMORY,
        arguments=TopArguments,
        result=DocumentHits,
        run=run,
        hints=HARMLESS,
    )


def search_history(service: Search) -> Tool[TopArguments]:
    """Return the tool that searches what was said."""

    async def run(arguments: TopArguments, call: Call) -> HistoryHits:
        found = await service.find(
            call.caller, arguments.query, arguments.top_k, (Source.CONVERSATIONS,)
        )
        return HistoryHits(hits=[HistoryHit.of(hit) for hit in found.hits], note=found.note)

    return Tool(
        name="search_history",
        title="Search history",
        description="Search everything that was said in conversations.",
        group=Group.MEMORY,
        arguments=TopArguments,
        result=HistoryHits,
        run=run,
        hints=HARMLESS,
    )


def _hits(found: Found) -> DocumentHits:
    return DocumentHits(hits=[SearchHit.of(hit) for hit in found.hits], note=found.note)
