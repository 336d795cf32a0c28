"""The tool `http_get`."""

import asyncio

from pydantic import Field
from typing_extensions import override

from junto.domain.errors import InputOutputError
from junto.tools.tool import Arguments, Call, Group, Hints, Result, Tool

_ASKING = Hints(read_only=True, destructive=False, idempotent=True, open_world=True)
_TEXTS = ("text/", "application/json", "application/xml", "application/javascript", "+json", "+xml")


class WebArguments(Arguments):
    """Arguments of `http_get`."""

    url: str
    readable: bool = Field(default=False, description="A page as plain text.")


class WebPage(Result):
    """Result of `http_get`."""

    url: str
    status: int
    content_type: str
    body: str
    truncated: bool | None = None

    @override
    def text(self) -> str:
        """Return the page, then where it came from."""
        return f"{self.body}\n\n[{self.status} {self.content_type} {self.url}]"


def http_get(most_bytes: int) -> Tool[WebArguments]:
    """Return the tool that fetches from the public web."""

    async def run(arguments: WebArguments, _call: Call) -> WebPage:
        from junto.domain.pages import readable  # for those who fetch something
        from junto.kit.web import fetched

        page = await fetched(arguments.url)
        kind = page.content_type.lower()
        if not any(text in kind for text in _TEXTS) and b"\0" in page.body[:8192]:
            raise InputOutputError(
                f"{arguments.url} is no text, but {len(page.body):,} bytes of {kind or 'that'}."
            )
        body = page.text()
        if arguments.readable and "html" in kind:
            body = await asyncio.to_thread(readable, body)
        shown = body.encode("utf-8", "replace")[:most_bytes].decode("utf-8", "ignore")
        return WebPage(
            url=page.url,
            status=page.status,
            content_type=page.content_type,
            body=shown,
            truncated=True if len(shown) < len(body) else None,
        )

    return Tool(
        name="http_get",
        title="HTTP GET",
        description="Fetch a page.",
        group=Group.KIT,
        arguments=WebArguments,
        result=WebPage,
        run=run,
        hints=_ASKING,
    )
