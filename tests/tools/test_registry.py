import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent
from pydantic import Field, field_validator
from typing_extensions import override

from junto.domain import errors
from junto.domain.errors import ConfigurationError, JuntoError, RateLimitedError
from junto.security.redaction import Redactor
from junto.telemetry.logs import LogSinks, configure_logging
from junto.telemetry.metrics import Metrics
from junto.tools.base import Arguments, Result
from junto.tools.tool import READ_ONLY_HINTS, CallContext, Group, Hints, Tool, ToolOutput
from tests.tools.registry_factory import build_registry, call_tool


class Place(Arguments):
    street: str
    number: int | None = Field(None, ge=1, description="House number")


class Order(Arguments):
    """For readers of the source only."""

    item_name: str = Field(description="What to order")
    copies: int = 1
    place: Place | None = None
    title: str | None = Field(None, max_length=3)

    @field_validator("item_name")
    @classmethod
    def _reject_nothing(cls, name: str) -> str:
        if name == "nothing":
            raise ValueError("order something")
        return name


class Receipt(Result):
    item_name: str
    total_cost: float | None = None

    @override
    def text(self) -> str:
        return f"Ordered {self.item_name}."


def build_order_tool(
    run: Any = None, name: str = "place_order", group: Group = Group.KIT
) -> Tool[Order]:
    async def place(order: Order, _call: CallContext) -> ToolOutput:
        return Receipt(item_name=order.item_name)

    return Tool(
        name=name,
        title="Place an order",
        description="Orders things.",
        group=group,
        arguments=Order,
        result=Receipt,
        run=run or place,
    )


def build_failing_tool(error: BaseException) -> Tool[Order]:
    async def fail(_order: Order, _call: CallContext) -> ToolOutput:
        raise error

    return build_order_tool(fail)


@pytest.mark.feature("F015", "F159", "F247")
def test_a_tool_definition_is_complete_and_compact() -> None:
    definition = build_registry(build_order_tool()).definitions()[0]

    assert definition == {
        "name": "place_order",
        "title": "Place an order",
        "description": "Orders things.",
        "inputSchema": {
            "type": "object",
            "required": ["itemName"],
            "properties": {
                "itemName": {"type": "string", "description": "What to order"},
                "copies": {"type": "integer", "default": 1},
                "place": {
                    "type": "object",
                    "required": ["street"],
                    "properties": {
                        "street": {"type": "string"},
                        "number": {"type": "integer", "description": "House number"},
                    },
                },
                "title": {"type": "string"},
            },
        },
        "outputSchema": {
            "type": "object",
            "properties": {"itemName": {"type": "string"}},
        },
        "annotations": {"destructiveHint": True},
    }


def test_hints_are_sent_as_annotations() -> None:
    assert READ_ONLY_HINTS.to_wire() == {"readOnlyHint": True, "openWorldHint": False}
    assert Hints(destructive=False, idempotent=True).to_wire() == {
        "destructiveHint": False,
        "idempotentHint": True,
    }
    assert Hints().to_wire() == {"destructiveHint": True}


@pytest.mark.feature("F160", "F164")
async def test_a_result_is_text_and_structured_content() -> None:
    result = await call_tool(build_registry(build_order_tool()), "place_order", itemName="tea")

    assert result == {
        "content": [{"type": "text", "text": "Ordered tea."}],
        "structuredContent": {"itemName": "tea"},
        "isError": False,
    }


async def test_names_and_arguments_may_be_in_snake_case_or_camel_case() -> None:
    registry = build_registry(build_order_tool())

    one = await call_tool(registry, "placeOrder", item_name="tea")
    two = await call_tool(registry, "place_order", itemName="tea")

    assert one == two


def test_only_tools_with_header_arguments_have_a_header_schema() -> None:
    class Regional(Arguments):
        region: str = Field(json_schema_extra={"x-mcp-header": "Region"})

    async def run(_arguments: Regional, _call: CallContext) -> ToolOutput:
        return Receipt(item_name="x")

    regional: Tool[Regional] = Tool(
        name="regional", title="", description="", group=Group.KIT, arguments=Regional, run=run
    )
    registry = build_registry(build_order_tool(), regional)

    assert registry.header_schema("place_order") is None
    assert registry.header_schema("nothing") is None
    assert registry.header_schema("regional") == registry.definitions()[1]["inputSchema"]


@pytest.mark.feature("F169")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "itemName is required."),
        ({"itemName": 5}, "itemName: Input should be a valid string."),
        ({"itemName": "nothing"}, "itemName: order something."),
        ({"itemName": "x", "place": {}}, "place.street is required."),
        ({"itemName": "x", "copies": "many"}, "copies: Input should be a valid integer, unable"),
        (
            {"itemName": "x", "item": 1},
            "There is no argument item. The tool takes: itemName, copies, place, title.",
        ),
        ({str(number): 1 for number in range(9)}, "and 5 more."),
    ],
)
async def test_invalid_arguments_are_an_error_that_a_model_can_correct(
    arguments: dict[str, Any], message: str
) -> None:
    result = await call_tool(build_registry(build_order_tool()), "place_order", **arguments)

    assert isinstance(result, dict)
    assert result["isError"]
    assert message in result["content"][0]["text"]
    assert result["structuredContent"]["code"] == "ValidationError"


@pytest.mark.feature("F016")
async def test_an_unknown_tool_is_a_protocol_error() -> None:
    with pytest.raises(MCPError, match="Unknown tool: fly") as caught:
        await call_tool(build_registry(build_order_tool()), "fly")

    assert caught.value.code == -32602


@pytest.mark.feature("F162", "F178", "F179")
@pytest.mark.parametrize(
    ("error_type", "code"),
    [
        (errors.SecurityError, "SecurityError"),
        (errors.NotFoundError, "NotFound"),
        (errors.PermissionDeniedError, "PermissionDenied"),
        (errors.InputOutputError, "IOError"),
        (errors.ExecutionError, "ExecutionError"),
        (errors.TimeLimitError, "TimeoutError"),
        (errors.NetworkError, "NetworkError"),
        (errors.InvalidInputError, "ValidationError"),
        (errors.RateLimitedError, "RateLimited"),
        (errors.AuthenticationError, "AuthenticationFailed"),
        (errors.ContextOverflowError, "ContextOverflow"),
        (errors.BudgetExceededError, "BudgetExceeded"),
        (errors.ModelError, "ModelError"),
        (errors.CancelledCallError, "Cancelled"),
    ],
)
async def test_an_expected_failure_is_a_result_with_its_code(
    error_type: type[JuntoError], code: str
) -> None:
    result = await call_tool(
        build_registry(build_failing_tool(error_type("no luck"))), "place_order", itemName="x"
    )

    assert isinstance(result, dict)
    assert result["isError"]
    assert result["content"] == [{"type": "text", "text": "no luck"}]
    retryable = code in ("TimeoutError", "NetworkError", "RateLimited")
    assert result["structuredContent"] == {
        "code": code,
        "message": "no luck",
        "retryable": retryable,
    }


async def test_an_error_can_say_when_to_retry_and_never_shows_a_secret() -> None:
    error = RateLimitedError("wait, planted-secret", retryable=False, retry_after=1.5)

    result = await call_tool(build_registry(build_failing_tool(error)), "place_order", itemName="x")

    assert isinstance(result, dict)
    assert result["structuredContent"] == {
        "code": "RateLimited",
        "message": "wait, [redacted]",
        "retryable": False,
        "retryAfter": 1.5,
    }


async def test_a_tool_may_return_a_protocol_result() -> None:
    own = CallToolResult(content=[TextContent(text="mine")])

    async def run(_order: Order, _call: CallContext) -> ToolOutput:
        return own

    assert await call_tool(
        build_registry(build_order_tool(run)), "place_order", itemName="x"
    ) == own.model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.mark.feature("F020")
async def test_disabled_tools_and_groups_are_neither_listed_nor_callable() -> None:
    tools = (
        build_order_tool(),
        build_order_tool(name="other"),
        build_order_tool(name="third", group=Group.OPS),
    )

    by_name = build_registry(*tools, disabled=["other"])
    by_group = build_registry(*tools, disabled=["kit"])

    assert [tool["name"] for tool in by_name.definitions()] == ["place_order", "third"]
    assert [tool["name"] for tool in by_group.definitions()] == ["third"]
    with pytest.raises(MCPError, match="Unknown tool"):
        await call_tool(by_name, "other", itemName="x")


def test_disabling_an_unknown_tool_or_group_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"no tool or group called kti.*Groups: models, "):
        build_registry(build_order_tool(), disabled=["kti"])


def test_long_lists_are_paged_in_a_fixed_order() -> None:
    names = [f"tool_{number}" for number in range(7)]
    registry = build_registry(*(build_order_tool(name=name) for name in names), page_size=3)

    pages = []
    cursor = None
    while True:
        page = registry.list_page(cursor)
        pages.append([tool["name"] for tool in page["tools"]])
        cursor = page.get("nextCursor")
        if cursor is None:
            break

    assert pages == [names[:3], names[3:6], names[6:]]


@pytest.mark.parametrize("cursor", ["x", "after-", "after--1", "after-99", "after-²", "9" * 5000])
def test_an_unknown_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(MCPError, match="Unknown cursor"):
        build_registry(build_order_tool()).list_page(cursor)


async def test_every_call_is_counted_timed_and_audited(tmp_path: Path) -> None:
    metrics = Metrics()
    samples = metrics.registry
    registry = build_registry(build_order_tool(), metrics=metrics)

    with configure_logging(LogSinks("error", stderr=False, directory=tmp_path), Redactor()):
        await call_tool(registry, "placeOrder", itemName="private matter")
        await call_tool(registry, "place_order")

    def count(outcome: str) -> float | None:
        return samples.get_sample_value(
            "mcp_tool_calls_total", {"tool": "place_order", "outcome": outcome}
        )

    assert (count("ok"), count("ValidationError")) == (1, 1)
    timed = samples.get_sample_value(
        "mcp_tool_call_duration_seconds_count", {"tool": "place_order"}
    )
    assert timed == 2
    audit = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    assert [(line["tool"], line["outcome"], line["caller"]) for line in audit] == [
        ("place_order", "ok", "local"),
        ("place_order", "ValidationError", "local"),
    ]
    assert "private matter" not in (tmp_path / "audit.log").read_text()
    assert audit[0]["arguments"] != audit[1]["arguments"]
    *_, failed = map(json.loads, (tmp_path / "tools.log").read_text().splitlines())
    assert (failed["tool"], failed["reason"]) == ("place_order", "itemName is required.")


@pytest.mark.parametrize(
    ("error", "outcome", "message"),
    [
        (MCPError(-32602, "no such page"), "ProtocolError", "no such page"),
        (ZeroDivisionError("a secret detail"), "Crash", "Something failed inside Junto"),
    ],
)
async def test_an_unexpected_failure_is_counted_and_becomes_a_protocol_error(
    error: BaseException, outcome: str, message: str
) -> None:
    metrics = Metrics()

    with pytest.raises(MCPError, match=message):
        await call_tool(
            build_registry(build_failing_tool(error), metrics=metrics), "place_order", itemName="x"
        )

    labels = {"tool": "place_order", "outcome": outcome}
    assert metrics.registry.get_sample_value("mcp_tool_calls_total", labels) == 1


async def test_a_cancelled_call_is_counted_and_stays_cancelled() -> None:
    metrics, started = Metrics(), asyncio.Event()

    async def wait(_order: Order, _call: CallContext) -> ToolOutput:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    registry = build_registry(build_order_tool(wait), metrics=metrics)
    task = asyncio.create_task(call_tool(registry, "place_order", itemName="x"))
    await started.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    labels = {"tool": "place_order", "outcome": "Cancelled"}
    assert metrics.registry.get_sample_value("mcp_tool_calls_total", labels) == 1


async def test_unknown_tools_are_counted_under_one_label() -> None:
    metrics = Metrics()

    for name in ("fly", "swim"):
        with pytest.raises(MCPError):
            await call_tool(build_registry(build_order_tool(), metrics=metrics), name)

    labels = {"tool": "unknown", "outcome": "ProtocolError"}
    assert metrics.registry.get_sample_value("mcp_tool_calls_total", labels) == 2


@pytest.mark.feature("F247")
def test_two_tools_cannot_share_a_name() -> None:
    with pytest.raises(ValueError, match="two tools are called placeOrder"):
        build_registry(build_order_tool(), build_order_tool(name="placeOrder"))


async def test_a_result_without_its_own_text_is_shown_as_json() -> None:
    class Plain(Result):
        some_value: int

    assert Plain(some_value=1).text() == '{"someValue": 1}'


def test_a_tool_without_hints_counts_as_dangerous() -> None:
    assert Hints() == Hints(read_only=False, destructive=True, idempotent=False, open_world=True)
