"""A server built from Junto's parts, with tools that misbehave.

    python -m tests.transport.misbehaving_server stdio SECONDS | http | json

It reports on standard error what happens inside, one word per line.
"""

import asyncio
import os
import subprocess
import sys

from pydantic import Field

from junto.domain.errors import NotFoundError
from junto.security.redaction import Redactor
from junto.settings.schema import HttpSettings
from junto.telemetry.logs import LogSinks, configure_logging
from junto.telemetry.metrics import Metrics
from junto.tools.base import Arguments, Result
from junto.tools.completions import Completions
from junto.tools.middleware import CallServices
from junto.tools.prompts import Prompts
from junto.tools.registry import Registry
from junto.tools.resources import Resource, Resources
from junto.tools.server_spec import ServerSpec
from junto.tools.tool import CallContext, Group, Tool, ToolOutput
from junto.transport.http import Views, build_asgi_app, open_listener, serve_http
from junto.transport.protocol import build_mcp_server
from junto.transport.shutdown import Shutdown
from junto.transport.stdio import serve_stdio
from junto.transport.stdout_guard import claim_stdio


class OddArguments(Arguments):
    seconds: float = 0
    steps: int = Field(0, description="How often to report progress")
    text: str = ""


class OddResult(Result):
    said: str


def report(word: str) -> None:
    print(word, file=sys.stderr, flush=True)  # noqa: T201


async def slow(arguments: OddArguments, call: CallContext) -> ToolOutput:
    report("started")
    try:
        for step in range(arguments.steps):
            await call.report_progress(step, arguments.steps, f"step {step}")
        await asyncio.sleep(arguments.seconds)
    except asyncio.CancelledError:
        report("cancelled")
        raise
    report("finished")
    return OddResult(said=arguments.text or "done")


async def noisy(_arguments: OddArguments, _call: CallContext) -> ToolOutput:
    print("printed by a library")  # noqa: T201
    os.write(1, b"written to descriptor 1\n")
    program = "import sys; print('child'); print(repr(sys.stdin.read()))"
    subprocess.run([sys.executable, "-c", program], check=True)  # noqa: ASYNC221
    return OddResult(said="noise")


async def crash(_arguments: OddArguments, _call: CallContext) -> ToolOutput:
    raise RuntimeError("internal detail /secret/path")


async def cancel_itself(_arguments: OddArguments, _call: CallContext) -> ToolOutput:
    task = asyncio.create_task(asyncio.Event().wait())
    asyncio.get_running_loop().call_soon(task.cancel)
    await task
    return OddResult(said="never")


async def return_wrong_type(_arguments: OddArguments, _call: CallContext) -> ToolOutput:
    return OddResult.model_validate({"said": 5})


async def missing() -> str:
    raise NotFoundError("It was here yesterday.")


async def broken() -> str:
    raise RuntimeError("internal detail")


def build_server_spec() -> ServerSpec:
    tools = [
        Tool(
            name=run.__name__,
            title="",
            description=".",
            group=Group.KIT,
            arguments=OddArguments,
            run=run,
        )
        for run in (slow, noisy, crash, cancel_itself, return_wrong_type)
    ]
    resources = [
        Resource(uri=f"odd://{read.__name__}", name="x", title="", description="", read=read)
        for read in (missing, broken)
    ]
    return ServerSpec(
        name="odd",
        title="Odd",
        version="1",
        description="",
        instructions="",
        tools=Registry(tools, services=CallServices(metrics=Metrics(), redactor=Redactor())),
        resources=Resources(resources),
        prompts=Prompts(()),
        completions=Completions({}, Prompts(())),
        redactor=Redactor(),
    )


async def run_http(*, json_only: bool) -> None:
    options = HttpSettings(
        port=0, drain=1, request_timeout=3, max_body_bytes=100_000, json_only=json_only
    )
    views = Views(health=lambda: {"status": "ok"}, metrics=bytes, page=str)
    shutdown = Shutdown()
    with open_listener(options) as listener, shutdown.handle_signals():
        report(f"serves MCP at http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
        app = build_asgi_app(build_mcp_server(build_server_spec()), views, options)
        await serve_http(app, listener, options, shutdown)


async def run_stdio(drain: float) -> None:
    fds, shutdown = claim_stdio(), Shutdown()
    with shutdown.handle_signals():
        server = build_mcp_server(build_server_spec())
        await serve_stdio(server, fds, shutdown, drain_seconds=drain, max_line_bytes=100_000)


def main() -> None:
    with configure_logging(LogSinks("warning"), Redactor()):
        if sys.argv[1] == "stdio":
            asyncio.run(run_stdio(float(sys.argv[2])))
        else:
            asyncio.run(run_http(json_only=sys.argv[1] == "json"))


if __name__ == "__main__":
    main()
