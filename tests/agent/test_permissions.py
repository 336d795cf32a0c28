"""Permission questions of an agent, put to the client's user in the old and the new protocol."""

import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.agent.claude_code_server import bash, environment, say, steps
from tests.fake_model_server import FakeModelServer, fake_model_server

PROTOCOL_MODES = ["legacy", "auto"]
# Neither read-only nor a file edit, so no permission mode allows it without asking.
CREATE_FILE = "python3 -c \"open('{name}', 'w')\""


@pytest.fixture(scope="module")
def upstream() -> Iterator[FakeModelServer]:
    with fake_model_server() as upstream:
        yield upstream


class FakeUser:
    """Answers every elicitation with the same answer, or fails it."""

    def __init__(self, answer: str | Exception) -> None:
        self.answer, self.questions = answer, list[str]()

    async def __call__(self, _context: Any, params: Any) -> types.ElicitResult:
        self.questions.append(params.message)
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer == "decline":
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content={"answer": self.answer})


@asynccontextmanager
async def open_client(
    home: Path, upstream: FakeModelServer, user: Any, protocol_mode: Any
) -> AsyncIterator[Client]:
    program = shutil.which("junto", path=str(Path(sys.executable).parent)) or "junto"
    variables = environment(home, upstream, JUNTO_AGENT_ALLOWED_TOOLS="[]")
    target = StdioServerParameters(command=program, args=["mcp"], env=variables, cwd=home / "work")
    async with Client(target, elicitation_callback=user, mode=protocol_mode) as client:
        yield client


async def create_files(client: Client, *names: str, **options: Any) -> dict[str, Any]:
    commands = [bash(CREATE_FILE.format(name=name)) for name in names]
    arguments = {"prompt": steps(*commands, say("over")), "options": options}
    result = await client.call_tool("claude_code_query", arguments)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.feature("F112")
@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
@pytest.mark.parametrize("permission_mode", ["default", "acceptEdits"])
async def test_permission_granted_once_is_asked_for_again(
    tmp_path: Path, upstream: FakeModelServer, protocol_mode: str, permission_mode: str
) -> None:
    user = FakeUser("once")
    async with open_client(tmp_path, upstream, user, protocol_mode) as client:
        content = await create_files(client, "one", "two", permissionMode=permission_mode)

    assert (tmp_path / "work" / "one").exists()
    assert (tmp_path / "work" / "two").exists()
    assert len(user.questions) == 2
    assert "python3 -c" in user.questions[0]
    assert str(tmp_path / "work") in user.questions[0]
    assert content["result"] == {"success": True, "summary": "over"}


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
async def test_permission_granted_always_is_asked_for_once_per_run(
    tmp_path: Path, upstream: FakeModelServer, protocol_mode: str
) -> None:
    user = FakeUser("always")
    async with open_client(tmp_path, upstream, user, protocol_mode) as client:
        await create_files(client, "one", "two")
        questions_in_first_run = len(user.questions)
        await create_files(client, "three")

    assert questions_in_first_run == 1
    assert len(user.questions) == 2  # every run asks again
    assert (tmp_path / "work" / "two").exists()


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
@pytest.mark.parametrize("answer", ["denied", "decline", "no such answer"])
async def test_a_tool_call_without_permission_is_not_executed(
    tmp_path: Path, upstream: FakeModelServer, protocol_mode: str, answer: str
) -> None:
    async with open_client(tmp_path, upstream, FakeUser(answer), protocol_mode) as client:
        content = await create_files(client, "one")

    assert not (tmp_path / "work" / "one").exists()
    assert len(content["result"]["denied"]) == 1
    assert content["result"]["summary"] == "over"


async def test_a_failed_elicitation_counts_as_denied(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    user = FakeUser(MCPError(-1, "no screen"))
    async with open_client(tmp_path, upstream, user, "legacy") as client:
        content = await create_files(client, "one")

    assert not (tmp_path / "work" / "one").exists()
    assert len(content["result"]["denied"]) == 1


async def test_plan_mode_executes_nothing(tmp_path: Path, upstream: FakeModelServer) -> None:
    user = FakeUser("denied")
    async with open_client(tmp_path, upstream, user, "auto") as client:
        content = await create_files(client, "one", permissionMode="plan")

    assert not (tmp_path / "work" / "one").exists()
    assert content["result"]["summary"] == "over"
