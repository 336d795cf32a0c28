import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.cli.clients.formats import ConfigEditError, ConfigSyntaxError
from junto.cli.clients.toml_edits import parse, remove_value, set_value

ENTRY_PATH = ("mcp_servers", "junto")
ENTRY = {"command": "C:\\bin\\junto.exe", "args": ["mcp"], "required": True, "seconds": 60}
ENTRY_TEXT = """\
[mcp_servers.junto]
command = "C:\\\\bin\\\\junto.exe"
args = ["mcp"]
required = true
seconds = 60
"""
# Each is complete, so they can be combined in any order.
TABLES = [
    "[tui]\ntheme = 'dark' # [mcp_servers.junto]\n",
    "# about the other\n[mcp_servers.other]\ncommand = \"x\"\nargs = [\n  'a', # one\n]\n",
    '[mcp_servers."with.dot"]\r\nurl = "http://127.0.0.1/"\r\n\r\n',
    '[notes]\ntext = """\n[mcp_servers.junto]\ncommand = "no"\n"""\n',
    "[[hooks]]\nname = 'a'\n[[hooks]]\nname = 'b'\n\n\n# the end\n",
    "[mcp_servers.other.env]\nKEY = 'v' # secret\n",
    "[profiles.'quoted name']\nwhen = 1979-05-27T07:32:00Z\n",
]
PREFIXES = ["", "# only a comment\n", "model = 'm'\n", "\n\n", "a.b = 1 # dotted\n\n"]


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    tables = draw(st.lists(st.sampled_from(TABLES), unique=True))
    text = draw(st.sampled_from(PREFIXES)) + "".join(tables)
    return text.removesuffix("\n").removesuffix("\r") if draw(st.booleans()) else text


@given(toml_texts())
def test_a_table_is_appended_and_removed_without_a_trace(text: str) -> None:
    changed = set_value(text, ENTRY_PATH, ENTRY)

    assert changed.startswith(text)
    expected: dict[str, Any] = tomllib.loads(text)
    expected.setdefault("mcp_servers", {})["junto"] = ENTRY
    assert parse(changed) == expected
    assert remove_value(changed, ENTRY_PATH) == text


@given(st.sampled_from(PREFIXES), st.lists(st.sampled_from(TABLES), unique=True), st.data())
def test_removing_a_table_in_the_middle_keeps_the_rest(
    prefix: str, tables: list[str], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(tables)))
    before, after = prefix + "".join(tables[:index]), "".join(tables[index:])

    changed = remove_value(f"{before}\n{ENTRY_TEXT}\n{after}", ENTRY_PATH)

    assert changed == f"{before}\n{after}"


def test_a_new_file_has_one_table() -> None:
    assert set_value("", ENTRY_PATH, ENTRY) == ENTRY_TEXT


def test_added_lines_use_the_line_endings_of_the_file() -> None:
    assert "\n" not in set_value("a = 1\r\n", ENTRY_PATH, ENTRY).replace("\r\n", "")


def test_a_value_is_changed_in_place_and_comments_stay() -> None:
    text = (
        "[mcp_servers.junto] # mine\n"
        "# by hand\n"
        "  command = '/old' # was there\n"
        "args = [\n  'mcp', # words\n]\n"
        "\n"
        "[mcp_servers.junto.env]\n"
        "A = 'b'\n"
    )

    changed = set_value(
        set_value(text, (*ENTRY_PATH, "command"), "/new"), (*ENTRY_PATH, "seconds"), 60
    )

    assert changed == text.replace("'/old'", '"/new"').replace("]\n\n", "]\nseconds = 60\n\n")


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_value_is_added_at_the_end_of_a_file(end: str) -> None:
    text = f"[mcp_servers.junto]\ncommand = '/x'{end}"

    assert (
        set_value(text, (*ENTRY_PATH, "n"), 1) == f"[mcp_servers.junto]\ncommand = '/x'\nn = 1{end}"
    )


def test_comments_in_a_removed_table_go_and_those_of_the_next_stay() -> None:
    text = ENTRY_TEXT.replace("args", "# ours\nargs") + "\n# theirs\n[tui]\n"

    assert remove_value("[a]\n\n" + text, ENTRY_PATH) == "[a]\n\n# theirs\n[tui]\n"


def test_subtables_of_a_removed_table_go_too_wherever_they_are() -> None:
    text = ENTRY_TEXT + "\n[tui]\nx = 1\n\n[mcp_servers.junto.env]\nA = 'b'\n"

    assert remove_value(text, ENTRY_PATH) == "\n[tui]\nx = 1\n"


def test_a_changed_inline_table_becomes_a_standard_table() -> None:
    text = "[mcp_servers]\njunto = { command = '/old', env = { A = 'b' } }\nother = {}\n"

    changed = set_value(text, (*ENTRY_PATH, "command"), "/new")

    assert parse(changed)["mcp_servers"]["junto"] == {"command": "/new", "env": {"A": "b"}}
    assert remove_value(text, ENTRY_PATH) == "[mcp_servers]\nother = {}\n"


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = { junto = { command = 'x' } }\n",
        "mcp_servers.junto.command = 'x'\n",
        "mcp_servers = 3\n",
        "mcp_servers = []\n",
    ],
)
def test_an_unsafe_change_is_refused(text: str) -> None:
    with pytest.raises(ConfigEditError):
        set_value(text, (*ENTRY_PATH, "command"), "y")


def test_removing_a_missing_table_changes_nothing() -> None:
    assert remove_value("a = 1", ENTRY_PATH) == "a = 1"


@pytest.mark.parametrize("value", ["\x7f", 'a"b\\c', "é\n\t", "🦊", [], {}, [["a"], {"b c": 1.5}]])
def test_every_value_survives_a_round_trip(value: Any) -> None:
    assert parse(set_value("", ENTRY_PATH, {"x y": value}))["mcp_servers"]["junto"] == {
        "x y": value
    }


@pytest.mark.parametrize(
    ("text", "line", "column"), [("a = 1\nb = = 2\n", 2, 5), ("a = [1,\n", 2, 1), ("a", 1, 2)]
)
def test_a_syntax_error_is_reported_with_its_position(text: str, line: int, column: int) -> None:
    with pytest.raises(ConfigSyntaxError) as caught:
        set_value(text, ENTRY_PATH, ENTRY)

    assert (caught.value.line, caught.value.column) == (line, column)
    assert "line" not in caught.value.reason
