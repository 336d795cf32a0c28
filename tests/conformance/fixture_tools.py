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
from junto.tools.tool import Answer, Arguments, Call, Group, Tool
from tests.conformance.shared import (
    ELICITATION,
    PNG,
    ROOTS,
    SAMPLING,
    WAV,
    Context,
    Schema,
    answer,
    ask,
    embedded,
    filled,
    form,
    object_schema,
    require,
    sampling,
    spoken,
    text,
)

BUS = InMemorySubscriptionBus()
TOOLS: list[Tool[Any]] = []

Run = Callable[[Any, Call], Awaitable[Answer]]


class NoArguments(Arguments):
    """Nothing."""


class Prompted(Arguments):
    prompt: str


class Messaged(Arguments):
    message: str


class Regional(Arguments):
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
                long=long,
            )
        )
        return run

    return register


@fixture("test_simple_text", "Returns simple text")
async def simple_text(_arguments: NoArguments, _call: Call) -> Answer:
    return text("This is a simple text response for testing.")


@fixture("test_image_content", "Returns an image")
async def image_content(_arguments: NoArguments, _call: Call) -> Answer:
    return types.CallToolResult(content=[types.ImageContent(data=PNG, mime_type="image/png")])


@fixture("test_audio_content", "Returns audio")
async def audio_content(_arguments: NoArguments, _call: Call) -> Answer:
    return types.CallToolResult(content=[types.AudioContent(data=WAV, mime_type="audio/wav")])


@fixture("test_embedded_resource", "Returns an embedded resource")
async def embedded_resource(_arguments: NoArguments, _call: Call) -> Answer:
    resource = embedded("test://embedded-resource", "text/plain", "An embedded resource.")
    return types.CallToolResult(content=[resource])


@fixture("test_multiple_content_types", "Returns text, an image and a resource")
async def multiple_content_types(_arguments: NoArguments, _call: Call) -> Answer:
    return types.CallToolResult(
        content=[
            types.TextContent(text="Multiple content types test:"),
            types.ImageContent(data=PNG, mime_type="image/png"),
            embedded("test://mixed-content-resource", "application/json", '{"test":"data"}'),
        ]
    )


@fixture("test_error_handling", "Always fails in a foreseen way")
async def error_handling(_arguments: NoArguments, _call: Call) -> Answer:
    raise ExecutionError("This tool intentionally returns an error for testing")


@fixture("test_x_mcp_header", "Takes an argument that a header repeats", Regional)
async def x_mcp_header(arguments: Regional, _call: Call) -> Answer:
    return text(f"region={arguments.region}")


@fixture("test_tool_with_progress", "Reports progress")
async def tool_with_progress(_arguments: NoArguments, call: Call) -> Answer:
    for done in (0, 50, 100):
        await call.progress(done, 100)
        await asyncio.sleep(0.05)
    return text("Progress completed")


@fixture("test_tool_with_logging", "Sends log messages")
@fixture("test_logging_tool", "Sends log messages only to a request that asked for them")
async def log_three_times(_arguments: NoArguments, call: Call) -> Answer:
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await _log(call.context, message)
        await asyncio.sleep(0.05)
    return text("Tool with logging executed")


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
async def trigger_tool_change(_arguments: NoArguments, _call: Call) -> Answer:
    await BUS.publish(ToolsListChanged())
    return text("Tool list change published")


@fixture("test_trigger_prompt_change", "Publishes prompts/list_changed")
async def trigger_prompt_change(_arguments: NoArguments, _call: Call) -> Answer:
    await BUS.publish(PromptsListChanged())
    return text("Prompt list change published")


# Requests to the client over the back channel, up to 2025-11-25.


@fixture("test_sampling", "Asks the client's model", Prompted)
async def sample(arguments: Prompted, call: Call) -> Answer:
    require(call.context, SAMPLING)
    result = await call.context.session.send_request(
        sampling(arguments.prompt, 100),
        types.CreateMessageResult,
        metadata=ServerMessageMetadata(related_request_id=call.context.request_id),
    )
    return text(f"LLM response: {spoken(result)}")


async def _elicited(call: Call, message: str, schema: Schema) -> Answer:
    require(call.context, ELICITATION)
    result = await call.context.session.elicit_form(
        message, schema, related_request_id=call.context.request_id
    )
    return text(f"User response: action={result.action}, content={json.dumps(result.content)}")


@fixture("test_elicitation", "Asks the user", Messaged)
async def elicitation(arguments: Messaged, call: Call) -> Answer:
    schema = object_schema(
        ["username", "email"],
        username={"type": "string", "description": "User's response"},
        email={"type": "string", "description": "User's email address"},
    )
    return await _elicited(call, arguments.message, schema)


@fixture("test_elicitation_sep1034_defaults", "Asks with a default for every primitive type")
async def elicitation_defaults(_arguments: NoArguments, call: Call) -> Answer:
    schema = object_schema(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return await _elicited(call, "Please review the defaults", schema)


def _titled(*titles: str) -> list[Schema]:
    return [{"const": f"value{n}", "title": title} for n, title in enumerate(titles, 1)]


@fixture("test_elicitation_sep1330_enums", "Asks with all five forms of enum")
async def elicitation_enums(_arguments: NoArguments, call: Call) -> Answer:
    options = ["option1", "option2", "option3"]
    schema = object_schema(
        untitledSingle={"type": "string", "enum": options},
        titledSingle={"type": "string", "oneOf": _titled("First", "Second", "Third")},
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
        titledMulti={"type": "array", "items": {"anyOf": _titled("First", "Second", "Third")}},
    )
    return await _elicited(call, "Please choose", schema)


# Questions as results, from 2026-07-28 on.


@fixture("test_missing_capability", "Needs the client's sampling capability")
async def missing_capability(_arguments: NoArguments, call: Call) -> Answer:
    require(call.context, SAMPLING)
    return text("The client declared sampling")


@fixture("test_streaming_elicitation", "Asks for a confirmation")
async def streaming_elicitation(_arguments: NoArguments, call: Call) -> Answer:
    require(call.context, ELICITATION)
    if filled(call.params, "confirm", "ok") is None:
        return ask(confirm=form("Please confirm", "ok", "boolean"))
    return text("Confirmed")


@fixture("test_input_required_result_elicitation", "Asks for a name")
async def input_elicitation(_arguments: NoArguments, call: Call) -> Answer:
    name = filled(call.params, "user_name", "name")
    if name is None:
        return ask(user_name=form("What is your name?", "name"))
    return text(f"Hello, {name}!")


@fixture("test_input_required_result_sampling", "Asks the client's model")
async def input_sampling(_arguments: NoArguments, call: Call) -> Answer:
    message = answer(call.params, "capital_question", types.CreateMessageResult)
    if message is None:
        return ask(capital_question=sampling("What is the capital of France?", 100))
    return text(f"LLM response: {spoken(message)}")


@fixture("test_input_required_result_list_roots", "Asks for the client's roots")
async def input_list_roots(_arguments: NoArguments, call: Call) -> Answer:
    listed = answer(call.params, "client_roots", types.ListRootsResult)
    if listed is None:
        return ask(client_roots=types.ListRootsRequest())
    return text("Roots: " + ", ".join(str(root.uri) for root in listed.roots))


@fixture("test_input_required_result_request_state", "Gets its state back")
@fixture("test_input_required_result_tampered_state", "Refuses a state that was tampered with")
async def confirm_with_state(_arguments: NoArguments, call: Call) -> Answer:
    asked = call.params.request_state == "confirming"
    if not asked or filled(call.params, "confirm", "ok") is None:
        return ask("confirming", confirm=form("Please confirm", "ok", "boolean"))
    return text("state-ok")


@fixture("test_input_required_result_multiple_inputs", "Asks for three inputs at once")
async def input_multiple(_arguments: NoArguments, call: Call) -> Answer:
    name = filled(call.params, "user_name", "name")
    greeting = answer(call.params, "greeting", types.CreateMessageResult)
    listed = answer(call.params, "client_roots", types.ListRootsResult)
    if call.params.request_state != "asked" or not (name and greeting and listed):
        return ask(
            "asked",
            user_name=form("What is your name?", "name"),
            greeting=sampling("Generate a greeting", 50),
            client_roots=types.ListRootsRequest(),
        )
    return text(f"{name} has {len(listed.roots)} root(s)")


@fixture("test_input_required_result_multi_round", "Asks twice, and remembers between")
async def input_multi_round(_arguments: NoArguments, call: Call) -> Answer:
    state: Schema = json.loads(call.params.request_state or "{}")
    name = state.get("name") or (filled(call.params, "step1", "name") if state else None)
    if name is None:
        return ask(json.dumps({"round": 1}), step1=form("Step 1: What is your name?", "name"))
    color = filled(call.params, "step2", "color")
    if color is None:
        following = json.dumps({"round": 2, "name": name})
        return ask(following, step2=form("Step 2: What is your favourite colour?", "color"))
    return text(f"{name} likes {color}")


@fixture("test_input_required_result_capabilities", "Asks only for what the client declared")
async def input_capabilities(_arguments: NoArguments, call: Call) -> Answer:
    if call.params.input_responses:
        return text("Declared inputs answered")
    candidates: list[tuple[str, types.ClientCapabilities, types.InputRequest]] = [
        ("user_name", ELICITATION, form("What is your name?", "name")),
        ("greeting", SAMPLING, sampling("Generate a greeting", 50)),
        ("client_roots", ROOTS, types.ListRootsRequest()),
    ]
    can = call.context.session.check_client_capability
    requests = {key: request for key, needed, request in candidates if can(needed)}
    return ask(**requests) if requests else text("The client can answer nothing")
