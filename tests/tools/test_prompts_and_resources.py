import base64
from typing import Any, cast

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CompletionArgument, GetPromptRequestParams, PromptReference

from junto.tools.completions import Completions
from junto.tools.prompts import Prompts, build_default_prompts
from junto.tools.resources import Resource, Resources, ResourceTemplate
from junto.tools.server_spec import ServerSpec

CONTEXT = cast("Any", None)


async def render_prompt(name: str, **arguments: str) -> str:
    params = GetPromptRequestParams(name=name, arguments=arguments)
    result = await Prompts(build_default_prompts()).get(CONTEXT, params)
    assert isinstance(result, dict)
    text: str = result["messages"][0]["content"]["text"]
    return text


@pytest.mark.feature("F028")
async def test_prompts_contain_their_arguments() -> None:
    review = await render_prompt("code_review", code="x = 1", language="python", focus="security")
    explained = await render_prompt("explain_code", code="x = 1", audience="a child")
    debugged = await render_prompt("debug_help", error="E", code="C", tried="T")
    opinion = await render_prompt("second_opinion", question="Q", answer="A", modelId="m1")

    assert "```python\nx = 1\n```" in review
    assert "attention to security" in review
    assert "to a child" in explained
    assert all(part in debugged for part in ("```\nE\n```", "```\nC\n```", "Tried already: T"))
    assert "Ask the model m1 to check" in opinion


async def test_prompts_work_without_optional_arguments() -> None:
    assert "attention" not in await render_prompt("code_review", code="x")
    assert "not seen it before" in await render_prompt("explain_code", code="x")
    assert "Tried" not in await render_prompt("debug_help", error="E")
    assert "Check this answer independently" in await render_prompt(
        "second_opinion", question="q", answer="a"
    )


async def test_code_that_contains_fences_stays_in_one_block() -> None:
    assert "````\na\n```\nb\n````" in await render_prompt("explain_code", code="a\n```\nb")


async def test_an_unknown_prompt_or_a_missing_argument_is_an_error() -> None:
    with pytest.raises(MCPError, match="Unknown prompt: poem"):
        await render_prompt("poem")
    with pytest.raises(MCPError, match="code_review needs code"):
        await render_prompt("code_review")


def test_prompts_are_listed_with_their_arguments() -> None:
    listed = Prompts(build_default_prompts()).list_page(None)["prompts"]

    assert [prompt["name"] for prompt in listed] == [
        "code_review",
        "explain_code",
        "debug_help",
        "second_opinion",
    ]
    assert listed[0]["arguments"][0]["required"]


async def _read_text() -> str:
    return "hello"


async def _read_bytes() -> bytes:
    return b"\x00\x01"


async def _read_template(uri: str) -> str | None:
    return uri.upper() if uri.startswith("x://") else None


RESOURCES = Resources(
    [
        Resource(uri="a://1", name="one", title="One", description="1", read=_read_text),
        Resource(uri="a://2", name="two", title="Two", description="2", read=_read_bytes),
    ],
    [
        ResourceTemplate(
            uri_template="x://{y}", name="x", title="X", description="x", read=_read_template
        )
    ],
)


async def test_resources_are_read_by_uri() -> None:
    text = (await RESOURCES.read("a://1"))["contents"][0]
    blob = (await RESOURCES.read("a://2"))["contents"][0]
    templated = (await RESOURCES.read("x://y"))["contents"][0]

    assert text["text"] == "hello"
    assert base64.b64decode(blob["blob"]) == b"\x00\x01"
    assert templated["text"] == "X://Y"


async def test_an_unknown_resource_is_an_error_with_its_uri() -> None:
    with pytest.raises(MCPError, match="Unknown resource: b://") as caught:
        await RESOURCES.read("b://")

    assert caught.value.error.data == {"uri": "b://"}


def test_resources_and_templates_are_listed() -> None:
    assert [r["uri"] for r in RESOURCES.list_page(None)["resources"]] == ["a://1", "a://2"]
    assert RESOURCES.list_template_page(None)["resourceTemplates"][0]["uriTemplate"] == "x://{y}"


async def complete(
    values: dict[str, list[str]], prompt: str, argument: str, typed: str
) -> dict[str, Any]:
    providers = {name: (lambda these=these: these) for name, these in values.items()}
    result = await Completions(providers, Prompts(build_default_prompts())).complete(
        PromptReference(name=prompt), CompletionArgument(name=argument, value=typed)
    )
    completion: dict[str, Any] = result["completion"]
    return completion


async def test_completions_list_prefix_matches_before_other_matches() -> None:
    values = {"modelId": ["gpt-son", "sonnet", "opus"]}

    completion = await complete(values, "second_opinion", "modelId", "SON")
    assert completion["values"] == ["sonnet", "gpt-son"]
    assert (await complete(values, "code_review", "modelId", "SON"))["values"] == []
    with pytest.raises(MCPError, match="Unknown prompt: poem"):
        await complete(values, "poem", "modelId", "")
    assert await complete(values, "code_review", "language", "x") == {
        "values": [],
        "total": 0,
        "hasMore": False,
    }


async def test_completions_are_at_most_a_hundred() -> None:
    many = {"language": [str(number) for number in range(150)]}

    completion = await complete(many, "code_review", "language", "")

    assert (len(completion["values"]), completion["hasMore"]) == (100, True)


@pytest.mark.feature("F017", "F237", "F247")
@pytest.mark.parametrize(
    "invalid", [{"name": ""}, {"version": ""}, {"instructions": "x" * 2049}], ids=str
)
def test_a_server_needs_a_name_a_version_and_short_instructions(invalid: dict[str, str]) -> None:
    nothing = cast("Any", None)
    parts = {"name": "n", "version": "1", "instructions": ""} | invalid

    with pytest.raises(ValueError, match=r"a name and a version|2048"):
        ServerSpec(
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
