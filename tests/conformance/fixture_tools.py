"""The tools that the conformance suite expects, registered like Junto's own."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, get_args

import mcp_types as types
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field

from junto.domain.errors import ExecutionError
from junto.tools.base import Arguments
from junto.tools.tool import CallContext, Group, Tool, ToolOutput
from tests.conformance.shared import (
    ELICITATION,
    PNG,
    ROOTS,
    SAMPLING,
    WAV,
    Context,
    Schema,
    ask,
    embed_text,
    find_form_field,
    find_response,
    form_request,
    object_schema,
    require_capability,
    response_text,
    sampling_request,
    text_result,
)

BUS = InMemorySubscriptionBus()
TOOLS: list[Tool[Any]] = []

Run = Callable[[Any, CallContext], Awaitable[ToolOutput]]


class NoArguments(Arguments):
    """No arguments."""


class PromptArguments(Arguments):
    prompt: str


class MessageArguments(Arguments):
    message: str


class RegionArguments(Arguments):
    region: str = Field(json_schema_extra={"x-mcp-header": "Region"})


def fixture(
    name: str, description: str, arguments: type[Arguments] = NoArguments, *, long: bool = False
) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        TOOLS.append(
            Tool(
                name=name,
                title=name,
                description=description,
                group=Group.KIT,
                arguments=arguments,
                run=run,
                is_long_running=long,
            )
        )
        return run

    return register


@fixture("test_simple_text", "Returns simple text")
async def simple_text(_arguments: NoArguments, _call: CallContext) -> ToolOutput:
    return text_result("This is a simple text response for testing.")


@fixture("test_image_content", "Returns an image")
async def image_content(_arguments: NoArguments, _call: CallContext) -> ToolOutput:
    return types.CallToolResult(content=[types.ImageContent(data=PNG, mime_type="image/png")])


@fixture("test_audio_content", "Returns audio")
async def audio_content(_arguments: NoArguments, _call: CallContext) -> ToolOutput:
    return types.CallToolResult(content=[types.AudioContent(data=WAV, mime_type="audio/wav")])


@fixture("test_embedded_resource", "Returns an embedded resource")
async def embedded_resource(_arguments: NoArguments, _call: CallContext) -> ToolOutput:
    resource = embed_text("test://embedded-resource", "text/plain", "An embedded resource.")
    return types.CallToolResult(content=[resource])


@fixture("test_multiple_content_types", "Returns text, an image and a resource")
async def multiple_content_types(_arguments: NoArguments, _call: CallContext) -> ToolOutput:
    return types.CallToolResult(
        content=[
            types.TextContent(text="Multiple content types test:"),
            types.ImageContent(data=PNG, mime_type="image/png"),
            embed_text("test://mixed-content-resource", "application/json", '{"test":"data"}'),
        ]
    )


@fixture("test_error_handling", "Always fails in a foreseen way")
async def error_handling(_arguments: NoArguments, _call: CallContext) -> ToolOutput:
    raise ExecutionError("This tool intentionally returns an error for testing")


@fixture("test_x_mcp_header", "Takes an argument that a header repeats", RegionArguments)
async def x_mcp_header(arguments: RegionArguments, _call: CallContext) -> ToolOutput:
    return text_result(f"region={arguments.region}")


@fixture("test_tool_with_progress", "Reports progress")
async def tool_with_progress(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    for done in (0, 50, 100):
        await call.report_progress(done, 100)
        await asyncio.sleep(0.05)
    return text_result("Progress completed")


@fixture("test_tool_with_logging", "Sends log messages")
@fixture("test_logging_tool", "Sends log messages only to a request that asked for them")
async def log_three_times(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await _log(call.context, message)
        await asyncio.sleep(0.05)
    return text_result("Tool with logging executed")


async def _log(context: Context, message: str) -> None:
    wanted = (context.meta or {}).get(types.LOG_LEVEL_META_KEY)
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        levels: tuple[str, ...] = get_args(types.LoggingLevel)
        if wanted not in levels or levels.index("info") < levels.index(wanted):
            return
    params = types.LoggingMessageNotificationParams(level="info", logger="fixture", data=message)
    await context.session.send_notification(
        types.LoggingMessageNotification(params=params), related_request_id=context.request_id
    )


@fixture("test_trigger_tool_change", "Publishes tools/list_changed")
async def trigger_tool_change(_arguments: NoArguments, _call: CallContext) -> ToolOutput:
    await BUS.publish(ToolsListChanged())
    return text_result("Tool list change published")


@fixture("test_trigger_prompt_change", "Publishes prompts/list_changed")
async def trigger_prompt_change(_arguments: NoArguments, _call: CallContext) -> ToolOutput:
    await BUS.publish(PromptsListChanged())
    return text_result("Prompt list change published")


# Up to 2025-11-25 the server sends requests to the client while a call is running.


@fixture("test_sampling", "Asks the client's model", PromptArguments)
async def sample(arguments: PromptArguments, call: CallContext) -> ToolOutput:
    require_capability(call.context, SAMPLING)
    result = await call.context.session.send_request(
        sampling_request(arguments.prompt, 100),
        types.CreateMessageResult,
        metadata=ServerMessageMetadata(related_request_id=call.context.request_id),
    )
    return text_result(f"LLM response: {response_text(result)}")


async def _elicit(call: CallContext, message: str, schema: Schema) -> ToolOutput:
    require_capability(call.context, ELICITATION)
    result = await call.context.session.elicit_form(
        message, schema, related_request_id=call.context.request_id
    )
    return text_result(
        f"User response: action={result.action}, content={json.dumps(result.content)}"
    )


@fixture("test_elicitation", "Asks the user", MessageArguments)
async def elicitation(arguments: MessageArguments, call: CallContext) -> ToolOutput:
    schema = object_schema(
        ["username", "email"],
        username={"type": "string", "description": "User's response"},
        email={"type": "string", "description": "User's email address"},
    )
    return await _elicit(call, arguments.message, schema)


@fixture("test_elicitation_sep1034_defaults", "Asks with a default for every primitive type")
async def elicitation_defaults(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    schema = object_schema(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return await _elicit(call, "Please review the defaults", schema)


def _titled_options(*titles: str) -> list[Schema]:
    return [{"const": f"value{n}", "title": title} for n, title in enumerate(titles, 1)]


@fixture("test_elicitation_sep1330_enums", "Asks with all five forms of enum")
async def elicitation_enums(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    options = ["option1", "option2", "option3"]
    schema = object_schema(
        untitledSingle={"type": "string", "enum": options},
        titledSingle={"type": "string", "oneOf": _titled_options("First", "Second", "Third")},
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
        titledMulti={
            "type": "array",
            "items": {"anyOf": _titled_options("First", "Second", "Third")},
        },
    )
    return await _elicit(call, "Please choose", schema)


# From 2026-07-28 on a result contains the requests, and the client repeats the call.


@fixture("test_missing_capability", "Needs the client's sampling capability")
async def missing_capability(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    require_capability(call.context, SAMPLING)
    return text_result("The client declared sampling")


@fixture("test_streaming_elicitation", "Asks for a confirmation")
async def streaming_elicitation(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    require_capability(call.context, ELICITATION)
    if find_form_field(call.params, "confirm", "ok") is None:
        return ask(confirm=form_request("Please confirm", "ok", "boolean"))
    return text_result("Confirmed")


@fixture("test_input_required_result_elicitation", "Asks for a name")
async def input_elicitation(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    name = find_form_field(call.params, "user_name", "name")
    if name is None:
        return ask(user_name=form_request("What is your name?", "name"))
    return text_result(f"Hello, {name}!")


@fixture("test_input_required_result_sampling", "Asks the client's model")
async def input_sampling(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    message = find_response(call.params, "capital_question", types.CreateMessageResult)
    if message is None:
        return ask(capital_question=sampling_request("What is the capital of France?", 100))
    return text_result(f"LLM response: {response_text(message)}")


@fixture("test_input_required_result_list_roots", "Asks for the client's roots")
async def input_list_roots(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    result = find_response(call.params, "client_roots", types.ListRootsResult)
    if result is None:
        return ask(client_roots=types.ListRootsRequest())
    return text_result("Roots: " + ", ".join(str(root.uri) for root in result.roots))


@fixture("test_input_required_result_request_state", "Gets its state back")
@fixture("test_input_required_result_tampered_state", "Refuses a state that was tampered with")
async def confirm_with_state(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    has_asked = call.params.request_state == "confirming"
    if not has_asked or find_form_field(call.params, "confirm", "ok") is None:
        return ask("confirming", confirm=form_request("Please confirm", "ok", "boolean"))
    return text_result("state-ok")


@fixture("test_input_required_result_multiple_inputs", "Asks for three inputs at once")
async def input_multiple(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    name = find_form_field(call.params, "user_name", "name")
    greeting = find_response(call.params, "greeting", types.CreateMessageResult)
    roots_result = find_response(call.params, "client_roots", types.ListRootsResult)
    if call.params.request_state != "asked" or not (name and greeting and roots_result):
        return ask(
            "asked",
            user_name=form_request("What is your name?", "name"),
            greeting=sampling_request("Generate a greeting", 50),
            client_roots=types.ListRootsRequest(),
        )
    return text_result(f"{name} has {len(roots_result.roots)} root(s)")


@fixture("test_input_required_result_multi_round", "Asks twice, and remembers between")
async def input_multi_round(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    state: Schema = json.loads(call.params.request_state or "{}")
    name = state.get("name") or (find_form_field(call.params, "step1", "name") if state else None)
    if name is None:
        return ask(
            json.dumps({"round": 1}), step1=form_request("Step 1: What is your name?", "name")
        )
    color = find_form_field(call.params, "step2", "color")
    if color is None:
        next_state = json.dumps({"round": 2, "name": name})
        return ask(
            next_state, step2=form_request("Step 2: What is your favourite colour?", "color")
        )
    return text_result(f"{name} likes {color}")


@fixture("test_input_required_result_capabilities", "Asks only for what the client declared")
async def input_capabilities(_arguments: NoArguments, call: CallContext) -> ToolOutput:
    if call.params.input_responses:
        return text_result("Declared inputs answered")
    candidates: list[tuple[str, types.ClientCapabilities, types.InputRequest]] = [
        ("user_name", ELICITATION, form_request("What is your name?", "name")),
        ("greeting", SAMPLING, sampling_request("Generate a greeting", 50)),
        ("client_roots", ROOTS, types.ListRootsRequest()),
    ]
    has_capability = call.context.session.check_client_capability
    requests = {key: request for key, needed, request in candidates if has_capability(needed)}
    return ask(**requests) if requests else text_result("The client can answer nothing")
