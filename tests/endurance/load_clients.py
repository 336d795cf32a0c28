"""Servers that are disturbed under load, their clients, and a check of the stored history."""

import contextlib
import http.client
import json
import os
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from junto.domain.conversations import ConversationStore
from tests.clients import HttpClient, clean_environment, junto_command, without_coverage
from tests.fake_model_server import fake_model_server
from tests.processes import wait_until

# For a longer run: JUNTO_TEST_KILLS=100 JUNTO_TEST_TURNS=5000 JUNTO_TEST_SEED=7.
KILL_COUNT = int(os.environ.get("JUNTO_TEST_KILLS", "2"))
TURN_COUNT = int(os.environ.get("JUNTO_TEST_TURNS", "100"))
SEED = int(os.environ.get("JUNTO_TEST_SEED", "1"))
CLIENT_COUNT = 10
_MIN_TURNS = 5


@dataclass
class Server:
    """One `junto serve`, which can be killed and restarted on another port."""

    environment: dict[str, str]
    home: Path
    port: int = 0
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            junto_command("serve", "--port", "0", "--log-level", "error"),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=without_coverage(self.environment),
            cwd=self.home,
        )
        assert self.process.stderr
        first = self.process.stderr.readline().decode()
        assert "serves MCP at" in first, first
        self.port = int(first.rstrip().removesuffix("/mcp").rpartition(":")[2])

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()
        assert self.process.stderr
        self.process.stderr.close()


@dataclass
class Record:
    """The answers and errors that clients received, which the store must match."""

    # Conversation, question and answer.
    answers: list[tuple[str, str, str]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, message: str, result: dict[str, Any]) -> str | None:
        content = result["structuredContent"]
        with self.lock:
            if result["isError"]:
                self.errors.append(content)
                return None
            self.answers.append((content["conversationId"], message, content["response"]))
        return str(content["conversationId"])


@contextlib.contextmanager
def run_servers(home: Path, count: int, **variables: str) -> Iterator[list[Server]]:
    with fake_model_server() as upstream:
        entry = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        limits = {"JUNTO_LIMITS_REQUESTS_PER_MINUTE": "1000000"}
        limits |= {"JUNTO_LIMITS_TOKENS_PER_MINUTE": "1000000000"}
        environment = clean_environment(
            home, JUNTO_MODELS=json.dumps([entry]), **limits, **variables
        )
        servers = [Server(environment, home) for _ in range(count)]
        try:
            for server in servers:
                server.start()
            yield servers
        finally:
            for server in servers:
                if server.process and server.process.poll() is None:
                    server.kill()


def chat_until(
    servers: list[Server], record: Record, client: int, is_over: Callable[[], bool]
) -> None:
    """Chat until `is_over`, each turn on a random server, in three conversations of this client."""
    rng = random.Random(SEED * 1000 + client)  # noqa: S311 - must be repeatable
    conversation_ids: list[str | None] = [None] * 3
    turn = 0
    while not is_over():
        index = rng.randrange(3)
        message = f"client {client} turn {turn}"
        turn += 1
        arguments = {"message": message}
        if conversation_ids[index]:
            arguments["conversationId"] = str(conversation_ids[index])
        server = HttpClient(rng.choice(servers).port)
        try:
            reply = server.modern("tools/call", name="chat", arguments=arguments)
            result = reply.json()["result"]
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            time.sleep(0.01)  # the server is down, or was killed meanwhile
            continue
        conversation_ids[index] = record.add(message, result) or conversation_ids[index]


def run_under_load(
    servers: list[Server], disturb: Callable[[random.Random], None], disturbances: int
) -> Record:
    """Let ten clients chat while `disturb` is called at random moments."""
    record, finished = Record(), threading.Event()
    threads = [
        threading.Thread(target=chat_until, args=(servers, record, number, finished.is_set))
        for number in range(CLIENT_COUNT)
    ]
    for thread in threads:
        thread.start()
    rng = random.Random(SEED)  # noqa: S311
    try:
        for _ in range(disturbances):
            wait_for_turns(record)
            time.sleep(rng.uniform(0.05, 0.6))  # random timing is what is tested
            disturb(rng)
        wait_for_turns(record)
    finally:
        finished.set()
        for thread in threads:
            thread.join(60)
    return record


def wait_for_turns(record: Record) -> None:
    """Wait until some more turns are answered, however busy the machine is."""
    answered = len(record.answers)
    wait_until(lambda: len(record.answers) > answered + _MIN_TURNS)


async def check_history(store: ConversationStore, record: Record) -> None:
    """Check that every answered turn is stored in its place, and that no turn is incomplete."""
    texts_by_id: dict[str, list[str]] = {}
    async for conversation, messages in store.iter_all("local"):
        assert conversation.length % 2 == 0
        assert [each.position for each in messages] == list(range(len(messages)))
        assert conversation.length == len(messages), "these clients never branch"
        roles = [each.message.role.value for each in messages]
        assert roles == ["user", "assistant"] * (len(messages) // 2)
        texts_by_id[conversation.id] = [each.message.text for each in messages]
    for id_, question, answer in record.answers:
        texts = texts_by_id[id_]
        position = texts.index(question)
        assert texts[position + 1] == answer
    assert len(record.answers) == len(set(record.answers))
