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
from junto.security.secrets import Redactor
from junto.telemetry.logs import Sinks, logging_to
from junto.telemetry.metrics import Metrics
from junto.tools.tool import HARMLESS, Answer, Arguments, Call, Group, Hints, Result, Tool
from tests.tools.support import call, registry


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
    def _known(cls, name: str) -> str:
        if name == "nothing":
            raise ValueError("order something")
        return name


class Receipt(Result):
    item_name: str
    total_cost: float | None = None

    @override
    def text(self) -> str:
        return f"Ordered {self.item_name}."


def ordering(run: Any = None, name: str = "place_order", group: Group = Group.KIT) -> Tool[Order]:
    async def place(order: Order, _call: Call) -> Answer:
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


def failing(error: BaseException) -> Tool[Order]:
    async def fail(_order: Order, _call: Call) -> Answer:
        raise error

    return ordering(fail)


@pytest.mark.feature("F015", "F159", "F247")
def test_a_definition_says_everything_in_few_words() -> None:
    definition = registry(ordering()).definitions()[0]

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
            "properties": {"itemName": {}},
        },
        "annotations": {"destructiveHint": True},
    }


def test_hints_say_what_a_client_would_not_assume() -> None:
    assert HARMLESS.wire() == {"readOnlyHint": True, "openWorldHint": False}
    assert Hints(destructive=False, idempotent=True).wire() == {
        "destructiveHint": False,
        "idempotentHint": True,
    }
    assert Hints().wire() == {"destructiveHint": True}


@pytest.mark.feature("F160", "F164")
async def test_a_result_is_text_and_structured_content() -> None:
    result = await registry(ordering()).call(call("place_order", itemName="tea"))

    assert result == {
        "content": [{"type": "text", "text": "Ordered tea."}],
        "structuredContent": {"itemName": "tea"},
        "isError": False,
    }


async def test_names_and_arguments_may_be_written_in_either_case() -> None:
    offered = registry(ordering())

    one = await offered.call(call("placeOrder", item_name="tea"))
    two = await offered.call(call("place_order", itemName="tea"))

    assert one == two


def test_only_arguments_that_headers_repeat_are_checked_against_headers() -> None:
    class Regional(Arguments):
        region: str = Field(json_schema_extra={"x-mcp-header": "Region"})

    async def run(_arguments: Regional, _call: Call) -> Answer:
        return Receipt(item_name="x")

    regional: Tool[Regional] = Tool(
        name="regional", title="", description="", group=Group.KIT, arguments=Regional, run=run
    )
    offered = registry(ordering(), regional)

    assert offered.header_schema("place_order") is None
    assert offered.header_schema("nothing") is None
    assert offered.header_schema("regional") == offered.definitions()[1]["inputSchema"]


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
async def test_bad_arguments_are_an_error_that_a_model_can_mend(
    arguments: dict[str, Any], message: str
) -> None:
    result = await registry(ordering()).call(call("place_order", **arguments))

    assert isinstance(result, dict)
    assert result["isError"]
    assert message in result["content"][0]["text"]
    assert result["structuredContent"]["code"] == "ValidationError"


@pytest.mark.feature("F016")
async def test_an_unknown_tool_is_a_protocol_error() -> None:
    with pytest.raises(MCPError, match="Unknown tool: fly") as caught:
        await registry(ordering()).call(call("fly"))

    assert caught.value.code == -32602


@pytest.mark.feature("F162", "F178", "F179")
@pytest.mark.parametrize(
    ("kind", "code"),
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
async def test_a_foreseen_failure_is_a_result_with_its_code(
    kind: type[JuntoError], code: str
) -> None:
    result = await registry(failing(kind("no luck"))).call(call("place_order", itemName="x"))

    assert isinstance(result, dict)
    assert result["isError"]
    assert result["content"] == [{"type": "text", "text": "no luck"}]
    retryable = code in ("TimeoutError", "NetworkError", "RateLimited")
    assert result["structuredContent"] == {
        "code": code,
        "message": "no luck",
        "retryable": retryable,
    }


async def test_an_error_can_say_when_to_try_again_and_never_shows_a_secret() -> None:
    error = RateLimitedError("wait, planted-secret", retryable=False, retry_after=1.5)

    result = await registry(failing(error)).call(call("place_order", itemName="x"))

    assert isinstance(result, dict)
    assert result["structuredContent"] == {
        "code": "RateLimited",
        "message": "wait, [redacted]",
        "retryable": False,
        "retryAfter": 1.5,
    }


async def test_a_tool_may_build_the_protocols_own_result() -> None:
    own = CallToolResult(content=[TextContent(text="mine")])

    async def run(_order: Order, _call: Call) -> Answer:
        return own

    assert await registry(ordering(run)).call(call("place_order", itemName="x")) is own


@pytest.mark.feature("F020")
async def test_switched_off_tools_and_groups_are_neither_listed_nor_served() -> None:
    tools = (ordering(), ordering(name="other"), ordering(name="third", group=Group.OPS))

    by_name = registry(*tools, off=["other"])
    by_group = registry(*tools, off=["kit"])

    assert [tool["name"] for tool in by_name.definitions()] == ["place_order", "third"]
    assert [tool["name"] for tool in by_group.definitions()] == ["third"]
    with pytest.raises(MCPError, match="Unknown tool"):
        await by_name.call(call("other", itemName="x"))


def test_switching_off_what_does_not_exist_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"no tool or group called kti.*Groups: models, "):
        registry(ordering(), off=["kti"])


def test_long_lists_come_in_pages_in_a_fixed_order() -> None:
    names = [f"tool_{number}" for number in range(7)]
    offered = registry(*(ordering(name=name) for name in names), page=3)

    pages = []
    cursor = None
    while True:
        page = offered.listed(cursor)
        pages.append([tool["name"] for tool in page["tools"]])
        cursor = page.get("nextCursor")
        if cursor is None:
            break

    assert pages == [names[:3], names[3:6], names[6:]]


@pytest.mark.parametrize("cursor", ["x", "after-", "after--1", "after-99", "after-²", "9" * 5000])
def test_a_cursor_that_is_not_ours_is_refused(cursor: str) -> None:
    with pytest.raises(MCPError, match="Unknown cursor"):
        registry(ordering()).listed(cursor)


async def test_every_call_is_counted_timed_and_audited(tmp_path: Path) -> None:
    metrics = Metrics()
    numbers = metrics.registry
    offered = registry(ordering(), metrics=metrics)

    with logging_to(Sinks("error", stderr=False, directory=tmp_path), Redactor()):
        await offered.call(call("placeOrder", itemName="private matter"))
        await offered.call(call("place_order"))

    def count(outcome: str) -> float | None:
        return numbers.get_sample_value(
            "mcp_tool_calls_total", {"tool": "place_order", "outcome": outcome}
        )

    assert (count("ok"), count("ValidationError")) == (1, 1)
    timed = numbers.get_sample_value(
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
    ("error", "outcome"),
    [
        (MCPError(-32602, "x"), "ProtocolError"),
        (ZeroDivisionError(), "Crash"),
    ],
)
async def test_what_is_not_a_foreseen_failure_is_counted_and_let_through(
    error: BaseException, outcome: str
) -> None:
    metrics = Metrics()

    with pytest.raises(type(error)):
        await registry(failing(error), metrics=metrics).call(call("place_order", itemName="x"))

    labels = {"tool": "place_order", "outcome": outcome}
    assert metrics.registry.get_sample_value("mcp_tool_calls_total", labels) == 1


async def test_a_call_that_is_stopped_is_counted_and_stays_stopped() -> None:
    metrics, started = Metrics(), asyncio.Event()

    async def wait(_order: Order, _call: Call) -> Answer:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    offered = registry(ordering(wait), metrics=metrics)
    running = asyncio.create_task(offered.call(call("place_order", itemName="x")))
    await started.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    labels = {"tool": "place_order", "outcome": "Cancelled"}
    assert metrics.registry.get_sample_value("mcp_tool_calls_total", labels) == 1


async def test_unknown_tools_are_counted_as_one() -> None:
    metrics = Metrics()

    for name in ("fly", "swim"):
        with pytest.raises(MCPError):
            await registry(ordering(), metrics=metrics).call(call(name))

    labels = {"tool": "unknown", "outcome": "ProtocolError"}
    assert metrics.registry.get_sample_value("mcp_tool_calls_total", labels) == 2


@pytest.mark.feature("F247")
def test_two_tools_may_not_answer_to_one_name() -> None:
    with pytest.raises(ValueError, match="two tools answer to placeOrder"):
        registry(ordering(), ordering(name="placeOrder"))


async def test_a_result_without_a_text_of_its_own_reads_as_json() -> None:
    class Plain(Result):
        some_value: int

    assert Plain(some_value=1).text() == '{"someValue": 1}'


def test_a_tool_that_says_nothing_about_itself_counts_as_dangerous() -> None:
    assert Hints() == Hints(read_only=False, destructive=True, idempotent=False, open_world=True)
