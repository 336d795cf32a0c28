"""Schemas come from callers: they may be invalid, refer to files, or take forever to check."""

import json
from pathlib import Path
from typing import Any

import pytest

from junto.conversation.schemas import check_schema, parse_answer
from junto.domain.errors import InvalidInputError, ModelError

DEEP_SCHEMA: dict[str, Any] = {}
for _ in range(40):
    DEEP_SCHEMA = {"properties": {"x": DEEP_SCHEMA}}


async def test_an_answer_that_fits_its_schema_is_returned() -> None:
    schema = {"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}

    await check_schema(schema)
    assert await parse_answer("[1, 2]", schema) == [1, 2]
    assert await parse_answer("anything", None) is None


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
async def test_an_invalid_or_external_schema_is_rejected(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="schema: "):
        await check_schema(schema)


async def test_a_file_that_a_schema_refers_to_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"enum": ["TOP-SECRET"]}))

    with pytest.raises(InvalidInputError) as caught:
        await parse_answer("1", {"$ref": secret.as_uri()})

    assert "TOP-SECRET" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("[NaN]", {"items": {"type": "number"}}),
        ("[1e999]", {"items": {"type": "number"}}),
        ("[" * 100_000, {}),
        ('{"n": "x"}', {"properties": {"n": {"type": "integer"}}}),
        ("not json", {}),
    ],
    ids=["nan", "inf", "deep", "wrong type", "not json"],
)
async def test_an_answer_that_does_not_fit_is_a_model_error(
    text: str, schema: dict[str, Any]
) -> None:
    with pytest.raises(ModelError, match="does not fit the schema"):
        await parse_answer(text, schema)


async def test_a_pattern_that_takes_forever_is_stopped() -> None:
    bomb = {"pattern": "^(a+)+$"}

    with pytest.raises(ModelError, match="takes too long"):
        await parse_answer(json.dumps("a" * 40 + "!"), bomb)


async def test_a_schema_nested_too_deeply_is_rejected_without_a_crash() -> None:
    await check_schema(DEEP_SCHEMA)
    deeper = DEEP_SCHEMA
    for _ in range(3000):
        deeper = {"not": deeper}
    with pytest.raises(InvalidInputError, match="schema: "):
        await check_schema(deeper)
