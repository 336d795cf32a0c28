"""The chat and conversation tools over MCP, with a fake model server."""

import base64
import contextlib
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import StdioClient, environment_with_roots, junto_command, request, stdio_server
from tests.fake_model_server import FakeModelServer, fake_model_server

PNG = b"\x89PNG\r\n\x1a\n"
CallTool = Callable[..., dict[str, Any]]


def environment(home: Path, upstream: FakeModelServer, **more: str) -> dict[str, str]:
    price = {"input": 3, "output": 15}
    a = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k-1"}
    b = {"id": "b", "baseUrl": f"{upstream.url}/v1", "apiKey": "k-2"}
    models = json.dumps([a | {"price": price}, b])
    return environment_with_roots(home, JUNTO_MODELS=models, JUNTO_ANSWERS_MAX_RETRIES="0", **more)


@contextlib.contextmanager
def serving(home: Path, upstream: FakeModelServer, **more: str) -> Iterator[StdioClient]:
    """Start a server, and check that it ends cleanly after the test."""
    variables = environment(home, upstream, **more)
    with stdio_server(junto_command("mcp"), variables, home, with_coverage=True) as server:
        yield server
        assert server.finish() == (0, b"")


class Client:
    """Calls the tools of one server."""

    def __init__(self, server: StdioClient) -> None:
        self.server = server

    def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return called(self.server, tool, **arguments)


def called(client: StdioClient, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = client.ask(1, "tools/call", name=tool, arguments=arguments)
    result: dict[str, Any] = answer["result"]
    return result


@pytest.fixture
def upstream() -> Iterator[FakeModelServer]:
    with fake_model_server() as upstream:
        yield upstream


@pytest.fixture
def client(tmp_path: Path, upstream: FakeModelServer) -> Iterator[Client]:
    with serving(tmp_path, upstream) as server:
        yield Client(server)


@pytest.fixture(scope="module")
def failing_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client that tests can share, because none of their calls succeeds."""
    home = tmp_path_factory.mktemp("refusing")
    limits = {"JUNTO_LIMITS_FAILURES": "1000"}  # by default the circuit opens after five
    with fake_model_server() as upstream, serving(home, upstream, **limits) as server:
        yield Client(server)


@pytest.fixture
def call_after_restart(tmp_path: Path, upstream: FakeModelServer) -> CallTool:
    """Calls a tool on a server that starts for this call and ends after it."""

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        with serving(tmp_path, upstream) as server:
            return called(server, tool, **arguments)

    return call


@pytest.mark.feature("F052", "F053", "F054", "F055", "F057", "F092", "F164")
def test_five_turns_with_two_models_survive_a_restart_before_each(
    call_after_restart: CallTool,
) -> None:
    first = call_after_restart("chat", message="one")["structuredContent"]
    id_ = first["conversationId"]
    assert first == {
        "conversationId": id_,
        "response": "a heard 1: one",
        "modelId": "a",
        "usage": {"inputTokens": 10, "outputTokens": 5, "costUsd": 0.000105},
    }

    second = call_after_restart("chat", message="two", conversationId=id_)
    assert second["structuredContent"]["response"] == "a heard 3: two"
    assert second["content"][0]["text"] == (
        f"a heard 3: two\n\n[conversation {id_} · a · 10 tokens in, 5 out, $0.000105]"
    )

    third = call_after_restart("chat", message="three", conversationId=id_, modelId="b")[
        "structuredContent"
    ]
    assert third["response"] == "b heard 5: three"
    assert third["conversationId"] != id_
    assert "costUsd" not in third["usage"]  # unknown, not 0
    call_after_restart("chat", message="four", conversationId=third["conversationId"])
    last = call_after_restart("chat", message="five", conversationId=id_)["structuredContent"]
    assert last["response"] == "a heard 5: five"

    history = call_after_restart("conversation_history", conversationId=third["conversationId"])
    assert history["content"][0]["text"].split("\n\n")[:-1] == [
        "user: one", "assistant (a): a heard 1: one", "user: two", "assistant (a): a heard 3: two",
        "user: three", "assistant (b): b heard 5: three",
        "user: four", "assistant (b): b heard 7: four",
    ]  # fmt: skip
    listed = call_after_restart("list_conversations")["structuredContent"]["conversations"]
    assert [(each["id"], each["messages"]) for each in listed] == [
        (id_, 6), (third["conversationId"], 8),
    ]  # fmt: skip


@pytest.mark.feature("F032", "F033", "F034", "F039", "F244", "F245")
def test_query_continues_a_session_and_starts_unknown_ones(call_after_restart: CallTool) -> None:
    first = call_after_restart("query", prompt="one")["structuredContent"]
    second = call_after_restart("query", prompt="two", sessionId=first["sessionId"])[
        "structuredContent"
    ]
    unknown = call_after_restart("query", prompt="x", sessionId="my-own")

    assert second["response"] == "a heard 3: two"
    assert second["sessionId"] == first["sessionId"]
    assert unknown["structuredContent"]["sessionId"] == "my-own"
    assert "new one begins" in unknown["content"][0]["text"]


@pytest.mark.feature("F244", "F180", "F181", "F182", "F183", "F184", "F162", "F178", "F179")
@pytest.mark.parametrize(
    ("prompt", "code", "retryable"),
    [
        ("fail 429", "RateLimited", True),
        ("fail 401", "AuthenticationFailed", False),
        ("fail 413", "ContextOverflow", False),
        ("fail 500", "NetworkError", True),
        ("fail 400", "ValidationError", False),
        ("cut", "NetworkError", True),
    ],
)
@pytest.mark.parametrize("model", ["a", "b"])
def test_a_provider_failure_is_an_error_result_and_saves_nothing(
    failing_client: Client, prompt: str, code: str, retryable: object, model: str
) -> None:
    failed = failing_client("chat", message=prompt, modelId=model)

    assert failed["isError"]
    facts = failed["structuredContent"]
    assert (facts["code"], facts["retryable"]) == (code, retryable)
    assert facts["message"] == failed["content"][0]["text"]
    assert "k-1" not in json.dumps(failed)
    assert failing_client("list_conversations")["structuredContent"]["conversations"] == []


def test_the_retry_delay_of_a_provider_is_passed_on(client: Client) -> None:
    facts = client("chat", message="fail 429")["structuredContent"]

    assert facts["retryAfter"] == 7.0


@pytest.mark.feature("F056", "F061", "F044")
def test_reasoning_is_returned_only_when_it_is_requested(client: Client) -> None:
    with_reasoning = client("chat", message="think", reasoning=True)["structuredContent"]
    without_reasoning = client("chat", message="think")["structuredContent"]

    assert with_reasoning["reasoning"] == "hm, hm"
    assert "reasoning" not in without_reasoning


@pytest.mark.feature("F035", "F094")
def test_parts_reach_the_model_and_stay_in_the_history(
    call_after_restart: CallTool, upstream: FakeModelServer, tmp_path: Path
) -> None:
    (tmp_path / "page.pdf").write_bytes(b"%PDF-1.4")
    data = base64.b64encode(PNG).decode()
    parts = [
        {"text": "and this"},
        {"inlineData": {"mimeType": "image/png", "data": data}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": f"file://{tmp_path}/page.pdf"}},
        {"inlineData": {"mimeType": "text/plain", "data": base64.b64encode(b"words").decode()}},
    ]

    first = call_after_restart("chat", message="look", parts=parts)["structuredContent"]
    call_after_restart("chat", message="again", conversationId=first["conversationId"])

    content = upstream.bodies[-1]["messages"][0]["content"]
    assert [block["type"] for block in content] == ["text", "text", "image", "document", "text"]
    assert content[2]["source"] == {"type": "base64", "media_type": "image/png", "data": data}
    assert base64.b64decode(content[3]["source"]["data"]) == b"%PDF-1.4"
    history = call_after_restart("conversation_history", conversationId=first["conversationId"])
    assert "[image/png, 8 bytes]" in history["content"][0]["text"]


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({}, "parts[0]: expected {text} |"),
        (
            {"text": "x", "inlineData": {"mimeType": "image/png", "data": ""}},
            "parts[0]: expected {text} |",
        ),
        ({"inlineData": {"mimeType": "image/png", "data": "???"}}, "expected base64"),
        ({"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}}, "video/mp4 is not supported"),
        ({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, "mimeType is image/png"),
        ({"type": "audio", "data": "AAAA"}, "parts[0]: expected {text} |"),
        ({"fileData": {"mimeType": "image/png", "fileUri": "file:///etc/passwd"}}, "outside"),
        ({"fileData": {"mimeType": "image/png", "fileUri": "file://h/x"}}, "named by file:///"),
        ({"fileData": {"mimeType": "image/png", "fileUri": "http://x/y.png"}}, "named by file:///"),
        ({"fileData": {"mimeType": "image/png", "fileUri": "https://127.0.0.1/x"}}, "public"),
        ({"fileData": {"mimeType": "image/png", "fileUri": "https://2130706433/x"}}, "public"),
        ({"fileData": {"mimeType": "image/png", "fileUri": "https://localhost/x"}}, "public"),
    ],
)
def test_an_invalid_or_forbidden_part_is_refused(
    failing_client: Client, part: dict[str, Any], reason: str
) -> None:
    failed = failing_client("chat", message="look", parts=[part])

    assert failed["isError"]
    assert reason in failed["content"][0]["text"]


def test_too_many_or_too_large_parts_are_refused(client: Client) -> None:
    many = client("chat", message="x", parts=[{"text": "y"}] * 21)
    megabyte = base64.b64encode(PNG.ljust(2**20)).decode()
    large = client(
        "chat",
        message="x",
        parts=[{"inlineData": {"mimeType": "image/png", "data": megabyte}}] * 20 + [],
    )

    assert many["structuredContent"]["code"] == "ValidationError"
    assert large.get("isError") is False  # exactly the limit
    seven_megabytes = base64.b64encode(PNG.ljust(7 * 2**20)).decode()
    larger = client(
        "chat",
        message="x",
        parts=[{"inlineData": {"mimeType": "image/png", "data": seven_megabytes}}] * 3,
    )
    assert "more than 20 MB" in larger["content"][0]["text"]


def test_a_schema_gives_data_and_an_invalid_one_is_refused_before_the_model_is_asked(
    client: Client, upstream: FakeModelServer
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    good = client("chat", message='say {"n": 3}', schema=schema)
    wrong = client("chat", message='say {"n": "x"}', schema=schema)
    request_count = len(upstream.bodies)
    bad = client("chat", message="x", schema={"type": "nonsense"})

    assert good["structuredContent"]["data"] == {"n": 3}
    assert wrong["structuredContent"]["code"] == "ModelError"
    assert bad["structuredContent"]["code"] == "ValidationError"
    assert len(upstream.bodies) == request_count


@pytest.mark.feature("F103", "F007")
def test_text_is_streamed_as_progress_and_the_result_contains_all_of_it(
    client: Client,
) -> None:
    client.server.send(
        request(
            1, "tools/call", name="chat", arguments={"message": "long"},
            _meta={"progressToken": "t"},
        )
    )  # fmt: skip
    updates = []
    while "result" not in (message := client.server.receive()):
        updates.append(message["params"])

    assert [update["progress"] for update in updates] == list(range(1, len(updates) + 1))
    text = "".join(update["message"] for update in updates)
    assert text == message["result"]["structuredContent"]["response"]
    assert len(updates) > 1


@pytest.mark.feature("F059", "F121")
def test_a_long_history_is_shortened_with_a_marker_or_returned_in_pages(client: Client) -> None:
    id_ = client("chat", message="0")["structuredContent"]["conversationId"]
    for number in range(1, 10):
        client("chat", message=str(number), conversationId=id_)

    short = client("conversation_history", conversationId=id_, limit=6)
    facts = short["_meta"]["junto/metadata"]
    contents = short["content"][0]["text"].split("\n\n")
    assert contents[3] == "… 14 messages omitted …"
    assert (contents[0], contents[-3]) == ("user: 0", "user: 9")
    assert contents[-1].startswith(f"[conversation {id_} · ")
    assert (facts["truncated"], facts["total"]) == (True, 20)

    seen: list[str] = []
    cursor: str | None = "0"
    while cursor is not None:
        page = client("conversation_history", conversationId=id_, limit=7, cursor=cursor)
        seen += page["content"][0]["text"].split("\n\n")[:-1]
        cursor = page["_meta"]["junto/metadata"].get("cursor")
    assert len(seen) == 20
    assert seen[::2] == [f"user: {number}" for number in range(10)]

    bad = client("conversation_history", conversationId=id_, cursor="x")
    assert bad["structuredContent"]["code"] == "ValidationError"
    missing = client("conversation_history", conversationId="0" * 32)
    assert missing["structuredContent"]["code"] == "NotFound"


def test_a_conversation_can_be_searched_and_read_as_a_resource(
    client: Client,
) -> None:
    id_ = client("chat", message="the purple elephant")["structuredContent"]["conversationId"]
    client("chat", message="something else")

    hits = client("search_history", query="elephants", topK=1)
    none = client("search_history", query="thermodynamics of black holes")
    resource = client.server.ask(5, "resources/read", uri=f"conversation://{id_}")
    unknown = client.server.ask(6, "resources/read", uri="conversation://nobody")
    suggested = client.server.ask(
        7,
        "completion/complete",
        ref={"type": "ref/resource", "uri": "conversation://{id}"},
        argument={"name": "id", "value": id_[:4]},
    )

    [hit] = hits["structuredContent"]["hits"]
    assert hit["conversationId"] == id_
    assert "purple elephant" in hit["snippet"]
    assert none["structuredContent"]["hits"] == []
    assert "Try fewer" in none["content"][0]["text"]
    conversation = json.loads(resource["result"]["contents"][0]["text"])
    assert conversation["messages"][0]["content"] == "the purple elephant"
    assert unknown["error"]["code"] == -32602
    assert suggested["result"]["completion"]["values"] == [id_]


def test_with_conversations_disabled_their_tools_are_not_offered(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with serving(tmp_path, upstream, CLAUDE_ENABLE_CONVERSATIONS="false") as server:
        tools = [tool["name"] for tool in server.ask(1, "tools/list")["result"]["tools"]]
        answer = called(server, "chat", message="x")["structuredContent"]

    assert "list_conversations" not in tools
    assert "conversationId" not in answer


def test_short_and_snake_case_names_of_arguments_are_accepted(client: Client) -> None:
    id_ = client("chat", message="one", model="a", conversationId="")["structuredContent"][
        "conversationId"
    ]
    again = client("chat", message="two", id=id_, model_id="a", max_tokens=100)
    both = client("chat", message="three", model="a", modelId="b")
    typo = client("chat", mesage="one")

    assert again["structuredContent"]["conversationId"] == id_
    assert "There is no argument model." in both["content"][0]["text"]
    assert "Did you mean message?" in typo["content"][0]["text"]


def test_content_blocks_of_other_apis_are_accepted_as_parts(
    client: Client, upstream: FakeModelServer
) -> None:
    data = base64.b64encode(PNG).decode()
    parts = [
        {"type": "text", "text": "words"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
    ]
    client("chat", message="look", parts=parts)

    content = upstream.bodies[-1]["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "text", "image", "image"]
    assert content[3]["source"]["data"] == data


def count_tokens(text: str) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it reads its data in an old way
        import bpe_openai

    return len(bpe_openai.get_encoding("o200k_base").encode(text))


def test_all_tools_together_cost_a_client_few_tokens(client: Client) -> None:
    tools = client.server.ask(1, "tools/list")["result"]["tools"]

    assert count_tokens(json.dumps(tools, separators=(",", ":"))) <= 3700


def test_the_council_profile_has_no_local_tools_and_no_agent(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with serving(tmp_path, upstream, JUNTO_TOOLS_PROFILE="council") as server:
        tools = server.ask(1, "tools/list")["result"]["tools"]

    assert [tool["name"] for tool in tools] == [
        "chat", "query", "list_models", "conversation_history", "list_conversations",
        "search", "fetch", "job", "usage",
    ]  # fmt: skip
    # 2,000, of which 500 are for `compare`
    assert count_tokens(json.dumps(tools, separators=(",", ":"))) <= 1500


def test_every_tool_and_every_argument_is_described(client: Client) -> None:
    for tool in client.server.ask(1, "tools/list")["result"]["tools"]:
        assert tool["title"]
        assert tool["description"].endswith(".")
        assert tool["description"][0].isupper()
        assert list(find_undescribed(tool["inputSchema"], tool["name"])) == []
        fields = tool.get("outputSchema", {"properties": {}})["properties"]
        assert all("type" in field for field in fields.values()), tool["name"]


def find_undescribed(schema: dict[str, Any], path: str) -> Iterator[str]:
    for name, node in schema.get("properties", {}).items():
        if not node.get("description"):
            yield f"{path}.{name}"
        yield from find_undescribed(node, f"{path}.{name}")


@pytest.mark.feature("F199")
def test_logs_record_reasoning_and_tool_calls_without_secrets(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    key = "a-key-that-nobody-may-read"
    variables = {"JUNTO_LOGGING_OUTPUT": "files", "OPENAI_API_KEY": key}
    with serving(tmp_path, upstream, **variables) as server:
        called(server, "chat", message="think", system=f"The key is {key}.")
        called(server, "current_time", timezone="Nowhere/Land")

    def read_log(name: str) -> list[dict[str, Any]]:
        text = (tmp_path / "data/junto/logs" / f"{name}.log").read_text()
        assert key not in text
        return [json.loads(line) for line in text.splitlines()]

    [thought] = read_log("reasoning")
    assert (thought["event"], thought["model"], thought["text"]) == ("thought", "a", "hm, hm")
    events = [(line["event"], line["tool"]) for line in read_log("tools")]
    assert events == [
        ("tool called", "chat"),
        ("tool answered", "chat"),
        ("tool called", "current_time"),
        ("tool failed", "current_time"),
    ]
    assert '"message": "think"' in read_log("tools")[0]["arguments"]
    assert {line["outcome"] for line in read_log("audit")} == {"ok", "ValidationError"}
    assert not (tmp_path / "data/junto/logs/general.log").exists()
