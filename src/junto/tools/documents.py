"""Documents and notes themselves: read page by page, added, and shown as resources."""

import json
from typing import Any

from pydantic import Field
from typing_extensions import override

from junto.domain.errors import NotFoundError
from junto.knowledge.entries import OWN_ADDRESS
from junto.knowledge.library import RESOURCE, Library, Page
from junto.tools.memory import time_text
from junto.tools.resources import Template
from junto.tools.tool import (
    HARMLESS,
    LOCAL_CALLER,
    Arguments,
    Call,
    Group,
    Hints,
    Result,
    Tool,
)

_ADDING = Hints(read_only=False, destructive=False, open_world=False)


class FetchArguments(Arguments):
    """Arguments of `fetch`."""

    id: str = Field(max_length=4096, description="From `search`; ID:2 is the second page.")


class FetchedDocument(Result):
    """Result of `fetch`, in the shape that connectors expect."""

    id: str
    title: str
    text_: str = Field(alias="text")
    url: str
    metadata: dict[str, Any]

    @override
    def text(self) -> str:
        """Return exactly the shape that connectors read."""
        return json.dumps(self.facts(), ensure_ascii=False)

    @classmethod
    def of(cls, page: Page, wanted: str) -> "FetchedDocument":
        """Return what a caller sees of a page."""
        document = page.document
        paged = {"page": page.number, "pages": page.count, "next": page.next}
        facts = {
            "source": document.source,
            "type": document.kind,
            "modified": time_text(document.modified),
            "indexed": time_text(document.indexed),
            "characters": document.length,
            **(paged if page.count > 1 else {}),
        }
        return cls(
            id=wanted,
            title=document.title,
            text=page.text,
            url=document.url,
            metadata={name: value for name, value in facts.items() if value is not None},
        )


class NoteArguments(Arguments):
    """Arguments of `add_note`."""

    text: str
    title: str | None = Field(None, max_length=200, description="Replaces the note of this title.")


class AddedNote(Result):
    """Result of `add_note`."""

    id: str
    title: str
    url: str

    @override
    def text(self) -> str:
        """Return it as a sentence."""
        return f"Noted: {self.title} [{self.id}]"


def fetch(library: Library) -> Tool[FetchArguments]:
    """Return the tool that reads a document."""

    async def run(arguments: FetchArguments, call: Call) -> FetchedDocument:
        page = await library.page(call.caller, arguments.id)
        return FetchedDocument.of(page, arguments.id)

    return Tool(
        name="fetch",
        title="Fetch a document",
        description="Read what `search` found.",
        group=Group.KNOWLEDGE,
        arguments=FetchArguments,
        result=FetchedDocument,
        run=run,
        hints=HARMLESS,
    )


def add_note(library: Library) -> Tool[NoteArguments]:
    """Return the tool that keeps a note."""

    async def run(arguments: NoteArguments, call: Call) -> AddedNote:
        note = await library.add(call.caller, arguments.text, arguments.title)
        return AddedNote(id=note.id, title=note.title, url=note.url)

    return Tool(
        name="add_note",
        title="Add a note",
        description="Keep a note that `search` finds.",
        group=Group.KNOWLEDGE,
        arguments=NoteArguments,
        result=AddedNote,
        run=run,
        hints=_ADDING,
    )


def document_template(library: Library) -> Template:
    """Return the resources that show documents, page by page."""

    async def read(uri: str) -> str | None:
        if not uri.startswith((RESOURCE, OWN_ADDRESS)):
            return None
        try:
            page = await library.page(LOCAL_CALLER, uri)
        except NotFoundError:
            return None
        id_ = uri.removeprefix(RESOURCE).removeprefix(OWN_ADDRESS)
        return json.dumps(FetchedDocument.of(page, id_).facts(), indent=2, ensure_ascii=False)

    return Template(
        uri_template=f"{RESOURCE}{{id}}",
        name="document",
        title="Document",
        description="A document that was indexed, or a note.",
        read=read,
    )
