import base64
from typing import Any, cast

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CompletionArgument, GetPromptRequestParams, PromptReference

from junto.tools.completions import Completions
from junto.tools.prompts import Prompts, house_prompts
from junto.tools.resources import Resource, Resources, Template
from junto.tools.surface import Surface

CONTEXT = cast("Any", None)


async def written(name: str, **blanks: str) -> str:
    params = GetPromptRequestParams(name=name, arguments=blanks)
    result = await Prompts(house_prompts()).get(CONTEXT, params)
    assert isinstance(result, dict)
    text: str = result["messages"][0]["content"]["text"]
    return text


@pytest.mark.feature("F028")
async def test_prompts_carry_what_was_filled_in() -> None:
    review = await written("code_review", code="x = 1", language="python", focus="security")
    explained = await written("explain_code", code="x = 1", audience="a child")
    debugged = await written("debug_help", error="E", code="C", tried="T")
    opinion = await written("second_opinion", question="Q", answer="A", modelId="m1")

    assert "```python\nx = 1\n```" in review
    assert "attention to security" in review
    assert "to a child" in explained
    assert all(part in debugged for part in ("```\nE\n```", "```\nC\n```", "Tried already: T"))
    assert "Ask the model m1 to check" in opinion


async def test_prompts_stand_without_what_is_optional() -> None:
    assert "attention" not in await written("code_review", code="x")
    assert "not seen it before" in await written("explain_code", code="x")
    assert "Tried" not in await written("debug_help", error="E")
    assert "Check this answer independently" in await written(
        "second_opinion", question="q", answer="a"
    )


async def test_code_with_fences_of_its_own_stays_in_one_piece() -> None:
    assert "````\na\n```\nb\n````" in await written("explain_code", code="a\n```\nb")


async def test_prompts_refuse_what_they_do_not_know_or_lack() -> None:
    with pytest.raises(MCPError, match="Unknown prompt: poem"):
        await written("poem")
    with pytest.raises(MCPError, match="code_review needs code"):
        await written("code_review")


def test_prompts_are_listed_with_their_blanks() -> None:
    listed = Prompts(house_prompts()).listed(None)["prompts"]

    assert [prompt["name"] for prompt in listed] == [
        "code_review",
        "explain_code",
        "debug_help",
        "second_opinion",
    ]
    assert listed[0]["arguments"][0]["required"]


async def _text() -> str:
    return "hello"


async def _bytes() -> bytes:
    return b"\x00\x01"


async def _family(uri: str) -> str | None:
    return uri.upper() if uri.startswith("x://") else None


RESOURCES = Resources(
    [
        Resource(uri="a://1", name="one", title="One", description="1", read=_text),
        Resource(uri="a://2", name="two", title="Two", description="2", read=_bytes),
    ],
    [Template(uri_template="x://{y}", name="x", title="X", description="x", read=_family)],
)


async def test_resources_are_read_by_address() -> None:
    text = (await RESOURCES.read("a://1"))["contents"][0]
    blob = (await RESOURCES.read("a://2"))["contents"][0]
    member = (await RESOURCES.read("x://y"))["contents"][0]

    assert text["text"] == "hello"
    assert base64.b64decode(blob["blob"]) == b"\x00\x01"
    assert member["text"] == "X://Y"


async def test_a_resource_that_does_not_exist_is_an_error_with_its_address() -> None:
    with pytest.raises(MCPError, match="Unknown resource: b://") as caught:
        await RESOURCES.read("b://")

    assert caught.value.error.data == {"uri": "b://"}


def test_resources_and_templates_are_listed() -> None:
    assert [r["uri"] for r in RESOURCES.listed(None)["resources"]] == ["a://1", "a://2"]
    assert RESOURCES.templates(None)["resourceTemplates"][0]["uriTemplate"] == "x://{y}"


async def completed(
    values: dict[str, list[str]], prompt: str, argument: str, typed: str
) -> dict[str, Any]:
    known = {name: (lambda these=these: these) for name, these in values.items()}
    result = await Completions(known, Prompts(house_prompts())).of(
        PromptReference(name=prompt), CompletionArgument(name=argument, value=typed)
    )
    found: dict[str, Any] = result["completion"]
    return found


async def test_completions_begin_with_what_was_typed_then_hold_it() -> None:
    values = {"modelId": ["gpt-son", "sonnet", "opus"]}

    found = await completed(values, "second_opinion", "modelId", "SON")
    assert found["values"] == ["sonnet", "gpt-son"]
    assert (await completed(values, "code_review", "modelId", "SON"))["values"] == []
    with pytest.raises(MCPError, match="Unknown prompt: poem"):
        await completed(values, "poem", "modelId", "")
    assert await completed(values, "code_review", "language", "x") == {
        "values": [],
        "total": 0,
        "hasMore": False,
    }


async def test_completions_are_at_most_a_hundred() -> None:
    many = {"language": [str(number) for number in range(150)]}

    found = await completed(many, "code_review", "language", "")

    assert (len(found["values"]), found["hasMore"]) == (100, True)


@pytest.mark.feature("F017", "F237", "F247")
@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"version": ""}, {"instructions": "x" * 2049}], ids=str
)
def test_a_server_needs_a_name_a_version_and_short_instructions(wrong: dict[str, str]) -> None:
    nothing = cast("Any", None)
    parts = {"name": "n", "version": "1", "instructions": ""} | wrong

    with pytest.raises(ValueError, match=r"a name and a version|2048"):
        Surface(
            title="",
            description="",
            tools=nothing,
            resources=nothing,
            prompts=nothing,
            completions=nothing,
            redactor=nothing,
            tasks=None,
            **parts,
        )
