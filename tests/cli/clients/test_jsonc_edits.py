import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.cli.clients.forms import UnchangeableError, UnreadableError
from junto.cli.clients.jsonc_edits import put, read, take

ENTRY = {"command": "/bin/junto", "args": ["mcp"]}
BLANKS = ["", " ", "\n", "\t", "\r\n  ", " // a, note {\n", "/* two\n lines */", "\n\n  "]
NAMES = ["a", "mcpServers", "junto", 'qu"ote', "ümlaut", "back\\slash", ""]

leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from(["", "a // b", "/* x */", '"', "é"])
)
values: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(NAMES), values, max_size=4)
servers = st.dictionaries(st.sampled_from(NAMES), objects, max_size=3)


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """Write a value as a careless hand would: blanks, comments and commas wherever they may be."""

    def blank() -> str:
        return str(draw(st.sampled_from(BLANKS)))

    def text(each: Any) -> str:
        if isinstance(each, dict):
            parts = [f"{json.dumps(k)}{blank()}:{blank()}{text(v)}" for k, v in each.items()]
            return "{" + joined(parts) + "}"
        if isinstance(each, list):
            return "[" + joined([text(item) for item in each]) + "]"
        return json.dumps(each, ensure_ascii=draw(st.booleans()))

    def joined(parts: list[str]) -> str:
        trailing = draw(st.sampled_from(["", ","])) if parts else ""
        return ",".join(f"{blank()}{part}{blank()}" for part in parts) + trailing + blank()

    return blank() + text(value) + blank()


@given(st.data(), objects)
def test_whatever_is_written_is_read(data: st.DataObject, value: dict[str, Any]) -> None:
    assert read(data.draw(written(value))) == value


@given(st.data(), objects, servers, st.sampled_from(NAMES), objects)
def test_putting_changes_one_value_and_nothing_else(
    data: st.DataObject, value: dict[str, Any], there: dict[str, Any], name: str, entry: Any
) -> None:
    text = data.draw(written({**value, "mcpServers": there}))

    changed = put(text, ("mcpServers", name), entry)

    assert read(changed) == {**value, "mcpServers": {**there, name: entry}}
    assert list(read(changed)) == list(read(text)), "the order has changed"
    if name not in there:
        assert _within(text, changed)


def _within(text: str, changed: str) -> bool:
    """Tell whether all that is not blank in `text` stands in `changed`, in its order."""
    following = iter("".join(changed.split()))
    return all(character in following for character in "".join(text.split()))


@given(st.data(), objects, servers, st.sampled_from(NAMES))
def test_taking_takes_one_value_and_nothing_else(
    data: st.DataObject, value: dict[str, Any], there: dict[str, Any], name: str
) -> None:
    text = data.draw(written({**value, "mcpServers": there}))

    changed = take(text, ("mcpServers", name))

    expected = {key: each for key, each in there.items() if key != name}
    assert read(changed) == {**value, "mcpServers": expected}
    assert _within(changed, text)
    if name not in there:
        assert changed == text


def test_two_comments_side_by_side_are_no_comment_to_the_end_of_a_line() -> None:
    text = '{"s":{\n"a":{}/* two\n lines *//* two\n lines */}}'

    assert take(put(text, ("s", "junto"), ENTRY), ("s", "junto")) == text


@given(st.data(), objects, servers)
def test_taking_what_was_put_gives_the_text_back(
    data: st.DataObject, value: dict[str, Any], there: dict[str, Any]
) -> None:
    there.pop("junto", None)
    text = data.draw(written({**value, "mcpServers": there}))

    back = take(put(text, ("mcpServers", "junto"), ENTRY), ("mcpServers", "junto"))

    if there:
        assert back == text
    else:  # blanks between two braces are the only thing that is not kept
        assert "".join(back.split()) == "".join(text.split())


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
def test_what_is_added_looks_like_the_rest(text: str, expected: str) -> None:
    assert put(text, ("s", "j"), {"x": [1]}) == expected


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
def test_what_is_taken_leaves_no_comma_and_no_gap(text: str, expected: str) -> None:
    assert take(text, ("s", "j")) == expected


def test_of_two_values_with_one_name_the_last_counts() -> None:
    text = '{"s": {"j": 1}, "s": {"j": 2}}'

    assert put(text, ("s", "j"), 3) == '{"s": {"j": 1}, "s": {"j": 3}}'


def test_a_value_that_is_there_is_not_written_again() -> None:
    text = '{"s": {"j": {"args":   ["mcp"]}}}'

    assert put(text, ("s", "j", "args"), ["mcp"]) == text


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
def test_what_is_wrong_is_told_with_its_place(
    text: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(UnreadableError) as caught:
        read(text)

    assert (caught.value.line, caught.value.column, caught.value.reason) == (line, column, reason)


@pytest.mark.parametrize("text", ["[]", '"x"', '{"s": []}', '{"s": null}', '{"s": {"j": "x"}}'])
def test_what_is_no_object_is_not_written_into(text: str) -> None:
    with pytest.raises(UnchangeableError):
        put(text, ("s", "j", "x"), 1)


def test_numbers_that_python_does_not_read_are_left_as_they_are() -> None:
    text = '{"a": ' + "9" * 5000 + "}"

    assert put(text, ("b",), 1) == text[:-1] + ', "b": 1}'
