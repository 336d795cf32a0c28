import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.cli.clients.formats import ConfigEditError, ConfigSyntaxError
from junto.cli.clients.jsonc_edits import parse, remove_value, set_value

ENTRY = {"command": "/bin/junto", "args": ["mcp"]}
FILLERS = ["", " ", "\n", "\t", "\r\n  ", " // a, note {\n", "/* two\n lines */", "\n\n  "]
KEYS = ["a", "mcpServers", "junto", 'qu"ote', "ümlaut", "back\\slash", ""]

leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from(["", "a // b", "/* x */", '"', "é"])
)
values: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)
servers = st.dictionaries(st.sampled_from(KEYS), objects, max_size=3)


@st.composite
def jsonc_texts(draw: st.DrawFn, value: Any) -> str:
    """Render a value with whitespace, comments and trailing commas wherever JSONC allows them."""

    def filler() -> str:
        return str(draw(st.sampled_from(FILLERS)))

    def render(each: Any) -> str:
        if isinstance(each, dict):
            parts = [f"{json.dumps(k)}{filler()}:{filler()}{render(v)}" for k, v in each.items()]
            return "{" + join_parts(parts) + "}"
        if isinstance(each, list):
            return "[" + join_parts([render(item) for item in each]) + "]"
        return json.dumps(each, ensure_ascii=draw(st.booleans()))

    def join_parts(parts: list[str]) -> str:
        trailing = draw(st.sampled_from(["", ","])) if parts else ""
        return ",".join(f"{filler()}{part}{filler()}" for part in parts) + trailing + filler()

    return filler() + render(value) + filler()


@given(st.data(), objects)
def test_every_valid_text_is_parsed(data: st.DataObject, value: dict[str, Any]) -> None:
    assert parse(data.draw(jsonc_texts(value))) == value


@given(st.data(), objects, servers, st.sampled_from(KEYS), objects)
def test_set_value_changes_one_value_and_nothing_else(
    data: st.DataObject, value: dict[str, Any], existing: dict[str, Any], name: str, entry: Any
) -> None:
    text = data.draw(jsonc_texts({**value, "mcpServers": existing}))

    changed = set_value(text, ("mcpServers", name), entry)

    assert parse(changed) == {**value, "mcpServers": {**existing, name: entry}}
    assert list(parse(changed)) == list(parse(text)), "the order has changed"
    if name not in existing:
        assert _is_subsequence(text, changed)


def _is_subsequence(text: str, changed: str) -> bool:
    """Return whether `changed` contains all of `text` in order, apart from whitespace."""
    remaining = iter("".join(changed.split()))
    return all(character in remaining for character in "".join(text.split()))


@given(st.data(), objects, servers, st.sampled_from(KEYS))
def test_remove_value_removes_one_value_and_nothing_else(
    data: st.DataObject, value: dict[str, Any], existing: dict[str, Any], name: str
) -> None:
    text = data.draw(jsonc_texts({**value, "mcpServers": existing}))

    changed = remove_value(text, ("mcpServers", name))

    expected = {key: each for key, each in existing.items() if key != name}
    assert parse(changed) == {**value, "mcpServers": expected}
    assert _is_subsequence(changed, text)
    if name not in existing:
        assert changed == text


def test_adjacent_block_comments_are_not_a_line_comment() -> None:
    text = '{"s":{\n"a":{}/* two\n lines *//* two\n lines */}}'

    assert remove_value(set_value(text, ("s", "junto"), ENTRY), ("s", "junto")) == text


@given(st.data(), objects, servers)
def test_removing_an_added_value_restores_the_text(
    data: st.DataObject, value: dict[str, Any], existing: dict[str, Any]
) -> None:
    existing.pop("junto", None)
    text = data.draw(jsonc_texts({**value, "mcpServers": existing}))

    restored = remove_value(
        set_value(text, ("mcpServers", "junto"), ENTRY), ("mcpServers", "junto")
    )

    if existing:
        assert restored == text
    else:  # whitespace between two braces is the only thing that is not restored
        assert "".join(restored.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '{\n  "s": {\n    "j": {\n      "x": [1]\n    }\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "j": {\n      "x": [1]\n    }\n  }\n}'),
        ('{"s":{}}', '{"s":{"j":{"x":[1]}}}'),
        ('{"s": {"a": 1}}\n', '{"s": {"a": 1, "j": {"x": [1]}}}\n'),
        ('{"s": {"a": 1,}}', '{"s": {"a": 1, "j": {"x": [1]},}}'),
        (
            '{\r\n\t"s": {\r\n\t\t"a": 1 // one\r\n\t}}',
            '{\r\n\t"s": {\r\n\t\t"a": 1, // one\r\n\t\t"j": {\r\n\t\t\t"x": [1]\r\n\t\t}\r\n\t}}',
        ),
        (
            '{\n "s": {\n  // none yet\n }\n}',
            '{\n "s": {\n  // none yet\n  "j": {\n   "x": [1]\n  }\n }\n}',
        ),
        ("// mine\n", '// mine\n{\n  "s": {\n    "j": {\n      "x": [1]\n    }\n  }\n}\n'),
    ],
)
def test_an_added_value_follows_the_formatting_of_the_file(text: str, expected: str) -> None:
    assert set_value(text, ("s", "j"), {"x": [1]}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"s": {"j": 1}}', '{"s": {}}'),
        ('{"s": {"j": 1, "a": 2}}', '{"s": {"a": 2}}'),
        ('{"s": {"a": 2, "j": 1}}', '{"s": {"a": 2}}'),
        ('{"s": {"a": 2, "j": 1, }}', '{"s": {"a": 2, }}'),
        ('{"s": {\n  "j": 1,\n  "a": 2\n}}', '{"s": {\n  "a": 2\n}}'),
        ('{"s": {\n  "j": 1, // ours\n  "a": 2\n}}', '{"s": {\n  // ours\n  "a": 2\n}}'),
        ('{"s": {\n  "a": 2, // theirs\n  "j": 1}}', '{"s": {\n  "a": 2 // theirs\n}}'),
        ('{"s": {"j": 1, "j": 2}}', '{"s": {}}'),
    ],
)
def test_a_removed_value_leaves_no_comma_and_no_gap(text: str, expected: str) -> None:
    assert remove_value(text, ("s", "j")) == expected


def test_the_last_of_two_equal_keys_is_changed() -> None:
    text = '{"s": {"j": 1}, "s": {"j": 2}}'

    assert set_value(text, ("s", "j"), 3) == '{"s": {"j": 1}, "s": {"j": 3}}'


def test_an_equal_value_is_not_rewritten() -> None:
    text = '{"s": {"j": {"args":   ["mcp"]}}}'

    assert set_value(text, ("s", "j", "args"), ["mcp"]) == text


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("{", 1, 2, "a brace is not closed"),
        ('{"a": 1\n "b": 2}', 2, 2, "a comma is expected"),
        ('{"a" 1}', 1, 6, "a colon is expected"),
        ("{a: 1}", 1, 2, "a name in quotes is expected"),
        ('{"a": }', 1, 7, "a value is expected"),
        ('{"a":', 1, 6, "the file ends too early"),
        ('{"a": [1 2]}', 1, 10, "a comma is expected"),
        ('{"a": "\n"}', 1, 7, "a value is expected"),
        ("{} {}", 1, 4, "something stands behind the end"),
        ("{ /* }", 1, 3, "a comment has no end"),
        ('{"a": ' + "[" * 300, 1, 206, "it goes too deep"),
    ],
)
def test_a_syntax_error_is_reported_with_its_position(
    text: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(ConfigSyntaxError) as caught:
        parse(text)

    assert (caught.value.line, caught.value.column, caught.value.reason) == (line, column, reason)


@pytest.mark.parametrize("text", ["[]", '"x"', '{"s": []}', '{"s": null}', '{"s": {"j": "x"}}'])
def test_a_key_is_set_only_in_an_object(text: str) -> None:
    with pytest.raises(ConfigEditError):
        set_value(text, ("s", "j", "x"), 1)


def test_numbers_too_long_for_python_are_left_as_they_are() -> None:
    text = '{"a": ' + "9" * 5000 + "}"

    assert set_value(text, ("b",), 1) == text[:-1] + ', "b": 1}'
