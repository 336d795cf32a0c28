"""A server of Junto's parts with tools that misbehave.

    python -m tests.transport.odd_server stdio SECONDS | http | json

It tells on standard error what happens inside, one word a line.
"""

import asyncio
import os
import subprocess
import sys

from pydantic import Field

from junto.domain.errors import NotFoundError
from junto.security.secrets import Redactor
from junto.settings.tree import Http
from junto.telemetry.logs import Sinks, logging_to
from junto.telemetry.metrics import Metrics
from junto.tools.completions import Completions
from junto.tools.guard import Guard
from junto.tools.prompts import Prompts
from junto.tools.registry import Registry
from junto.tools.resources import Resource, Resources
from junto.tools.surface import Surface
from junto.tools.tool import Answer, Arguments, Call, Group, Result, Tool
from junto.transport.descriptors import claim
from junto.transport.http import Views, application, listening, serve_http
from junto.transport.protocol import server_of
from junto.transport.stdio import serve_stdio
from junto.transport.stopping import Stopping


class Odd(Arguments):
    seconds: float = 0
    steps: int = Field(0, description="How often to report progress")
    text: str = ""


class Said(Result):
    said: str


def tell(word: str) -> None:
    print(word, file=sys.stderr, flush=True)  # noqa: T201


async def slow(arguments: Odd, call: Call) -> Answer:
    tell("started")
    try:
        for step in range(arguments.steps):
            await call.progress(step, arguments.steps, f"step {step}")
        await asyncio.sleep(arguments.seconds)
    except asyncio.CancelledError:
        tell("cancelled")
        raise
    tell("finished")
    return Said(said=arguments.text or "done")


async def noisy(_arguments: Odd, _call: Call) -> Answer:
    print("printed by a library")  # noqa: T201
    os.write(1, b"written to descriptor 1\n")
    program = "import sys; print('child'); print(repr(sys.stdin.read()))"
    subprocess.run([sys.executable, "-c", program], check=True)  # noqa: ASYNC221
    return Said(said="noise")


async def crash(_arguments: Odd, _call: Call) -> Answer:
    raise RuntimeError("internal detail /secret/path")


async def stopped(_arguments: Odd, _call: Call) -> Answer:
    work = asyncio.create_task(asyncio.sleep(600))
    asyncio.get_running_loop().call_soon(work.cancel)
    await work
    return Said(said="never")


async def wrong(_arguments: Odd, _call: Call) -> Answer:
    return Said.model_validate({"said": 5})


async def lost() -> str:
    raise NotFoundError("It was here yesterday.")


async def broken() -> str:
    raise RuntimeError("internal detail")


def surface() -> Surface:
    tools = [
        Tool(name=run.__name__, title="", description=".", group=Group.KIT, arguments=Odd, run=run)
        for run in (slow, noisy, crash, stopped, wrong)
    ]
    resources = [
        Resource(uri=f"odd://{read.__name__}", name="x", title="", description="", read=read)
        for read in (lost, broken)
    ]
    return Surface(
        name="odd",
        title="Odd",
        version="1",
        description="",
        instructions="",
        tools=Registry(tools, guard=Guard(Metrics(), Redactor())),
        resources=Resources(resources),
        prompts=Prompts(()),
        completions=Completions({}, Prompts(())),
        redactor=Redactor(),
    )


async def over_http(*, json_only: bool) -> None:
    options = Http(port=0, drain=1, request_timeout=3, max_body_bytes=100_000, json_only=json_only)
    views = Views(health=lambda: {"status": "ok"}, metrics=bytes, page=str)
    stopping = Stopping()
    with listening(options) as listener, stopping.heard():
        tell(f"serves MCP at http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
        app = application(server_of(surface()), views, options)
        await serve_http(app, listener, options, stopping)


async def over_stdio(drain: float) -> None:
    wire, stopping = claim(), Stopping()
    with stopping.heard():
        server = server_of(surface())
        await serve_stdio(server, wire, stopping, drain=drain, most_bytes=100_000)


def main() -> None:
    with logging_to(Sinks("warning"), Redactor()):
        if sys.argv[1] == "stdio":
            asyncio.run(over_stdio(float(sys.argv[2])))
        else:
            asyncio.run(over_http(json_only=sys.argv[1] == "json"))


if __name__ == "__main__":
    main()
