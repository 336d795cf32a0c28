"""The tools for files, commands and the web, over MCP."""

import base64
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import (
    Json,
    StdioClient,
    clean_environment,
    environment_with_roots,
    http_server,
    junto_command,
    stdio_server,
)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@contextlib.contextmanager
def junto_server(home: Path, **more: str) -> Iterator[StdioClient]:
    with stdio_server(
        junto_command("mcp"), environment_with_roots(home, **more), home, with_coverage=True
    ) as client:
        yield client


def call_tool(client: StdioClient, tool: str, **arguments: Any) -> Json:
    result: Json = client.ask(1, "tools/call", name=tool, arguments=arguments)["result"]
    return result


def call_structured(client: StdioClient, tool: str, **arguments: Any) -> Json:
    content: Json = call_tool(client, tool, **arguments)["structuredContent"]
    return content


def read_metadata(result: Json) -> Json:
    """Return the small fields of a result without structured content."""
    assert "structuredContent" not in result
    metadata: Json = result["_meta"]["junto/metadata"]
    return metadata


@pytest.mark.feature("F147", "F027")
def test_a_file_is_written_read_listed_and_deleted(tmp_path: Path) -> None:
    with junto_server(tmp_path) as client:
        written = call_tool(client, "write_file", path="a/b.txt", content="one\ntwo\nthree\n")
        whole = call_tool(client, "readFile", path="a/b.txt")
        middle = call_tool(client, "read_file", path="a/b.txt", offset=1, limit=1)
        past = call_tool(client, "read_file", path="a/b.txt", offset=3)
        listed = call_structured(client, "list_files", path=".", recursive=True, glob="*.txt")
        info = call_structured(client, "get_file_info", path="a/b.txt")
        resource = client.ask(2, "resources/read", uri=f"file://{tmp_path}/a/b.txt")
        outside = client.ask(3, "resources/read", uri="file:///etc/passwd")
        call_structured(client, "delete_file", path="a/b.txt")
        gone = call_structured(client, "read_file", path="a/b.txt")

    assert whole["content"][0]["text"] == "one\ntwo\nthree\n"
    assert written["content"][0]["text"] == "Wrote 14 bytes to a/b.txt."
    assert read_metadata(whole) == {"path": "a/b.txt", "offset": 0, "lines": 3}
    more = "[Lines 2 to 2 of 3. For more, pass offset 2.]"
    assert middle["content"][0]["text"] == f"two\n{more}"
    assert read_metadata(middle)["nextOffset"] == 2
    assert past["content"][0]["text"] == "[Offset 3 is past the end: a/b.txt has 3 lines.]"
    assert [each["path"] for each in listed["files"]] == ["a/b.txt"]
    assert (info["kind"], info["size"]) == ("file", 14)
    assert resource["result"]["contents"][0]["text"] == "one\ntwo\nthree\n"
    assert "root:" not in json.dumps(outside)
    assert "error" in outside
    assert gone["code"] == "NotFound"


def test_an_image_is_returned_as_an_image_and_a_binary_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.bin").write_bytes(b"\1\0\2")
    with junto_server(tmp_path) as client:
        image = call_tool(client, "read_file", path="a.png")
        binary = call_structured(client, "read_file", path="b.bin")

    assert base64.b64decode(image["content"][1]["data"]) == PNG
    assert image["content"][1]["mimeType"] == "image/png"
    assert binary["code"] == "IOError"


def test_a_long_file_is_read_in_pieces_that_fit_into_a_reply(tmp_path: Path) -> None:
    lines = [f"line {number} äöü\n" for number in range(5000)]
    (tmp_path / "long").write_text("".join(lines))
    (tmp_path / "wide").write_text("x" * 50_000)
    with junto_server(tmp_path, JUNTO_JOBS_REPLY_BYTES="10000") as client:
        read, piece = "", {"nextOffset": 0}
        while "nextOffset" in piece:
            result = call_tool(client, "read_file", path="long", offset=piece["nextOffset"])
            text, piece = result["content"][0]["text"].partition("[")[0], read_metadata(result)
            assert len(text.encode()) <= 10_000
            read += text
        wide = call_tool(client, "read_file", path="wide")
        whole = call_tool(client, "read_file", path="long", limit=10_000)

    assert read == "".join(lines)
    text, _, notice = wide["content"][0]["text"].partition("\n")
    assert text == "x" * 10_000
    assert notice == "[Line 1 of 1 is cut. To get all of it, pass limit 1.]"
    assert read_metadata(wide)["truncated"]
    assert whole["content"][0]["text"] == "".join(lines)
    assert read_metadata(whole)["lines"] == 5000


def test_an_allowed_command_runs_and_a_forbidden_one_is_refused_with_those_allowed(
    tmp_path: Path,
) -> None:
    entry = [{"name": "say", "program": "/bin/echo", "words": "any", "flags": ["-n"]}]
    with junto_server(tmp_path, JUNTO_TOOLS_COMMANDS=json.dumps(entry)) as client:
        output = call_tool(client, "execute_command", command="say", args=["-n", "hello"])
        refused = call_structured(client, "execute_command", command="rm", args=["-rf", "/"])
        late = call_structured(
            client, "execute_command", command="say", args=["x"], timeoutSeconds=0.001
        )

    assert output["content"][0]["text"] == "hello\n[exit code 0]"
    assert read_metadata(output) == {"exitCode": 0, "truncated": False}
    assert refused["code"] == "SecurityError"
    assert "git, grep" in refused["message"]
    assert late["code"] == "TimeoutError"


def test_the_web_tool_reaches_no_local_addresses(tmp_path: Path) -> None:
    with junto_server(tmp_path) as client:
        for url in ("http://127.0.0.1:1/", "http://localhost/", "file:///etc/passwd"):
            assert call_structured(client, "http_get", url=url)["code"] in (
                "SecurityError",
                "NetworkError",
            )


@pytest.mark.parametrize(
    ("access", "offered", "missing"),
    [
        ("none", {"current_time"}, {"read_file", "write_file", "execute_command", "http_get"}),
        ("read", {"read_file", "list_files"}, {"write_file", "delete_file", "execute_command"}),
        ("all", {"read_file", "write_file", "execute_command"}, set()),
    ],
)
def test_over_http_only_the_tools_that_the_operator_allows_are_offered(
    tmp_path: Path, access: str, offered: set[str], missing: set[str]
) -> None:
    environment = environment_with_roots(tmp_path, JUNTO_TOOLS_OVER_HTTP=access)
    with http_server(junto_command("serve", "--port", "0"), environment, tmp_path) as (client, _):
        names = {tool["name"] for tool in client.legacy("tools/list").json()["result"]["tools"]}
        templates = client.legacy("resources/templates/list").json()["result"]

    assert offered <= names
    assert not missing & names
    assert ("file:///" in json.dumps(templates)) is (access != "none")


def test_over_http_no_file_is_sent_to_a_model_unless_file_tools_are_allowed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("private")
    part = {"fileData": {"mimeType": "text/plain", "fileUri": f"file://{tmp_path}/notes.txt"}}
    environment = environment_with_roots(tmp_path)
    with http_server(junto_command("serve", "--port", "0"), environment, tmp_path) as (client, _):
        reply = client.legacy(
            "tools/call", name="chat", arguments={"message": "x", "parts": [part]}
        ).json()["result"]["structuredContent"]

    assert reply["code"] == "SecurityError"


def test_the_whole_group_can_be_disabled(tmp_path: Path) -> None:
    with junto_server(tmp_path, JUNTO_TOOLS_DISABLED="kit") as client:
        names = {tool["name"] for tool in client.ask(1, "tools/list")["result"]["tools"]}

    assert "read_file" not in names
    assert "chat" in names


@pytest.mark.parametrize("where", ["the disk", "home", "above home"])
def test_a_working_directory_that_contains_the_home_is_not_an_implicit_root(
    tmp_path: Path, where: str
) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "key").write_text("private")
    folder = {"the disk": Path("/"), "home": home, "above home": tmp_path}[where]
    part = {"fileData": {"mimeType": "text/plain", "fileUri": f"file://{home}/.ssh/key"}}

    with stdio_server(
        junto_command("mcp"), clean_environment(home), folder, with_coverage=True
    ) as client:
        refused = [
            call_structured(client, "read_file", path=str(home / ".ssh" / "key")),
            call_structured(client, "list_files"),
            call_structured(client, "execute_command", command="ls"),
            call_structured(client, "chat", message="x", parts=[part]),
        ]
        assert client.finish()[0] == 0
        assert client.process.stderr
        stderr = client.process.stderr.read().decode()

    for reply in refused:
        assert reply["code"] == "SecurityError"
        assert "Set tools.roots (JUNTO_TOOLS_ROOTS)" in reply["message"]
    assert stderr.count("No folder is allowed") == 1


def test_a_configured_root_may_be_the_home(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("chosen")

    with junto_server(tmp_path) as client:
        read = call_tool(client, "read_file", path="notes.txt")

    assert read["content"][0]["text"] == "chosen"


def test_a_project_within_the_home_is_an_implicit_root(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.txt").write_text("here")

    with stdio_server(
        junto_command("mcp"), clean_environment(tmp_path), project, with_coverage=True
    ) as client:
        read = call_tool(client, "read_file", path="notes.txt")
        outside = call_structured(client, "list_files", path="..")

    assert read["content"][0]["text"] == "here"
    assert outside["code"] == "SecurityError"


def test_lines_are_counted_as_editors_do(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("one\r\ntwo\u2028still two\x0c\nthree".encode())
    (tmp_path / "empty").write_bytes(b"")
    with junto_server(tmp_path) as client:
        second = call_tool(client, "read_file", path="a", offset=1, limit=1)
        empty = call_tool(client, "read_file", path="empty")

    assert second["content"][0]["text"].startswith("two\u2028still two\x0c\n[Lines 2 to 2 of 3.")
    assert empty["content"][0]["text"] == "[empty is empty.]"


def test_the_text_can_be_the_json_of_the_structured_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n")
    with junto_server(tmp_path, JUNTO_TOOLS_TEXT="json") as client:
        result = call_tool(client, "read_file", path="a")
        [tool] = [
            tool
            for tool in client.ask(2, "tools/list")["result"]["tools"]
            if tool["name"] == "read_file"
        ]

    assert result["structuredContent"]["content"] == "one\n"
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert tool["outputSchema"]["properties"]["content"] == {"type": "string"}
