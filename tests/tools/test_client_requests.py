"""The client's own model as a member of the council, asked by the official SDK's client."""

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

from tests.clients import clean_environment, http_server, junto
from tests.server_upstream import ServedUpstream, served_upstream

ERAS = ["legacy", "auto"]


@pytest.fixture
def upstream() -> Any:
    with served_upstream() as upstream:
        yield upstream


class Person:
    """Sits at the client, and answers for its model."""

    def __init__(self, answer: str | Exception = "I am the client") -> None:
        self.answer, self.asked = answer, list[types.CreateMessageRequestParams]()

    async def __call__(self, _context: Any, params: Any) -> types.CreateMessageResult:
        self.asked.append(params)
        if isinstance(self.answer, Exception):
            raise self.answer
        content = types.TextContent(text=self.answer)
        return types.CreateMessageResult(role="assistant", content=content, model="theirs")


@asynccontextmanager
async def connected(
    home: Path, upstream: ServedUpstream, person: Person | None, era: str
) -> AsyncIterator[Client]:
    program = shutil.which("junto", path=str(Path(sys.executable).parent)) or "junto"
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    target = StdioServerParameters(
        command=program,
        args=["mcp"],
        env=clean_environment(home, JUNTO_MODELS=json.dumps([model])),
        cwd=home,
    )
    async with Client(target, sampling_callback=person, mode=era) as client:  # type: ignore[arg-type]
        yield client


async def facts(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.feature("F030")
@pytest.mark.parametrize("era", ERAS)
async def test_the_clients_model_answers_in_a_conversation(
    tmp_path: Path, upstream: ServedUpstream, era: str
) -> None:
    person = Person()
    async with connected(tmp_path, upstream, person, era) as client:
        listed = await facts(client, "list_models")
        first = await facts(client, "chat", message="Hi", modelId="client", system="Be brief.")
        second = await facts(client, "chat", message="More", conversationId=first["conversationId"])
        other = await facts(
            client, "chat", message="And you?", conversationId=first["conversationId"], modelId="a"
        )

    assert listed["models"][0]["id"] == "a"
    assert listed["models"][-1]["id"] == "client"
    assert not listed["models"][-1].get("default")
    assert (first["response"], first["modelId"]) == ("I am the client", "client")
    assert second["response"] == "I am the client"
    assert other["response"] == "a heard 5: And you?"
    texts = [message.content.text for message in person.asked[1].messages]  # type: ignore[union-attr]
    assert texts == ["Hi", "I am the client", "More"]
    assert person.asked[0].system_prompt == "Be brief."


async def test_a_client_that_declines_is_told_so_and_nothing_is_kept(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    person = Person(MCPError(-1, "not today"))
    # In the newer era a client that declines ends its call by itself.
    async with connected(tmp_path, upstream, person, "legacy") as client:
        refused = await facts(client, "chat", message="Hi", modelId="client")
        listed = await facts(client, "list_conversations")

    assert refused["code"] == "PermissionDenied"
    assert "not today" in refused["message"]
    assert listed["conversations"] == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_lends_no_model_has_none(
    tmp_path: Path, upstream: ServedUpstream, era: str
) -> None:
    async with connected(tmp_path, upstream, None, era) as client:
        listed = await facts(client, "list_models")
        refused = await facts(client, "chat", message="Hi", modelId="client")

    assert "client" not in [model["id"] for model in listed["models"]]
    assert refused["code"] == "NotFound"


def test_who_comes_back_without_an_answer_is_asked_again(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    environment = clean_environment(tmp_path, JUNTO_MODELS=json.dumps([model]))
    lends: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"sampling": {}}}
    asked = {"name": "chat", "arguments": {"message": "Hi", "modelId": "client"}, "_meta": lends}
    with http_server(junto("serve", "--port", "0"), environment, tmp_path) as (there, _):
        first = there.modern("tools/call", **asked).json()["result"]
        state = first["requestState"]
        again = there.modern("tools/call", **asked, requestState=state).json()["result"]
        other = {**asked, "name": "query", "arguments": {"prompt": "Hi"}, "requestState": state}
        refused = there.modern("tools/call", **other).json()["result"]
        [key] = again["inputRequests"]
        content = {"type": "text", "text": "at last"}
        answer = {key: {"role": "assistant", "content": content, "model": "theirs"}}
        told = there.modern(
            "tools/call", **asked, requestState=state, inputResponses=answer
        ).json()["result"]

    assert again == first
    assert refused["structuredContent"]["code"] == "ValidationError"
    assert told["structuredContent"]["response"] == "at last"


async def test_it_is_asked_over_http_in_the_newer_era(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    environment = clean_environment(tmp_path, JUNTO_MODELS=json.dumps([model]))
    with http_server(junto("serve", "--port", "0"), environment, tmp_path) as (there, _):
        url = f"http://127.0.0.1:{there.port}/mcp"
        person: Any = Person("over the wire")
        async with Client(url, sampling_callback=person) as client:
            found = await facts(client, "chat", message="Hi", modelId="client")
        stale = there.modern(
            "tools/call", name="chat", arguments={"message": "x"}, requestState="0" * 32
        ).json()["result"]

    assert found["response"] == "over the wire"
    assert stale["structuredContent"]["code"] == "ValidationError"
