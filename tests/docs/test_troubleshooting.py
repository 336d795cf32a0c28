"""The troubleshooting page quotes real messages: each of them is provoked and compared."""

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

from tests.clients import (
    TIMEOUT_SECONDS,
    clean_environment,
    http_server,
    junto_command,
    request,
    stdio_server,
)
from tests.docs.pages import ROOT, ManualPage
from tests.fake_model_server import FakeModelServer, fake_model_server

PAGE = ManualPage(ROOT / "docs" / "how-to" / "troubleshooting.md")


@dataclass(frozen=True)
class UserHome:
    """A user's home directory, in which commands are made to fail."""

    path: Path
    upstream: FakeModelServer

    @property
    def entry(self) -> dict[str, str]:
        """Return a model of the fake server, which does what its prompt says."""
        return {"id": "m", "provider": "anthropic", "baseUrl": self.upstream.url, "apiKey": "k"}

    def run(self, *words: str, stdin: bytes = b"", **variables: str) -> str:
        """Return what a command prints on standard output and standard error."""
        done = subprocess.run(
            junto_command(*words),
            input=stdin,
            env=clean_environment(self.path, **variables),
            cwd=self.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return done.stdout.decode()

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **variables: str) -> str:
        """Return the reply of `junto mcp` to a tool call, and its standard error."""
        message = request(1, "tools/call", name=tool, arguments=arguments or {})
        return self.run("mcp", stdin=message, **variables).replace('\\"', '"')

    def ask(self, prompt: str, **variables: str) -> str:
        """Send a prompt to the fake server, and return what the command prints."""
        defaults = {"JUNTO_MODELS": json.dumps([self.entry]), "JUNTO_ANSWERS_MAX_RETRIES": "0"}
        return self.run("chat", prompt, stdin=b"", **defaults | variables)

    def write_file(self, text: str, name: str = "junto.yaml") -> Path:
        file = self.path / name
        file.write_text(text)
        return file

    def send_http(self, path: str, **headers: str) -> str:
        """Return the body of the HTTP server's response."""
        environment = clean_environment(self.path)
        with http_server(junto_command("serve", "--port", "0"), environment, self.path) as (
            client,
            _,
        ):
            return client.send("GET" if path == "/" else "POST", path, b"{}", headers).body.decode()


def use_taken_port(home: UserHome, *words: str) -> str:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = str(holder.getsockname()[1])
        return home.run(*words, "--port", port).replace(port, "32701")


def make_with_old_python(home: UserHome) -> str:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, home.path)
    shutil.copytree(ROOT / "requirements", home.path / "requirements")
    script = '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 || exit 1\n'
    old_python = home.write_file(script, "python3.9")
    old_python.chmod(0o755)
    done = subprocess.run(
        ["make", "run", f"PYTHON={old_python}"],
        cwd=home.path,
        env=clean_environment(home.path),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def exceed_rate_limit(home: UserHome) -> str:
    requests = [request(n, "tools/call", name="chat", arguments={"message": "x"}) for n in (1, 2)]
    return home.run(
        "mcp",
        stdin=b"".join(requests),
        JUNTO_MODELS=json.dumps([home.entry]),
        JUNTO_LIMITS_REQUESTS_PER_MINUTE="1",
        JUNTO_LIMITS_WAIT="0",
    )


def open_newer_database(home: UserHome) -> str:
    home.run("conversations", "list")
    [file] = home.path.rglob("junto.db")
    with sqlite3.connect(file) as database:
        database.execute("INSERT INTO migrations (name) VALUES ('9999_future')")
    database.close()
    return home.run("conversations", "list")


def open_broken_database(home: UserHome) -> str:
    state_dir = home.path / "state"
    state_dir.mkdir()
    (state_dir / "junto.db").write_bytes(b"no database" * 1000)
    return home.run("conversations", "list", JUNTO_STATE_DIRECTORY=str(state_dir))


def call_slow_model(home: UserHome) -> str:
    return home.call(
        "chat",
        {"message": "drip"},
        JUNTO_MODELS=json.dumps([home.entry]),
        JUNTO_JOBS_LONG_CALL_SECONDS="0.5",
        JUNTO_STDIO_DRAIN="2",
        JUNTO_JOBS_DRAIN="0",
    )


def path_inside_a_file(home: UserHome) -> str:
    return str(home.write_file("", "file") / "within")


UNKNOWN_ID = "0123456789abcdef0123456789abcdef"

# How to provoke the message under each heading of the page.
PROVOCATIONS: dict[str, Callable[[UserHome], str]] = {
    "A value does not fit": lambda h: h.run("serve", JUNTO_HTTP_PORT="many"),
    "A setting is misspelt": lambda h: (
        h.write_file("http: {prot: 5}"),
        h.run("serve", "--config", "junto.yaml"),
    )[1],
    "A variable is not set": lambda h: (
        h.write_file("models: [{id: sonnet, apiKey: '${MY_KEY}'}]"),
        h.run("serve", "--config", "junto.yaml"),
    )[1],
    "A file that may not be yours": lambda h: (
        h.write_file("providers: {anthropic: {base_url: 'https://elsewhere.example'}}"),
        h.run("config", "check"),
    )[1],
    "An address that others can reach": lambda h: h.run("serve", "--host", "0.0.0.0"),  # noqa: S104
    "Python is too old": make_with_old_python,
    "There is no key": lambda h: h.run("mcp"),
    "The port is in use": lambda h: use_taken_port(h, "serve"),
    "The background server does not start": lambda h: use_taken_port(h, "start"),
    "A file that is not there": lambda h: h.run("mcp", JUNTO_CONFIG="/home/ada/junto.yaml"),
    "A folder that cannot be written": lambda h: h.call(
        "list_conversations", JUNTO_STATE_DIRECTORY=path_inside_a_file(h)
    ),
    "PostgreSQL cannot be reached": lambda h: h.call(
        "list_conversations", JUNTO_DATABASE_URL="postgresql://127.0.0.1:1/junto"
    ),
    "They are switched off": lambda h: h.call(
        "chat", {"message": "x", "conversationId": UNKNOWN_ID}, JUNTO_CONVERSATIONS_ENABLED="false"
    ),
    "This one is not there any more": lambda h: h.call(
        "chat", {"message": "x", "conversationId": UNKNOWN_ID}
    ),
    "The folder of logs cannot be written": lambda h: h.run(
        "mcp", JUNTO_LOGGING_OUTPUT="files", JUNTO_LOGGING_DIRECTORY=path_inside_a_file(h)
    ),
    "It was switched off": lambda h: h.call("read_file", {"path": "x"}, JUNTO_TOOLS_DISABLED="kit"),
    "A name that is none": lambda h: h.run("mcp", JUNTO_TOOLS_DISABLED="kits"),
    "More lines": lambda h: h.run("mcp", "--log-level", "debug"),
    "The model is not known": lambda h: h.run("chat", "-m", "claude-sonnet-5-5", "Hello"),
    "The model is gone": lambda h: h.run("chat", "-m", "claude-3-5-haiku-20241022", "Hello"),
    "The key is refused": lambda h: h.ask("fail 401"),
    "Too many requests": lambda h: h.ask("fail 429"),
    "Junto's own limit": exceed_rate_limit,
    "The provider cannot be reached": lambda h: h.run(
        "chat", "-m", "gpt-5", "Hello",
        OPENAI_API_KEY="k", OPENAI_BASE_URL="http://127.0.0.1:1/v1", JUNTO_ANSWERS_MAX_RETRIES="0",
    ),
    "There is no model at all": lambda h: h.run("chat", "Hello", JUNTO_EMBEDDED_ENABLED="false"),
    "Another embedded model is not found": lambda h: h.run(
        "chat", "Hello", JUNTO_EMBEDDED_MODEL="/home/ada/model.gguf"
    ),
    "A client gives up after a minute": call_slow_model,
    "It was made by a newer Junto": open_newer_database,
    "It is broken": open_broken_database,
    "A path lies outside": lambda h: h.call(
        "read_file", {"path": "/data/notes.txt"}, JUNTO_TOOLS_ROOTS="."
    ),
    "No folder is allowed": lambda h: h.call("read_file", {"path": "notes.txt"}),
    "A path of another system": lambda h: h.call(
        "read_file", {"path": r"C:\Users\ada\notes.txt"}, JUNTO_TOOLS_ROOTS="."
    ),
    "Unknown Host": lambda h: h.send_http("/", Host="junto.example.org"),
    "Unknown Origin": lambda h: h.send_http("/", Origin="https://junto.example.org"),
    "Missing headers": lambda h: h.send_http("/mcp", **{"Content-Type": "application/json"}),
}  # fmt: skip


def find_quotes(page: ManualPage) -> Iterator[tuple[str, str]]:
    """Yield each message that the page quotes, with its heading."""
    for section in re.split(r"^#+ ", page.text, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        for quote in re.findall(r"```text\n(.*?)```", body, re.DOTALL):
            yield heading.strip(), quote


def appears_in(quote: str, output: str) -> bool:
    """Return whether the output contains a quote; … in it stands for any text."""
    patterns = (re.escape(line).replace("…", ".*") for line in quote.strip().splitlines())
    return all(re.search(line, output) for line in patterns)


@pytest.fixture(scope="module")
def upstream() -> Iterator[FakeModelServer]:
    with fake_model_server() as server:
        yield server


@pytest.mark.feature("F253", "F254", "F255", "F257", "F258", "F259")
@pytest.mark.parametrize(
    ("heading", "quote"), list(find_quotes(PAGE)), ids=[heading for heading, _ in find_quotes(PAGE)]
)
def test_a_quoted_message_is_what_the_program_prints(
    heading: str, quote: str, tmp_path: Path, upstream: FakeModelServer
) -> None:
    output = PROVOCATIONS[heading](UserHome(tmp_path, upstream)).replace(str(tmp_path), "/home/ada")

    assert appears_in(quote, output.replace("\\\\", "\\")), output


def test_every_quote_is_provoked_and_every_provocation_is_quoted() -> None:
    assert {heading for heading, _ in find_quotes(PAGE)} == set(PROVOCATIONS)


@pytest.mark.feature("F256")
def test_conversations_do_not_stay_in_memory(tmp_path: Path, upstream: FakeModelServer) -> None:
    entry = UserHome(tmp_path, upstream).entry
    environment = clean_environment(
        tmp_path,
        JUNTO_MODELS=json.dumps([entry]),
        JUNTO_LIMITS_REQUESTS_PER_MINUTE="10000",
        JUNTO_LIMITS_TOKENS_PER_MINUTE="1000000000",
        JUNTO_KNOWLEDGE_EMBEDDINGS="off",  # its model would be loaded meanwhile, and count
    )
    with stdio_server(junto_command("mcp"), environment, tmp_path) as client:

        def resident_kilobytes_after(conversations: int) -> int:
            for number in range(conversations):
                message = f"say {number} " + "word " * 40_000
                client.ask(number, "tools/call", name="chat", arguments={"message": message})
            status = Path(f"/proc/{client.process.pid}/status").read_text()
            [kilobytes] = re.findall(r"VmRSS:\s+(\d+)", status)
            return int(kilobytes)

        before = resident_kilobytes_after(20)
        after = resident_kilobytes_after(100)

    # The conversations are 20 MB of text, and would take at least as much memory.
    assert after - before < 10_000
