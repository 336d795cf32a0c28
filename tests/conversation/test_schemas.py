"""Schemas come from callers: they may be anything, lead anywhere, and take for ever."""

import json
from pathlib import Path
from typing import Any

import pytest

from junto.conversation.schemas import check_schema, checked
from junto.domain.errors import InvalidInputError, ModelError

DEEP: dict[str, Any] = {}
for _ in range(40):
    DEEP = {"properties": {"x": DEEP}}


async def test_what_fits_is_returned() -> None:
    schema = {"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}

    await check_schema(schema)
    assert await checked("[1, 2]", schema) == [1, 2]
    assert await checked("anything", None) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "http://127.0.0.1:9/x"},
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"$ref": "other.json"},
        {"$dynamicRef": "http://127.0.0.1:9/x"},
        {"$ref": "#/nope"},
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$id": "http://[", "$ref": "x"},
        {"enum": ["x" * 300_000]},
    ],
    ids=lambda schema: json.dumps(schema)[:40],
)
async def test_a_schema_that_is_none_or_leads_elsewhere_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="schema: "):
        await check_schema(schema)


async def test_nothing_is_read_that_a_schema_points_to(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"enum": ["TOP-SECRET"]}))

    with pytest.raises(InvalidInputError) as refused:
        await checked("1", {"$ref": secret.as_uri()})

    assert "TOP-SECRET" not in refused.value.message


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("[NaN]", {"items": {"type": "number"}}),
        ("[1e999]", {"items": {"type": "number"}}),
        ("[" * 100_000, {}),
        ('{"n": "x"}', {"properties": {"n": {"type": "integer"}}}),
        ("not json", {}),
    ],
    ids=["nan", "inf", "deep", "wrong", "none"],
)
async def test_an_answer_that_does_not_fit_is_the_models_error(
    text: str, schema: dict[str, Any]
) -> None:
    with pytest.raises(ModelError, match="does not fit the schema"):
        await checked(text, schema)


async def test_a_pattern_that_takes_for_ever_is_stopped() -> None:
    bomb = {"pattern": "^(a+)+$"}

    with pytest.raises(ModelError, match="takes too long"):
        await checked(json.dumps("a" * 40 + "!"), bomb)


async def test_many_levels_are_no_crash() -> None:
    await check_schema(DEEP)
    deeper = DEEP
    for _ in range(3000):
        deeper = {"not": deeper}
    with pytest.raises(InvalidInputError, match="schema: "):
        await check_schema(deeper)
