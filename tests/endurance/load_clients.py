"""Servers under load that are killed or cut off at random, and what must be true afterwards."""

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
from tests.clients import HttpClient, clean_environment, junto, unmeasured
from tests.server_upstream import served_upstream

# Larger numbers by hand: JUNTO_TEST_KILLS=100 JUNTO_TEST_TURNS=5000 JUNTO_TEST_SEED=7.
KILLS = int(os.environ.get("JUNTO_TEST_KILLS", "6"))
TURNS = int(os.environ.get("JUNTO_TEST_TURNS", "300"))
SEED = int(os.environ.get("JUNTO_TEST_SEED", "1"))
CLIENTS = 10


@dataclass
class Server:
    """One `junto serve`, which can be killed and comes back on another port."""

    environment: dict[str, str]
    home: Path
    port: int = 0
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            junto("serve", "--port", "0", "--log-level", "error"),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=unmeasured(self.environment),
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
    """What clients were told, which must be true for ever."""

    answered: list[tuple[str, str, str]] = field(default_factory=list)  # conversation, asked, said
    refused: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, message: str, result: dict[str, Any]) -> str | None:
        facts = result["structuredContent"]
        with self.lock:
            if result["isError"]:
                self.refused.append(facts)
                return None
            self.answered.append((facts["conversationId"], message, facts["response"]))
        return str(facts["conversationId"])


@contextlib.contextmanager
def servers(home: Path, count: int, **variables: str) -> Iterator[list[Server]]:
    with served_upstream() as upstream:
        entry = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        limits = {"JUNTO_LIMITS_REQUESTS_PER_MINUTE": "1000000"}
        limits |= {"JUNTO_LIMITS_TOKENS_PER_MINUTE": "1000000000"}
        environment = clean_environment(
            home, JUNTO_MODELS=json.dumps([entry]), **limits, **variables
        )
        running = [Server(environment, home) for _ in range(count)]
        try:
            for server in running:
                server.start()
            yield running
        finally:
            for server in running:
                if server.process and server.process.poll() is None:
                    server.kill()


def talk(servers: list[Server], record: Record, client: int, over: Callable[[], bool]) -> None:
    """Ask on and on, each turn at a random server, in three conversations of one's own."""
    chance = random.Random(SEED * 1000 + client)  # noqa: S311 - to be repeated, not guessed
    mine: list[str | None] = [None] * 3
    number = 0
    while not over():
        line = chance.randrange(3)
        message = f"client {client} turn {number}"
        number += 1
        arguments = {"message": message}
        if mine[line]:
            arguments["conversationId"] = str(mine[line])
        server = HttpClient(chance.choice(servers).port)
        try:
            reply = server.modern("tools/call", name="chat", arguments=arguments)
            result = reply.json()["result"]
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            time.sleep(0.01)  # nobody there, or no longer
            continue
        mine[line] = record.note(message, result) or mine[line]


def under_load(
    servers: list[Server], disturb: Callable[[random.Random], None], times: int
) -> Record:
    """Let ten clients talk while `disturb` is called so many times, at random moments."""
    record, over = Record(), threading.Event()
    threads = [
        threading.Thread(target=talk, args=(servers, record, number, over.is_set))
        for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    chance = random.Random(SEED)  # noqa: S311
    try:
        for _ in range(times):
            time.sleep(chance.uniform(0.05, 0.6))  # when is what is tried here
            disturb(chance)
        time.sleep(0.3)  # some go on after the last
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
    return record


async def check(store: ConversationStore, record: Record) -> None:
    """Every answered turn is there, in its place; there is no half turn."""
    kept: dict[str, list[str]] = {}
    async for conversation, said in store.everything("local"):
        assert conversation.length % 2 == 0
        assert [each.position for each in said] == list(range(len(said)))
        assert conversation.length == len(said), "these clients never branch"
        roles = [each.message.role.value for each in said]
        assert roles == ["user", "assistant"] * (len(said) // 2)
        kept[conversation.id] = [each.message.text for each in said]
    for id_, asked, answer in record.answered:
        texts = kept[id_]
        place = texts.index(asked)
        assert texts[place + 1] == answer
    assert len(record.answered) == len(set(record.answered))
