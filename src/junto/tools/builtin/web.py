"""The tool `http_get`."""

import asyncio
from collections.abc import Iterator
from typing import Any

from pydantic import Field
from typing_extensions import override

from junto.domain.errors import InputOutputError
from junto.settings.enums import ToolAccess
from junto.tools.base import Arguments, Result
from junto.tools.services import ToolServices
from junto.tools.tool import CallContext, Group, Hints, Tool

_HINTS = Hints(read_only=True, destructive=False, idempotent=True, open_world=True)
_TEXT_TYPES = (
    "text/",
    "application/json",
    "application/xml",
    "application/javascript",
    "+json",
    "+xml",
)


def build_tools(services: ToolServices) -> Iterator[Tool[Any]]:
    """Yield the tools of this module."""
    yield build_http_get_tool(services.settings.jobs.reply_bytes)


class HttpGetArguments(Arguments):
    """Arguments of `http_get`."""

    url: str = Field(description="An http:// or https:// address on the public web.")
    readable: bool = Field(default=False, description="Convert a page to plain text.")


class HttpGetResult(Result):
    """Result of `http_get`."""

    text_fields = frozenset({"body"})

    url: str
    status: int
    content_type: str
    body: str
    truncated: bool | None = None

    @override
    def text(self) -> str:
        """Return the body, then status, content type and URL."""
        cut = "; the rest is cut" if self.truncated else ""
        return f"{self.body}\n\n[HTTP {self.status}, {self.content_type}, {self.url}{cut}]"


def build_http_get_tool(max_reply_bytes: int) -> Tool[HttpGetArguments]:
    """Build the `http_get` tool."""

    async def run(arguments: HttpGetArguments, _call: CallContext) -> HttpGetResult:
        from junto.local_tools.web import fetch  # slow imports, only needed to fetch something
        from junto.text.html_text import html_to_text

        page = await fetch(arguments.url)
        content_type = page.content_type.lower()
        if not any(text in content_type for text in _TEXT_TYPES) and b"\0" in page.body[:8192]:
            raise InputOutputError(
                f"{arguments.url} is no text, but {len(page.body):,} bytes of "
                f"{content_type or 'that'}."
            )
        body = page.text()
        if arguments.readable and "html" in content_type:
            body = await asyncio.to_thread(html_to_text, body)
        shown = body.encode("utf-8", "replace")[:max_reply_bytes].decode("utf-8", "ignore")
        return HttpGetResult(
            url=page.url,
            status=page.status,
            content_type=page.content_type,
            body=shown,
            truncated=True if len(shown) < len(body) else None,
        )

    return Tool(
        name="http_get",
        title="HTTP GET",
        description="Fetch a page or file from the public web. Private addresses are refused.",
        group=Group.KIT,
        arguments=HttpGetArguments,
        result=HttpGetResult,
        run=run,
        hints=_HINTS,
        access=ToolAccess.READ,
    )
