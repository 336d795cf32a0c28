"""The long tools that the conformance suite expects of a server with tasks."""

import asyncio
from typing import Any

from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, ClientCapabilities, ElicitRequest
from pydantic import Field

from junto.domain.errors import ExecutionError
from junto.tools.tasks import EXTENSION
from junto.tools.tool import Answer, Arguments, Call
from tests.conformance.fixture_tools import NoArguments, fixture
from tests.conformance.shared import Context, ask, filled, form, require, text

TASKS = ClientCapabilities(extensions={EXTENSION: {}})


class Named(Arguments):
    name: str


class Computed(Arguments):
    seconds: float = 0
    label: str = ""


class File(Arguments):
    filename: str = Field(description="What to delete")


@fixture("greet", "Greets, always at once", Named)
async def greet(arguments: Named, _call: Call) -> Answer:
    return text(f"Hello, {arguments.name}!")


@fixture("slow_compute", "Takes its time", Computed, long=True)
async def slow_compute(arguments: Computed, _call: Call) -> Answer:
    await asyncio.sleep(arguments.seconds)
    return text(f"{arguments.label} computed")


@fixture("failing_job", "Fails in a foreseen way, as a task only", long=True)
async def failing_job(_arguments: NoArguments, call: Call) -> Answer:
    require(call.context, TASKS)
    await asyncio.sleep(0.5)
    raise ExecutionError("This job always fails")


@fixture("protocol_error_job", "Fails by the protocol", long=True)
async def protocol_error_job(_arguments: NoArguments, _call: Call) -> Answer:
    await asyncio.sleep(0.2)
    raise MCPError(INTERNAL_ERROR, "This job breaks")


@fixture("confirm_delete", "Asks before it deletes", File, long=True)
async def confirm_delete(arguments: File, call: Call) -> Answer:
    answer = await call.work.asks("confirm", _plain(form("Delete it?", "confirm", "boolean")))
    return text(f"{arguments.filename}: {answer}")


@fixture("multi_input", "Asks two things at once", long=True)
async def multi_input(_arguments: NoArguments, call: Call) -> Answer:
    answers = await asyncio.gather(
        call.work.asks("name", _plain(form("Who are you?", "name"))),
        call.work.asks("confirm", _plain(form("Are you sure?", "confirm", "boolean"))),
    )
    return text(str(answers))


@fixture("test_tool_with_task", "Asks first, then works", long=True)
async def tool_with_task(_arguments: NoArguments, call: Call) -> Answer:
    require(call.context, TASKS)
    await asyncio.sleep(0.2)
    return text(f"Hello, {filled(call.params, 'user_name', 'name')}!")


async def ask_before_the_task(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Ask what `test_tool_with_task` needs to know before its job begins."""
    params: Any = ctx.params or {}
    named = ctx.method == "tools/call" and params.get("name") == "test_tool_with_task"
    if named and not params.get("inputResponses"):
        return ask(user_name=form("What is your name?", "name"))
    return await call_next(ctx)


def _plain(request: ElicitRequest) -> dict[str, Any]:
    return request.model_dump(mode="json", by_alias=True, exclude_none=True)
