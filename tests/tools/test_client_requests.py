"""The client's own model, asked by sampling requests to the official SDK's client."""

import json
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.clients import clean_environment, http_server, junto_command
from tests.fake_model_server import FakeModelServer, fake_model_server

CLIENT_MODES = ["legacy", "auto"]


@pytest.fixture
def upstream() -> Any:
    with fake_model_server() as upstream:
        yield upstream


class FakeSampler:
    """Answers sampling requests in place of the client's model."""

    def __init__(self, answer: str | Exception = "I am the client") -> None:
        self.answer, self.requests = answer, list[types.CreateMessageRequestParams]()

    async def __call__(self, _context: Any, params: Any) -> types.CreateMessageResult:
        self.requests.append(params)
        if isinstance(self.answer, Exception):
            raise self.answer
        content = types.TextContent(text=self.answer)
        return types.CreateMessageResult(role="assistant", content=content, model="theirs")


@asynccontextmanager
async def sdk_client(
    home: Path, upstream: FakeModelServer, sampler: FakeSampler | None, mode: str
) -> AsyncIterator[Client]:
    program = shutil.which("junto", path=str(Path(sys.executable).parent)) or "junto"
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    target = StdioServerParameters(
        command=program,
        args=["mcp"],
        env=clean_environment(home, JUNTO_MODELS=json.dumps([model])),
        cwd=home,
    )
    async with Client(target, sampling_callback=sampler, mode=mode) as client:  # type: ignore[arg-type]
        yield client


async def call_tool(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.feature("F030")
@pytest.mark.parametrize("mode", CLIENT_MODES)
async def test_the_clients_model_answers_in_a_conversation(
    tmp_path: Path, upstream: FakeModelServer, mode: str
) -> None:
    sampler = FakeSampler()
    async with sdk_client(tmp_path, upstream, sampler, mode) as client:
        listed = await call_tool(client, "list_models")
        first = await call_tool(client, "chat", message="Hi", modelId="client", system="Be brief.")
        second = await call_tool(
            client, "chat", message="More", conversationId=first["conversationId"]
        )
        other = await call_tool(
            client, "chat", message="And you?", conversationId=first["conversationId"], modelId="a"
        )

    assert listed["models"][0]["id"] == "a"
    assert listed["models"][-1]["id"] == "client"
    assert not listed["models"][-1].get("default")
    assert (first["response"], first["modelId"]) == ("I am the client", "client")
    assert second["response"] == "I am the client"
    assert other["response"] == "a heard 5: And you?"
    texts = [message.content.text for message in sampler.requests[1].messages]  # type: ignore[union-attr]
    assert texts == ["Hi", "I am the client", "More"]
    assert sampler.requests[0].system_prompt == "Be brief."


async def test_a_declined_sampling_request_is_an_error_and_saves_nothing(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    sampler = FakeSampler(MCPError(-1, "not today"))
    # In the newer protocol a client that declines ends the call itself.
    async with sdk_client(tmp_path, upstream, sampler, "legacy") as client:
        refused = await call_tool(client, "chat", message="Hi", modelId="client")
        listed = await call_tool(client, "list_conversations")

    assert refused["code"] == "PermissionDenied"
    assert "not today" in refused["message"]
    assert listed["conversations"] == []


@pytest.mark.parametrize("mode", CLIENT_MODES)
async def test_a_client_without_sampling_offers_no_model(
    tmp_path: Path, upstream: FakeModelServer, mode: str
) -> None:
    async with sdk_client(tmp_path, upstream, None, mode) as client:
        listed = await call_tool(client, "list_models")
        refused = await call_tool(client, "chat", message="Hi", modelId="client")

    assert "client" not in [model["id"] for model in listed["models"]]
    assert refused["code"] == "NotFound"


def test_a_retry_without_an_answer_gets_the_same_request_again(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    environment = clean_environment(tmp_path, JUNTO_MODELS=json.dumps([model]))
    meta: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"sampling": {}}}
    params = {"name": "chat", "arguments": {"message": "Hi", "modelId": "client"}, "_meta": meta}
    with http_server(junto_command("serve", "--port", "0"), environment, tmp_path) as (server, _):
        first = server.modern("tools/call", **params).json()["result"]
        state = first["requestState"]
        again = server.modern("tools/call", **params, requestState=state).json()["result"]
        other = {**params, "name": "query", "arguments": {"prompt": "Hi"}, "requestState": state}
        refused = server.modern("tools/call", **other).json()["result"]
        [key] = again["inputRequests"]
        content = {"type": "text", "text": "at last"}
        answer = {key: {"role": "assistant", "content": content, "model": "theirs"}}
        reply = server.modern(
            "tools/call", **params, requestState=state, inputResponses=answer
        ).json()["result"]

    assert again == first
    assert refused["structuredContent"]["code"] == "ValidationError"
    assert reply["structuredContent"]["response"] == "at last"


async def test_the_clients_model_is_asked_over_http_with_the_newer_protocol(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    environment = clean_environment(tmp_path, JUNTO_MODELS=json.dumps([model]))
    with http_server(junto_command("serve", "--port", "0"), environment, tmp_path) as (server, _):
        url = f"http://127.0.0.1:{server.port}/mcp"
        sampler: Any = FakeSampler("over the wire")
        async with Client(url, sampling_callback=sampler) as client:
            reply = await call_tool(client, "chat", message="Hi", modelId="client")
        stale = server.modern(
            "tools/call", name="chat", arguments={"message": "x"}, requestState="0" * 32
        ).json()["result"]

    assert reply["response"] == "over the wire"
    assert stale["structuredContent"]["code"] == "ValidationError"
