import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.cli.clients.forms import UnchangeableError, UnreadableError
from junto.cli.clients.toml_edits import put, read, take

OURS = ("mcp_servers", "junto")
ENTRY = {"command": "C:\\bin\\junto.exe", "args": ["mcp"], "required": True, "seconds": 60}
WRITTEN = """\
[mcp_servers.junto]
command = "C:\\\\bin\\\\junto.exe"
args = ["mcp"]
required = true
seconds = 60
"""
# Each is whole in itself, so that any of them may stand before any other.
TABLES = [
    "[tui]\ntheme = 'dark' # [mcp_servers.junto]\n",
    "# about the other\n[mcp_servers.other]\ncommand = \"x\"\nargs = [\n  'a', # one\n]\n",
    '[mcp_servers."with.dot"]\r\nurl = "http://127.0.0.1/"\r\n\r\n',
    '[notes]\ntext = """\n[mcp_servers.junto]\ncommand = "no"\n"""\n',
    "[[hooks]]\nname = 'a'\n[[hooks]]\nname = 'b'\n\n\n# the end\n",
    "[mcp_servers.other.env]\nKEY = 'v' # secret\n",
    "[profiles.'quoted name']\nwhen = 1979-05-27T07:32:00Z\n",
]
STARTS = ["", "# only a comment\n", "model = 'm'\n", "\n\n", "a.b = 1 # dotted\n\n"]


@st.composite
def texts(draw: st.DrawFn) -> str:
    tables = draw(st.lists(st.sampled_from(TABLES), unique=True))
    text = draw(st.sampled_from(STARTS)) + "".join(tables)
    return text.removesuffix("\n").removesuffix("\r") if draw(st.booleans()) else text


@given(texts())
def test_a_table_is_added_at_the_end_and_taken_out_without_a_trace(text: str) -> None:
    changed = put(text, OURS, ENTRY)

    assert changed.startswith(text)
    there: dict[str, Any] = tomllib.loads(text)
    there.setdefault("mcp_servers", {})["junto"] = ENTRY
    assert read(changed) == there
    assert take(changed, OURS) == text


@given(st.sampled_from(STARTS), st.lists(st.sampled_from(TABLES), unique=True), st.data())
def test_a_table_in_the_middle_goes_alone(
    start: str, tables: list[str], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(tables)))
    before, after = start + "".join(tables[:place]), "".join(tables[place:])

    changed = take(f"{before}\n{WRITTEN}\n{after}", OURS)

    assert changed == f"{before}\n{after}"


def test_a_new_file_has_one_table() -> None:
    assert put("", OURS, ENTRY) == WRITTEN


def test_lines_end_as_the_others_do() -> None:
    assert "\n" not in put("a = 1\r\n", OURS, ENTRY).replace("\r\n", "")


def test_a_value_is_changed_where_it_stands_and_comments_stay() -> None:
    text = (
        "[mcp_servers.junto] # mine\n"
        "# by hand\n"
        "  command = '/old' # was there\n"
        "args = [\n  'mcp', # words\n]\n"
        "\n"
        "[mcp_servers.junto.env]\n"
        "A = 'b'\n"
    )

    changed = put(put(text, (*OURS, "command"), "/new"), (*OURS, "seconds"), 60)

    assert changed == text.replace("'/old'", '"/new"').replace("]\n\n", "]\nseconds = 60\n\n")


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_value_is_added_at_the_end_of_a_file(end: str) -> None:
    text = f"[mcp_servers.junto]\ncommand = '/x'{end}"

    assert put(text, (*OURS, "n"), 1) == f"[mcp_servers.junto]\ncommand = '/x'\nn = 1{end}"


def test_comments_of_ours_go_with_it_and_those_of_the_next_stay() -> None:
    text = WRITTEN.replace("args", "# ours\nargs") + "\n# theirs\n[tui]\n"

    assert take("[a]\n\n" + text, OURS) == "[a]\n\n# theirs\n[tui]\n"


def test_tables_beneath_ours_go_too_wherever_they_stand() -> None:
    text = WRITTEN + "\n[tui]\nx = 1\n\n[mcp_servers.junto.env]\nA = 'b'\n"

    assert take(text, OURS) == "\n[tui]\nx = 1\n"


def test_an_inline_table_becomes_one_of_its_own_when_it_changes() -> None:
    text = "[mcp_servers]\njunto = { command = '/old', env = { A = 'b' } }\nother = {}\n"

    changed = put(text, (*OURS, "command"), "/new")

    assert read(changed)["mcp_servers"]["junto"] == {"command": "/new", "env": {"A": "b"}}
    assert take(text, OURS) == "[mcp_servers]\nother = {}\n"


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = { junto = { command = 'x' } }\n",
        "mcp_servers.junto.command = 'x'\n",
        "mcp_servers = 3\n",
        "mcp_servers = []\n",
    ],
)
def test_what_cannot_be_changed_safely_is_not_changed(text: str) -> None:
    with pytest.raises(UnchangeableError):
        put(text, (*OURS, "command"), "y")


def test_what_is_not_there_need_not_go() -> None:
    assert take("a = 1", OURS) == "a = 1"


@pytest.mark.parametrize("value", ["\x7f", 'a"b\\c', "é\n\t", "🦊", [], {}, [["a"], {"b c": 1.5}]])
def test_every_value_is_spelled_so_that_it_is_read_again(value: Any) -> None:
    assert read(put("", OURS, {"x y": value}))["mcp_servers"]["junto"] == {"x y": value}


@pytest.mark.parametrize(
    ("text", "line", "column"), [("a = 1\nb = = 2\n", 2, 5), ("a = [1,\n", 2, 1), ("a", 1, 2)]
)
def test_what_is_wrong_is_told_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(UnreadableError) as caught:
        put(text, OURS, ENTRY)

    assert (caught.value.line, caught.value.column) == (line, column)
    assert "line" not in caught.value.reason
