"""The tools that search, through the protocol, with the real model for embeddings."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import child, clean_environment, junto
from tests.server_upstream import ServedUpstream
from tests.tools.test_chat import Client, called, environment, serving, upstream

__all__ = ["upstream"]

WORDS_ONLY = {"JUNTO_KNOWLEDGE_EMBEDDINGS": "off"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home in which some documents are indexed."""
    home = tmp_path_factory.mktemp("home")
    docs = home / "docs"
    docs.mkdir()
    (docs / "elephants.md").write_text("# Elephants\n\n## Food\n\nThey eat grass and bark.\n")
    (docs / "ships.txt").write_text("A ship sails on the sea.\n")
    many = "".join(f"Paragraph {number} of many.\n\n" for number in range(3000))
    (docs / "long.txt").write_text(f"{many}Zanzibar.\n")
    command = junto("index", str(docs), "--words-only")
    subprocess.run(command, env=clean_environment(home), check=True, capture_output=True, cwd=home)
    return home


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Client]:
    with child(junto("mcp"), clean_environment(home, **WORDS_ONLY), home, measured=True) as server:
        yield Client(server)
        assert server.finish() == (0, b"")


def one_text(result: dict[str, Any]) -> Any:
    [item] = result["content"]
    assert item["type"] == "text"
    return json.loads(item["text"])


@pytest.mark.feature("F045", "F047", "F049")
def test_search_has_the_shape_that_connectors_read(server: Client, home: Path) -> None:
    result = server("search", query="what do elephants eat")

    shown = one_text(result)
    assert set(shown) == {"results"}
    [hit] = shown["results"]
    assert set(hit) == {"id", "title", "url"}
    assert hit["url"] == (home / "docs" / "elephants.md").as_uri()
    assert hit["title"] == "Elephants (Food)"
    [more] = result["structuredContent"]["results"]
    assert more["snippet"] == "## Food They eat grass and bark."
    assert 0 < more["score"] <= 1
    assert (more["source"], more["type"]) == ("documents", "markdown")


@pytest.mark.feature("F046", "F048")
def test_fetch_gives_the_document_and_says_where_it_is(server: Client, home: Path) -> None:
    [hit] = one_text(server("search", query="ship sea"))["results"]

    document = one_text(server("fetch", id=hit["id"]))
    by_address = one_text(server("fetch", id=hit["url"]))

    assert set(document) == {"id", "title", "text", "url", "metadata"}
    assert document["text"] == (home / "docs" / "ships.txt").read_text() == by_address["text"]
    assert (document["id"], document["url"]) == (hit["id"], hit["url"])
    assert document["metadata"]["type"] == "text"
    missing = server("fetch", id="f" * 32)
    assert missing["isError"]
    assert "`search`" in missing["content"][0]["text"]


def test_a_hit_leads_to_the_page_that_it_is_on(server: Client, home: Path) -> None:
    [hit] = one_text(server("search", query="zanzibar"))["results"]

    page = one_text(server("fetch", id=hit["id"]))
    pages, wanted = [], hit["id"].partition(":")[0]
    while wanted:
        pages.append(one_text(server("fetch", id=wanted)))
        wanted = pages[-1]["metadata"].get("next")

    assert "Zanzibar" in page["text"]
    assert page["metadata"]["page"] == page["metadata"]["pages"] == len(pages) > 1
    assert "".join(each["text"] for each in pages) == (home / "docs" / "long.txt").read_text()


@pytest.mark.feature("F157")
def test_documents_are_searched_with_passages(server: Client) -> None:
    result = server("search_documents", query="elephants grass", topK=1)
    narrowed = server("search_documents", query="elephants type:text")
    bad = server("search_documents", query="elephants source:system")

    [hit] = result["structuredContent"]["hits"]
    assert "grass and bark" in hit["snippet"] in result["content"][0]["text"]
    assert narrowed["structuredContent"]["hits"] == []
    assert "filters" in narrowed["structuredContent"]["note"]
    assert bad["structuredContent"]["code"] == "ValidationError"


@pytest.mark.feature("F158")
def test_the_manual_is_searched_only_when_it_is_asked_for(server: Client) -> None:
    result = server("search_system_knowledge", query="where is the configuration file")
    everyday = server("search", query="where is the configuration file")

    assert len(result["structuredContent"]["hits"]) == 3
    assert all(hit["source"] == "system" for hit in result["structuredContent"]["hits"])
    [hit, *_] = result["structuredContent"]["hits"]
    assert hit["url"].startswith("junto://document/")
    assert one_text(server("fetch", id=hit["id"]))["title"] in hit["title"]
    assert not any(hit["source"] == "system" for hit in everyday["structuredContent"]["results"])


def test_a_note_is_added_found_and_read_as_a_resource(server: Client) -> None:
    added = server("add_note", text="The bicycle is in the cellar.", title="Bicycle")
    note = added["structuredContent"]

    [hit] = one_text(server("search", query="bicycle"))["results"]
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


def test_an_empty_query_is_explained(server: Client) -> None:
    answer = server("search", query="  ")

    assert answer["structuredContent"]["code"] == "ValidationError"
    assert "words" in answer["content"][0]["text"]


def test_a_query_searches_and_cites(tmp_path: Path, upstream: ServedUpstream) -> None:
    (tmp_path / "ships.txt").write_text("The Zephyr sails on Sundays.\n")
    variables = environment(tmp_path, upstream, **WORDS_ONLY)
    subprocess.run(
        junto("index", "ships.txt"), env=variables, check=True, capture_output=True, cwd=tmp_path
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
def test_meaning_is_found_without_any_key(tmp_path: Path) -> None:
    """With the embedded model, in a server that makes vectors behind the scenes."""
    (tmp_path / "pets.md").write_text("Our kitten sleeps on the windowsill all afternoon.\n")
    (tmp_path / "cars.md").write_text("The engine of the lorry was repaired in the garage.\n")
    variables, command = clean_environment(tmp_path), junto("index", "pets.md", "cars.md")
    done = subprocess.run(command, env=variables, check=True, capture_output=True, cwd=tmp_path)

    with child(junto("mcp"), variables, tmp_path, measured=True) as server:
        found = called(server, "search", query="cat dozing near a window")
        assert server.finish()[0] == 0

    assert done.stdout == b"2 new, 0 changed, 0 unchanged, 0 removed\n"
    [hit, *_] = one_text(found)["results"]
    assert hit["url"].endswith("/pets.md")
