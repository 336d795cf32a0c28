"""The long-running tools that the conformance suite expects of a server with tasks."""

import asyncio
from typing import Any

from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, ClientCapabilities, ElicitRequest
from pydantic import Field

from junto.domain.errors import ExecutionError
from junto.tools.base import Arguments
from junto.tools.tasks import TASKS_EXTENSION
from junto.tools.tool import CallContext, ToolOutput
from tests.conformance.fixture_tools import NoArguments, fixture
from tests.conformance.shared import (
    Context,
    ask,
    find_form_field,
    form_request,
    require_capability,
    text_result,
)

TASKS = ClientCapabilities(extensions={TASKS_EXTENSION: {}})


class GreetArguments(Arguments):
    name: str


class ComputeArguments(Arguments):
    seconds: float = 0
    label: str = ""


class DeleteArguments(Arguments):
    filename: str = Field(description="What to delete")


@fixture("greet", "Greets, always at once", GreetArguments)
async def greet(arguments: GreetArguments, _call: CallContext) -> ToolOutput:
    return text_result(f"Hello, {arguments.name}!")


@fixture("slow_compute", "Takes its time", ComputeArguments, long=True)
async def slow_compute(arguments: ComputeArguments, _call: CallContext) -> ToolOutput:
    await asyncio.sleep(arguments.seconds)
    return text_result(f"{arguments.label} computed")


@fixture("failing_job", "Fails in a foreseen way, as a task only", long=True)
async def failing_job(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    require_capability(call.context, TASKS)
    await asyncio.sleep(0.5)
    raise ExecutionError("This job always fails")


@fixture("protocol_error_job", "Fails by the protocol", long=True)
async def protocol_error_job(_arguments: NoArguments, _call: CallContext) -> ToolOutput:
    await asyncio.sleep(0.2)
    raise MCPError(INTERNAL_ERROR, "This job breaks")


@fixture("confirm_delete", "Asks before it deletes", DeleteArguments, long=True)
async def confirm_delete(arguments: DeleteArguments, call: CallContext) -> ToolOutput:
    answer = await call.job_handle.ask(
        "confirm", _to_json(form_request("Delete it?", "confirm", "boolean"))
    )
    return text_result(f"{arguments.filename}: {answer}")


@fixture("multi_input", "Asks two things at once", long=True)
async def multi_input(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    answers = await asyncio.gather(
        call.job_handle.ask("name", _to_json(form_request("Who are you?", "name"))),
        call.job_handle.ask(
            "confirm", _to_json(form_request("Are you sure?", "confirm", "boolean"))
        ),
    )
    return text_result(str(answers))


@fixture("test_tool_with_task", "Asks first, then works", long=True)
async def tool_with_task(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    require_capability(call.context, TASKS)
    await asyncio.sleep(0.2)
    return text_result(f"Hello, {find_form_field(call.params, 'user_name', 'name')}!")


async def ask_before_task(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Ask for the input of `test_tool_with_task` before its job starts."""
    params: Any = ctx.params or {}
    is_target = ctx.method == "tools/call" and params.get("name") == "test_tool_with_task"
    if is_target and not params.get("inputResponses"):
        return ask(user_name=form_request("What is your name?", "name"))
    return await call_next(ctx)


def _to_json(request: ElicitRequest) -> dict[str, Any]:
    return request.model_dump(mode="json", by_alias=True, exclude_none=True)
