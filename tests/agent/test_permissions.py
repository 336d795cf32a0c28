"""What an agent may not do by itself, asked of the client's user in both eras of the protocol."""

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

from tests.agent.harness import bash, environment, says, steps
from tests.server_upstream import ServedUpstream, served_upstream

ERAS = ["legacy", "auto"]
# Neither reads only nor edits files, so that no mode allows it by itself.
MAKES = "python3 -c \"open('{name}', 'w')\""


@pytest.fixture(scope="module")
def upstream() -> Iterator[ServedUpstream]:
    with served_upstream() as upstream:
        yield upstream


class Person:
    """Sits at the client, and decides."""

    def __init__(self, answer: str | Exception) -> None:
        self.answer, self.asked = answer, list[str]()

    async def __call__(self, _context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer == "decline":
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content={"answer": self.answer})


@asynccontextmanager
async def connected(
    home: Path, upstream: ServedUpstream, person: Any, era: Any
) -> AsyncIterator[Client]:
    program = shutil.which("junto", path=str(Path(sys.executable).parent)) or "junto"
    variables = environment(home, upstream, JUNTO_AGENT_ALLOWED_TOOLS="[]")
    target = StdioServerParameters(command=program, args=["mcp"], env=variables, cwd=home / "work")
    async with Client(target, elicitation_callback=person, mode=era) as client:
        yield client


async def ran(client: Client, *names: str, **options: Any) -> dict[str, Any]:
    each = [bash(MAKES.format(name=name)) for name in names]
    arguments = {"prompt": steps(*each, says("over")), "options": options}
    result = await client.call_tool("claude_code_query", arguments)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.feature("F112")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("mode", ["default", "acceptEdits"])
async def test_whoever_agrees_once_is_asked_again(
    tmp_path: Path, upstream: ServedUpstream, era: str, mode: str
) -> None:
    person = Person("once")
    async with connected(tmp_path, upstream, person, era) as client:
        facts = await ran(client, "one", "two", permissionMode=mode)

    assert (tmp_path / "work" / "one").exists()
    assert (tmp_path / "work" / "two").exists()
    assert len(person.asked) == 2
    assert "python3 -c" in person.asked[0]
    assert str(tmp_path / "work") in person.asked[0]
    assert facts["result"] == {"success": True, "summary": "over"}


@pytest.mark.parametrize("era", ERAS)
async def test_whoever_agrees_for_good_is_asked_once(
    tmp_path: Path, upstream: ServedUpstream, era: str
) -> None:
    person = Person("always")
    async with connected(tmp_path, upstream, person, era) as client:
        await ran(client, "one", "two")
        asked = len(person.asked)
        await ran(client, "three")

    assert asked == 1
    assert len(person.asked) == 2  # another run, another question
    assert (tmp_path / "work" / "two").exists()


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("answer", ["denied", "decline", "no such answer"])
async def test_whoever_does_not_agree_is_obeyed(
    tmp_path: Path, upstream: ServedUpstream, era: str, answer: str
) -> None:
    async with connected(tmp_path, upstream, Person(answer), era) as client:
        facts = await ran(client, "one")

    assert not (tmp_path / "work" / "one").exists()
    assert len(facts["result"]["denied"]) == 1
    assert facts["result"]["summary"] == "over"


async def test_a_client_that_fails_to_ask_has_not_agreed(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    person = Person(MCPError(-1, "no screen"))
    async with connected(tmp_path, upstream, person, "legacy") as client:
        facts = await ran(client, "one")

    assert not (tmp_path / "work" / "one").exists()
    assert len(facts["result"]["denied"]) == 1


async def test_in_plan_mode_nothing_is_done(tmp_path: Path, upstream: ServedUpstream) -> None:
    person = Person("denied")
    async with connected(tmp_path, upstream, person, "auto") as client:
        facts = await ran(client, "one", permissionMode="plan")

    assert not (tmp_path / "work" / "one").exists()
    assert facts["result"]["summary"] == "over"
