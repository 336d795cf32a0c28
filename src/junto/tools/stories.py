"""Conversations as resources, and their ids as suggestions."""

import json
from collections.abc import Awaitable, Callable, Sequence

from junto.conversation.reading import Reader
from junto.domain.errors import NotFoundError
from junto.tools.memory import HistoryMessage
from junto.tools.resources import Template
from junto.tools.tool import LOCAL_CALLER

_SCHEME = "conversation://"
_MOST = 100


def conversation_template(reader: Reader) -> Template:
    """Return the resources that show what was said in each conversation."""

    async def read(uri: str) -> str | None:
        if not uri.startswith(_SCHEME):
            return None
        try:
            # A hit of a search names the message behind a #; it is in the conversation.
            id_ = uri.removeprefix(_SCHEME).partition("#")[0]
            page = await reader.history(LOCAL_CALLER, id_, None, None)
        except NotFoundError:
            return None
        said = [*page.head, *page.tail]
        facts = {
            "id": page.conversation.id,
            "title": page.conversation.title,
            "modelId": page.conversation.model,
            "total": page.conversation.length,
            "leftOut": page.left_out,
            "messages": [
                HistoryMessage.of(each).model_dump(by_alias=True, exclude_none=True)
                for each in said
            ],
        }
        return json.dumps(facts, indent=2)

    return Template(
        uri_template=f"{_SCHEME}{{id}}",
        name="conversation",
        title="Conversation",
        description="What was said in a conversation.",
        read=read,
    )


def conversation_ids(reader: Reader) -> Callable[[str], Awaitable[Sequence[str]]]:
    """Return what suggests the ids of the latest conversations."""

    async def found(_typed: str) -> Sequence[str]:
        page = await reader.listed(LOCAL_CALLER, None, _MOST, None)
        return [conversation.id for conversation in page.conversations]

    return found
