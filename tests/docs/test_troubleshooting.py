"""The page about trouble quotes what the program says: each message is provoked and compared."""

import json
import re
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clients import SECONDS, child, clean_environment, http_server, junto, request
from tests.docs.pages import ROOT, Manual
from tests.server_upstream import ServedUpstream, served_upstream

PAGE = Manual(ROOT / "docs" / "troubleshooting.md")


@dataclass(frozen=True)
class Bench:
    """A home in which things are made to go wrong."""

    home: Path
    upstream: ServedUpstream

    @property
    def entry(self) -> dict[str, str]:
        """Return a model on loopback that does as it is told."""
        return {"id": "m", "provider": "anthropic", "baseUrl": self.upstream.url, "apiKey": "k"}

    def run(self, *words: str, given: bytes = b"", **variables: str) -> str:
        """Return what a command says, on both of its outputs."""
        done = subprocess.run(
            junto(*words),
            input=given,
            env=clean_environment(self.home, **variables),
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
        return done.stdout.decode()

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **variables: str) -> str:
        """Return what a client of `junto mcp` is told, and what is on standard error."""
        question = request(1, "tools/call", name=tool, arguments=arguments or {})
        return self.run("mcp", given=question, **variables).replace('\\"', '"')

    def ask(self, order: str, **variables: str) -> str:
        """Give a model on loopback an order, and return what the command says."""
        chosen = {"JUNTO_MODELS": json.dumps([self.entry]), "JUNTO_ANSWERS_MAX_RETRIES": "0"}
        return self.run("chat", order, given=b"", **chosen | variables)

    def file(self, text: str, name: str = "junto.yaml") -> Path:
        path = self.home / name
        path.write_text(text)
        return path

    def knock(self, path: str, **headers: str) -> str:
        """Return what the HTTP server answers."""
        environment = clean_environment(self.home)
        with http_server(junto("serve", "--port", "0"), environment, self.home) as (client, _):
            return client.send("GET" if path == "/" else "POST", path, b"{}", headers).body.decode()


def a_taken_port(bench: Bench, *words: str) -> str:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = str(holder.getsockname()[1])
        return bench.run(*words, "--port", port).replace(port, "32701")


def an_old_python(bench: Bench) -> str:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, bench.home)
    shutil.copytree(ROOT / "requirements", bench.home / "requirements")
    script = '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 || exit 1\n'
    old = bench.file(script, "python3.9")
    old.chmod(0o755)
    done = subprocess.run(
        ["make", "run", f"PYTHON={old}"],
        cwd=bench.home,
        env=clean_environment(bench.home),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def a_limit_of_one(bench: Bench) -> str:
    questions = [request(n, "tools/call", name="chat", arguments={"message": "x"}) for n in (1, 2)]
    return bench.run(
        "mcp",
        given=b"".join(questions),
        JUNTO_MODELS=json.dumps([bench.entry]),
        JUNTO_LIMITS_REQUESTS_PER_MINUTE="1",
        JUNTO_LIMITS_WAIT="0",
    )


def a_newer_database(bench: Bench) -> str:
    bench.run("conversations", "list")
    [file] = bench.home.rglob("junto.db")
    with sqlite3.connect(file) as database:
        database.execute("INSERT INTO migrations (name) VALUES ('9999_future')")
    database.close()
    return bench.run("conversations", "list")


def a_broken_database(bench: Bench) -> str:
    folder = bench.home / "state"
    folder.mkdir()
    (folder / "junto.db").write_bytes(b"no database" * 1000)
    return bench.run("conversations", "list", JUNTO_STATE_DIRECTORY=str(folder))


def a_patient_model(bench: Bench) -> str:
    return bench.call(
        "chat",
        {"message": "drip"},
        JUNTO_MODELS=json.dumps([bench.entry]),
        JUNTO_JOBS_LONG_CALL_SECONDS="0.5",
        JUNTO_STDIO_DRAIN="2",
        JUNTO_JOBS_DRAIN="0",
    )


def a_file_instead_of_a_folder(bench: Bench) -> str:
    return str(bench.file("", "file") / "within")


ABSENT = "0123456789abcdef0123456789abcdef"

# What leads to the message under each heading of the page.
PROVOKED: dict[str, Callable[[Bench], str]] = {
    "A value does not fit": lambda b: b.run("serve", JUNTO_HTTP_PORT="many"),
    "A setting is misspelt": lambda b: (b.file("http: {prot: 5}"), b.run("serve"))[1],
    "A variable is not set": lambda b: (
        b.file("models: [{id: sonnet, apiKey: '${MY_KEY}'}]"),
        b.run("serve"),
    )[1],
    "A file that may not be yours": lambda b: (
        b.file("providers: {anthropic: {base_url: 'https://elsewhere.example'}}"),
        b.run("serve"),
    )[1],
    "An address that others can reach": lambda b: b.run("serve", "--host", "0.0.0.0"),  # noqa: S104
    "Python is too old": an_old_python,
    "There is no key": lambda b: b.run("mcp"),
    "The port is in use": lambda b: a_taken_port(b, "serve"),
    "The background server does not start": lambda b: a_taken_port(b, "start"),
    "A file that is not there": lambda b: b.run("mcp", JUNTO_CONFIG="/home/ada/junto.yaml"),
    "A folder that cannot be written": lambda b: b.call(
        "list_conversations", JUNTO_STATE_DIRECTORY=a_file_instead_of_a_folder(b)
    ),
    "PostgreSQL cannot be reached": lambda b: b.call(
        "list_conversations", JUNTO_DATABASE_URL="postgresql://127.0.0.1:1/junto"
    ),
    "They are switched off": lambda b: b.call(
        "chat", {"message": "x", "conversationId": ABSENT}, JUNTO_CONVERSATIONS_ENABLED="false"
    ),
    "This one is not there any more": lambda b: b.call(
        "chat", {"message": "x", "conversationId": ABSENT}
    ),
    "The folder of logs cannot be written": lambda b: b.run(
        "mcp", JUNTO_LOGGING_OUTPUT="files", JUNTO_LOGGING_DIRECTORY=a_file_instead_of_a_folder(b)
    ),
    "It was switched off": lambda b: b.call("read_file", {"path": "x"}, JUNTO_TOOLS_DISABLED="kit"),
    "A name that is none": lambda b: b.run("mcp", JUNTO_TOOLS_DISABLED="kits"),
    "More lines": lambda b: b.run("mcp", "--log-level", "debug"),
    "The model is not known": lambda b: b.run("chat", "-m", "claude-sonnet-5-5", "Hello"),
    "The model is gone": lambda b: b.run("chat", "-m", "claude-3-5-haiku-20241022", "Hello"),
    "The key is refused": lambda b: b.ask("fail 401"),
    "Too many requests": lambda b: b.ask("fail 429"),
    "Junto's own limit": a_limit_of_one,
    "The provider cannot be reached": lambda b: b.run(
        "chat", "-m", "gpt-5", "Hello",
        OPENAI_API_KEY="k", OPENAI_BASE_URL="http://127.0.0.1:1/v1", JUNTO_ANSWERS_MAX_RETRIES="0",
    ),
    "There is no model at all": lambda b: b.run("chat", "Hello", JUNTO_EMBEDDED_ENABLED="false"),
    "Another embedded model is not found": lambda b: b.run(
        "chat", "Hello", JUNTO_EMBEDDED_MODEL="/home/ada/model.gguf"
    ),
    "A client gives up after a minute": a_patient_model,
    "It was made by a newer Junto": a_newer_database,
    "It is broken": a_broken_database,
    "A path lies outside": lambda b: b.call(
        "read_file", {"path": "/data/notes.txt"}, JUNTO_TOOLS_ROOTS="."
    ),
    "No folder is allowed": lambda b: b.call("read_file", {"path": "notes.txt"}),
    "A path of another system": lambda b: b.call(
        "read_file", {"path": r"C:\Users\ada\notes.txt"}, JUNTO_TOOLS_ROOTS="."
    ),
    "Unknown Host": lambda b: b.knock("/", Host="junto.example.org"),
    "Unknown Origin": lambda b: b.knock("/", Origin="https://junto.example.org"),
    "Missing headers": lambda b: b.knock("/mcp", **{"Content-Type": "application/json"}),
}  # fmt: skip


def quotes(page: Manual) -> Iterator[tuple[str, str]]:
    """Yield each message that the page quotes, with the heading that it stands under."""
    for section in re.split(r"^#+ ", page.text, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        for quote in re.findall(r"```text\n(.*?)```", body, re.DOTALL):
            yield heading.strip(), quote


def says(quote: str, said: str) -> bool:
    """Tell whether a quote was said, where … stands for what is different each time."""
    wanted = (re.escape(line).replace("…", ".*") for line in quote.strip().splitlines())
    return all(re.search(line, said) for line in wanted)


@pytest.fixture(scope="module")
def upstream() -> Iterator[ServedUpstream]:
    with served_upstream() as served:
        yield served


@pytest.mark.feature("F253", "F254", "F255", "F257", "F258", "F259")
@pytest.mark.parametrize(
    ("heading", "quote"), list(quotes(PAGE)), ids=[heading for heading, _ in quotes(PAGE)]
)
def test_a_message_on_the_page_is_the_one_that_the_program_gives(
    heading: str, quote: str, tmp_path: Path, upstream: ServedUpstream
) -> None:
    said = PROVOKED[heading](Bench(tmp_path, upstream)).replace(str(tmp_path), "/home/ada")

    assert says(quote, said.replace("\\\\", "\\")), said


def test_every_message_that_is_provoked_is_on_the_page() -> None:
    assert {heading for heading, _ in quotes(PAGE)} == set(PROVOKED)


@pytest.mark.feature("F256")
def test_what_was_said_does_not_stay_in_memory(tmp_path: Path, upstream: ServedUpstream) -> None:
    entry = Bench(tmp_path, upstream).entry
    environment = clean_environment(
        tmp_path,
        JUNTO_MODELS=json.dumps([entry]),
        JUNTO_LIMITS_REQUESTS_PER_MINUTE="10000",
        JUNTO_LIMITS_TOKENS_PER_MINUTE="1000000000",
        JUNTO_KNOWLEDGE_EMBEDDINGS="off",  # its model would come behind the scenes, and count
    )
    with child(junto("mcp"), environment, tmp_path) as client:

        def memory_after(conversations: int) -> int:
            for number in range(conversations):
                message = f"say {number} " + "word " * 40_000
                client.ask(number, "tools/call", name="chat", arguments={"message": message})
            status = Path(f"/proc/{client.process.pid}/status").read_text()
            [kilobytes] = re.findall(r"VmRSS:\s+(\d+)", status)
            return int(kilobytes)

        before = memory_after(20)
        after = memory_after(100)

    # They are 20 MB as text; held in memory, as many would be added.
    assert after - before < 10_000
