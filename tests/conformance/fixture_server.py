"""An app for the conformance suite, built from Junto's transport and registry.

Run as a program, it prints the port that it listens on: `python -m tests.conformance.fixture_server
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
from junto.jobs.liveness import Liveness
from junto.jobs.service import JobService
from junto.runtime.lazy import Lazy
from junto.security.redaction import Redactor
from junto.settings.schema import HttpSettings
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.jobs import SqliteJobs
from junto.telemetry.metrics import Metrics
from junto.tools.completions import Completions
from junto.tools.job_calls import JobCalls
from junto.tools.middleware import CallServices
from junto.tools.prompts import Prompt, PromptArgument, Prompts
from junto.tools.registry import Registry
from junto.tools.resources import Resource, Resources, ResourceTemplate
from junto.tools.server_spec import ServerSpec
from junto.tools.tasks import Tasks
from junto.transport.http import Views, build_asgi_app, open_listener, serve_http
from junto.transport.protocol import build_mcp_server
from junto.transport.shutdown import Shutdown
from tests.conformance.fixture_tasks import ask_before_task
from tests.conformance.fixture_tools import BUS, TOOLS
from tests.conformance.shared import PNG, Context, ask, embed_text, find_form_field, form_request

_TEMPLATE = re.compile(r"test://template/([^/]+)/data")


def _user_message(content: types.ContentBlock) -> types.PromptMessage:
    return types.PromptMessage(role="user", content=content)


async def _render_simple(_context: Context, _params: types.GetPromptRequestParams) -> str:
    return "This is a simple prompt for testing."


async def _render_with_arguments(_context: Context, params: types.GetPromptRequestParams) -> str:
    arguments = params.arguments or {}
    return f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"


async def _render_with_resource(
    _context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult:
    uri = (params.arguments or {})["resourceUri"]
    return types.GetPromptResult(
        messages=[
            _user_message(embed_text(uri, "text/plain", "Embedded resource content for testing.")),
            _user_message(types.TextContent(text="Please process the embedded resource above.")),
        ]
    )


async def _render_with_image(
    _context: Context, _params: types.GetPromptRequestParams
) -> types.GetPromptResult:
    return types.GetPromptResult(
        messages=[
            _user_message(types.ImageContent(data=PNG, mime_type="image/png")),
            _user_message(types.TextContent(text="Please analyze the image above.")),
        ]
    )


async def _render_with_input(
    _context: Context, params: types.GetPromptRequestParams
) -> str | types.InputRequiredResult:
    context = find_form_field(params, "user_context", "context")
    if context is None:
        return ask(user_context=form_request("What context should the prompt use?", "context"))
    return f"Use this context: {context}"


def _build_prompt(name: str, render: Any, *argument_names: str) -> Prompt:
    return Prompt(
        name=name,
        title=name,
        description=f"The fixture {name}",
        arguments=tuple(
            PromptArgument(argument_name, f"Test argument {argument_name}", required=True)
            for argument_name in argument_names
        ),
        render=render,
    )


PROMPTS = (
    _build_prompt("test_simple_prompt", _render_simple),
    _build_prompt("test_prompt_with_arguments", _render_with_arguments, "arg1", "arg2"),
    _build_prompt("test_prompt_with_embedded_resource", _render_with_resource, "resourceUri"),
    _build_prompt("test_prompt_with_image", _render_with_image),
    _build_prompt("test_input_required_result_prompt", _render_with_input),
)


def _build_resource(name: str, mime_type: str, content: str | bytes) -> Resource:
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
        _build_resource(
            "static-text", "text/plain", "This is the content of the static text resource."
        ),
        _build_resource("static-binary", "image/png", base64.b64decode(PNG)),
        _build_resource("watched-resource", "text/plain", "Watched content."),
    ),
    (
        ResourceTemplate(
            uri_template="test://template/{id}/data",
            name="template-data",
            title="Template data",
            description="The fixture template",
            read=_read_template,
        ),
    ),
)


def build_fixture_server(jobs: JobService) -> Server[Any]:
    # Clients that support tasks get one at once; all others wait for the result.
    job_calls = JobCalls(
        jobs=jobs,
        redactor=Redactor(),
        wait_seconds=50,
        task_wait_seconds=0,
        retention_seconds=3600,
        max_reply_bytes=60_000,
    )
    services = CallServices(metrics=Metrics(), redactor=Redactor(), job_calls=job_calls)
    server = build_mcp_server(
        ServerSpec(
            name="conformance-fixture",
            title="Fixture",
            version="1.0.0",
            description="What the conformance suite expects to find",
            instructions="",
            tools=Registry(TOOLS, services=services),
            resources=RESOURCES,
            prompts=Prompts(PROMPTS),
            completions=Completions({"arg1": lambda: ["paris", "park", "party"]}, Prompts(PROMPTS)),
            redactor=Redactor(),
            tasks=Tasks(jobs, retention_seconds=3600, max_reply_bytes=60_000),
        )
    )

    # Junto itself does not use these yet: subscriptions, and state that a client sends back.
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
    server.middleware.append(ask_before_task)
    return server


async def main() -> None:
    # Sessions let the server send requests to 2025-11-25 clients; newer clients ignore sessions.
    options = HttpSettings(port=0, sessions="--sessions" in sys.argv, drain=1)
    views = Views(health=dict, metrics=bytes, page=str)
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(open_listener(options))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = SqliteJobs(Lazy(lambda: SqliteDatabase.open(folder / "junto.db"), stack))
        jobs = JobService(store=store, liveness=Liveness(folder / "servers", new_id()))
        await stack.enter_async_context(jobs.open())
        print(listener.getsockname()[1], flush=True)  # noqa: T201 - read by the parent process
        shutdown = Shutdown()
        stack.enter_context(shutdown.handle_signals())
        app = build_asgi_app(build_fixture_server(jobs), views, options)
        await serve_http(app, listener, options, shutdown)


if __name__ == "__main__":
    asyncio.run(main())
