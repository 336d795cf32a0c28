"""An app for the conformance suite, built from Junto's transport and registry.

Run as a program it serves on the port that it prints: `python -m tests.conformance.fixture_server
[--sessions]`.
"""

import asyncio
import base64
import json
import re
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler

from junto.domain.ids import new_id
from junto.jobs.presence import Presence
from junto.jobs.service import Jobs
from junto.security.secrets import Redactor
from junto.settings.tree import Http
from junto.storage.lazily import Lazily
from junto.storage.sqlite.database import Database
from junto.storage.sqlite.jobs import SqliteJobs
from junto.telemetry.metrics import Metrics
from junto.tools.completions import Completions
from junto.tools.guard import Guard
from junto.tools.long import LongCalls
from junto.tools.prompts import Blank, Prompt, Prompts
from junto.tools.registry import Registry
from junto.tools.resources import Resource, Resources, Template
from junto.tools.surface import Surface
from junto.tools.tasks import Tasks
from junto.transport.http import Views, application, listening, serve_http
from junto.transport.protocol import server_of
from junto.transport.stopping import Stopping
from tests.conformance.fixture_tasks import ask_before_the_task
from tests.conformance.fixture_tools import BUS, TOOLS
from tests.conformance.shared import PNG, Context, ask, embedded, filled, form

_TEMPLATE = re.compile(r"test://template/([^/]+)/data")


def _user(content: types.ContentBlock) -> types.PromptMessage:
    return types.PromptMessage(role="user", content=content)


async def _simple(_context: Context, _params: types.GetPromptRequestParams) -> str:
    return "This is a simple prompt for testing."


async def _with_arguments(_context: Context, params: types.GetPromptRequestParams) -> str:
    given = params.arguments or {}
    return f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"


async def _with_resource(
    _context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult:
    uri = (params.arguments or {})["resourceUri"]
    return types.GetPromptResult(
        messages=[
            _user(embedded(uri, "text/plain", "Embedded resource content for testing.")),
            _user(types.TextContent(text="Please process the embedded resource above.")),
        ]
    )


async def _with_image(
    _context: Context, _params: types.GetPromptRequestParams
) -> types.GetPromptResult:
    return types.GetPromptResult(
        messages=[
            _user(types.ImageContent(data=PNG, mime_type="image/png")),
            _user(types.TextContent(text="Please analyze the image above.")),
        ]
    )


async def _asking(
    _context: Context, params: types.GetPromptRequestParams
) -> str | types.InputRequiredResult:
    context = filled(params, "user_context", "context")
    if context is None:
        return ask(user_context=form("What context should the prompt use?", "context"))
    return f"Use this context: {context}"


def _prompt(name: str, render: Any, *blanks: str) -> Prompt:
    return Prompt(
        name=name,
        title=name,
        description=f"The fixture {name}",
        blanks=tuple(Blank(blank, f"Test argument {blank}", required=True) for blank in blanks),
        render=render,
    )


PROMPTS = (
    _prompt("test_simple_prompt", _simple),
    _prompt("test_prompt_with_arguments", _with_arguments, "arg1", "arg2"),
    _prompt("test_prompt_with_embedded_resource", _with_resource, "resourceUri"),
    _prompt("test_prompt_with_image", _with_image),
    _prompt("test_input_required_result_prompt", _asking),
)


def _resource(name: str, mime_type: str, content: str | bytes) -> Resource:
    async def read() -> str | bytes:
        return content

    return Resource(
        uri=f"test://{name}",
        name=name,
        title=name,
        description=f"The fixture {name}",
        read=read,
        mime_type=mime_type,
    )


async def _read_template(uri: str) -> str | None:
    match = _TEMPLATE.fullmatch(uri)
    return json.dumps({"id": match[1], "data": f"Data for ID: {match[1]}"}) if match else None


RESOURCES = Resources(
    (
        _resource("static-text", "text/plain", "This is the content of the static text resource."),
        _resource("static-binary", "image/png", base64.b64decode(PNG)),
        _resource("watched-resource", "text/plain", "Watched content."),
    ),
    (
        Template(
            uri_template="test://template/{id}/data",
            name="template-data",
            title="Template data",
            description="The fixture template",
            read=_read_template,
        ),
    ),
)


def fixture_server(jobs: Jobs) -> Server[Any]:
    guard = Guard(Metrics(), Redactor())
    # Whoever understands tasks gets one at once; nobody else has to wait less for that.
    long = LongCalls(
        jobs=jobs, guard=guard, patience=50, before_task=0, kept=3600, most_bytes=60_000
    )
    server = server_of(
        Surface(
            name="conformance-fixture",
            title="Fixture",
            version="1.0.0",
            description="What the conformance suite expects to find",
            instructions="",
            tools=Registry(TOOLS, guard=guard, long=long),
            resources=RESOURCES,
            prompts=Prompts(PROMPTS),
            completions=Completions({"arg1": lambda: ["paris", "park", "party"]}, Prompts(PROMPTS)),
            redactor=Redactor(),
            tasks=Tasks(jobs, kept=3600, most_bytes=60_000),
        )
    )

    # What Junto itself has no use for yet: subscriptions, and state that a client carries back.
    async def accept(_context: Context, params: Any) -> types.EmptyResult:
        await RESOURCES.read(str(params.uri))
        return types.EmptyResult()

    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, accept)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, accept)
    server.add_request_handler(
        "subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(BUS)
    )
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name)
    )
    server.middleware.append(ask_before_the_task)
    return server


async def main() -> None:
    # With sessions the server can ask a client of 2025-11-25 back; the newer era ignores them.
    options = Http(port=0, sessions="--sessions" in sys.argv, drain=1)
    views = Views(health=dict, metrics=bytes, page=str)
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(listening(options))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = SqliteJobs(Lazily(lambda: Database.opened(folder / "junto.db"), stack))
        jobs = Jobs(store=store, presence=Presence(folder / "servers", new_id()))
        await stack.enter_async_context(jobs.open())
        print(listener.getsockname()[1], flush=True)  # noqa: T201 - for whoever started us
        stopping = Stopping()
        stack.enter_context(stopping.heard())
        app = application(fixture_server(jobs), views, options)
        await serve_http(app, listener, options, stopping)


if __name__ == "__main__":
    asyncio.run(main())
