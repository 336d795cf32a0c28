"""The search tools over MCP, with the real embedding model."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import clean_environment, junto_command, stdio_server
from tests.fake_model_server import FakeModelServer
from tests.tools.builtin.test_chat import Client, called, environment, serving, upstream

__all__ = ["upstream"]

WORDS_ONLY = {"JUNTO_KNOWLEDGE_EMBEDDINGS": "off"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home directory in which some documents are indexed."""
    home = tmp_path_factory.mktemp("home")
    docs = home / "docs"
    docs.mkdir()
    (docs / "elephants.md").write_text("# Elephants\n\n## Food\n\nThey eat grass and bark.\n")
    (docs / "ships.txt").write_text("A ship sails on the sea.\n")
    many = "".join(f"Paragraph {number} of many.\n\n" for number in range(3000))
    (docs / "long.txt").write_text(f"{many}Zanzibar.\n")
    command = junto_command("index", str(docs), "--words-only")
    subprocess.run(command, env=clean_environment(home), check=True, capture_output=True, cwd=home)
    return home


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Client]:
    with stdio_server(
        junto_command("mcp"), clean_environment(home, **WORDS_ONLY), home, with_coverage=True
    ) as server:
        yield Client(server)
        assert server.finish() == (0, b"")


@pytest.fixture(scope="module")
def connector(home: Path) -> Iterator[Client]:
    """A server whose search has the format that OpenAI connectors expect."""
    variables = clean_environment(home, JUNTO_TOOLS_SEARCH_SHAPE="connector", **WORDS_ONLY)
    with stdio_server(junto_command("mcp"), variables, home, with_coverage=True) as server:
        yield Client(server)
        assert server.finish() == (0, b"")


def parse_json_text(result: dict[str, Any]) -> Any:
    [item] = result["content"]
    assert item["type"] == "text"
    return json.loads(item["text"])


@pytest.mark.feature("F045", "F047", "F049")
def test_search_has_the_format_that_connectors_expect(connector: Client, home: Path) -> None:
    result = connector("search", query="what do elephants eat")

    content = parse_json_text(result)
    assert content == result["structuredContent"]
    assert set(content) == {"results"}
    [hit] = content["results"]
    assert set(hit) == {"id", "title", "url"}
    assert hit["url"] == (home / "docs" / "elephants.md").as_uri()
    assert hit["title"] == "Elephants (Food)"


def test_search_returns_readable_passages_and_structured_details(server: Client) -> None:
    result = server("search", query="what do elephants eat")

    [details] = result["structuredContent"]["results"]
    assert details["snippet"] == "## Food They eat grass and bark."
    assert 0 < details["score"] <= 1
    assert (details["source"], details["type"]) == ("documents", "markdown")
    head, passage = result["content"][0]["text"].splitlines()
    assert head == f"Elephants (Food) [{details['id']}] {details['url']}"
    assert passage == "  ## Food They eat grass and bark."


def test_fetch_returns_plain_text_without_structured_content(server: Client, home: Path) -> None:
    [hit] = server("search", query="ship sea")["structuredContent"]["results"]

    result = server("fetch", id=hit["id"])

    head, _, text = result["content"][0]["text"].partition("\n\n")
    assert head == f"ships.txt [{hit['id']}] {hit['url']}"
    assert text == (home / "docs" / "ships.txt").read_text()
    assert "structuredContent" not in result
    assert result["_meta"]["junto/metadata"]["metadata"]["type"] == "text"


def test_a_page_says_where_the_next_one_is(server: Client) -> None:
    [hit] = server("search", query="zanzibar")["structuredContent"]["results"]
    first = server("fetch", id=hit["id"].partition(":")[0])["content"][0]["text"]

    assert first.endswith(f"For the next one, fetch {hit['id'].partition(':')[0]}:2.]")


@pytest.mark.feature("F046", "F048")
def test_fetch_returns_the_document_with_its_url(connector: Client, home: Path) -> None:
    [hit] = parse_json_text(connector("search", query="ship sea"))["results"]

    document = parse_json_text(connector("fetch", id=hit["id"]))
    by_address = parse_json_text(connector("fetch", id=hit["url"]))

    assert set(document) == {"id", "title", "text", "url", "metadata"}
    assert document["text"] == (home / "docs" / "ships.txt").read_text() == by_address["text"]
    assert (document["id"], document["url"]) == (hit["id"], hit["url"])
    assert document["metadata"]["type"] == "text"
    missing = connector("fetch", id="f" * 32)
    assert missing["isError"]
    assert "`search`" in missing["content"][0]["text"]


def test_the_id_of_a_hit_leads_to_the_page_it_is_on(connector: Client, home: Path) -> None:
    [hit] = parse_json_text(connector("search", query="zanzibar"))["results"]

    page = parse_json_text(connector("fetch", id=hit["id"]))
    pages, next_id = [], hit["id"].partition(":")[0]
    while next_id:
        pages.append(parse_json_text(connector("fetch", id=next_id)))
        next_id = pages[-1]["metadata"].get("next")

    assert "Zanzibar" in page["text"]
    assert page["metadata"]["page"] == page["metadata"]["pages"] == len(pages) > 1
    assert "".join(each["text"] for each in pages) == (home / "docs" / "long.txt").read_text()


@pytest.mark.feature("F157")
def test_search_documents_returns_passages(server: Client) -> None:
    result = server("search_documents", query="elephants grass", topK=1)
    narrowed = server("search_documents", query="elephants type:text")
    bad = server("search_documents", query="elephants source:system")

    [hit] = result["structuredContent"]["hits"]
    assert "grass and bark" in hit["snippet"] in result["content"][0]["text"]
    assert narrowed["structuredContent"]["hits"] == []
    assert "filters" in narrowed["structuredContent"]["note"]
    assert bad["structuredContent"]["code"] == "ValidationError"


@pytest.mark.feature("F158")
def test_the_manual_is_searched_only_by_its_own_tool(server: Client) -> None:
    result = server("search_system_knowledge", query="where is the configuration file")
    general = server("search", query="where is the configuration file")

    assert len(result["structuredContent"]["hits"]) == 3
    assert all(hit["source"] == "system" for hit in result["structuredContent"]["hits"])
    [hit, *_] = result["structuredContent"]["hits"]
    assert hit["url"].startswith("junto://document/")
    document = server("fetch", id=hit["id"])["_meta"]["junto/metadata"]
    assert document["title"] in hit["title"]
    assert not any(hit["source"] == "system" for hit in general["structuredContent"]["results"])


def test_a_note_is_added_found_and_read_as_a_resource(server: Client) -> None:
    added = server("add_note", text="The bicycle is in the cellar.", title="Bicycle")
    note = added["structuredContent"]

    [hit] = server("search", query="bicycle")["structuredContent"]["results"]
    by_id = server.server.ask(2, "resources/read", uri=f"document://{note['id']}")
    by_url = server.server.ask(3, "resources/read", uri=note["url"])
    unknown = server.server.ask(4, "resources/read", uri="document://nobody")

    assert (hit["id"], hit["url"]) == (note["id"], note["url"])
    for answer in (by_id, by_url):
        document = json.loads(answer["result"]["contents"][0]["text"])
        assert document["text"] == "The bicycle is in the cellar."
    assert unknown["error"]["code"] == -32602
    templates = server.server.ask(5, "resources/templates/list")["result"]["resourceTemplates"]
    assert "document://{id}" in [each["uriTemplate"] for each in templates]


def test_an_empty_query_is_refused_with_a_reason(server: Client) -> None:
    answer = server("search", query="  ")

    assert answer["structuredContent"]["code"] == "ValidationError"
    assert "words" in answer["content"][0]["text"]


def test_a_query_searches_documents_and_cites_them(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    (tmp_path / "ships.txt").write_text("The Zephyr sails on Sundays.\n")
    variables = environment(tmp_path, upstream, **WORDS_ONLY)
    subprocess.run(
        junto_command("index", "ships.txt"),
        env=variables,
        check=True,
        capture_output=True,
        cwd=tmp_path,
    )
    steps = [
        {"name": "search_documents", "input": {"query": "zephyr sails"}},
        {"text": "It sails on Sundays."},
    ]
    with serving(tmp_path, upstream, **WORDS_ONLY) as server:
        answer = called(server, "query", prompt=f"steps {json.dumps(steps)}")

    facts = answer["structuredContent"]
    [source] = facts["sources"]
    assert source["url"] == (tmp_path / "ships.txt").as_uri()
    assert source["title"] == "ships.txt"
    assert len(source["id"]) == 32
    assert facts["toolCalls"][0]["ok"]
    assert f"- ships.txt: {source['url']}" in answer["content"][0]["text"]


@pytest.mark.feature("F242")
def test_search_by_meaning_needs_no_api_key(tmp_path: Path) -> None:
    """The embedded model computes the vectors, in a background task of the server."""
    (tmp_path / "pets.md").write_text("Our kitten sleeps on the windowsill all afternoon.\n")
    (tmp_path / "cars.md").write_text("The engine of the lorry was repaired in the garage.\n")
    variables, command = clean_environment(tmp_path), junto_command("index", "pets.md", "cars.md")
    done = subprocess.run(command, env=variables, check=True, capture_output=True, cwd=tmp_path)

    with stdio_server(junto_command("mcp"), variables, tmp_path, with_coverage=True) as server:
        found = called(server, "search", query="a small cat asleep near the window")
        assert server.finish()[0] == 0

    assert done.stdout == b"2 new, 0 changed, 0 unchanged, 0 removed\n"
    [hit, *_] = found["structuredContent"]["results"]
    assert hit["url"].endswith("/pets.md")
