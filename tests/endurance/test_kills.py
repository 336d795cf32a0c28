"""`kill -9` at any moment loses no answered turn."""

import random
import sqlite3
import threading
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from junto.storage.lazily import Lazily
from junto.storage.postgres.conversations import PostgresConversations
from junto.storage.postgres.database import Database as Postgres
from junto.storage.sqlite.conversations import SqliteConversations
from junto.storage.sqlite.database import Database as Sqlite
from tests.endurance.harness import KILLS, TURNS, Record, check, servers, talk, under_load


def database(home: Path) -> Path:
    return home / "data" / "junto" / "junto.db"


async def check_file(home: Path, record: Record) -> None:
    with sqlite3.connect(database(home)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        # Raises if the index of words does not match the passages.
        connection.execute("INSERT INTO passage_words (passage_words) VALUES ('integrity-check')")
    connection.close()
    async with AsyncExitStack() as stack:
        path = database(home)
        await check(SqliteConversations(Lazily(lambda: Sqlite.opened(path), stack)), record)


@pytest.mark.timeout(60 + 10 * KILLS)
async def test_two_servers_on_one_file_are_killed_again_and_again(tmp_path: Path) -> None:
    with servers(tmp_path, 2) as running:

        def disturb(chance: random.Random) -> None:
            victim = chance.choice(running)
            victim.kill()
            victim.start()

        record = under_load(running, disturb, KILLS)

    assert len(record.answered) > 5 * KILLS
    await check_file(tmp_path, record)


@pytest.mark.timeout(60 + 10 * KILLS)
async def test_connections_to_postgresql_are_cut_again_and_again(
    tmp_path: Path, postgres_url: str
) -> None:
    with servers(tmp_path, 2, JUNTO_DATABASE_URL=postgres_url) as running:

        def disturb(chance: random.Random) -> None:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid() "
                    "AND random() < %s",
                    (chance.uniform(0.3, 1.0),),
                )

        record = under_load(running, disturb, KILLS * 3)

    assert len(record.answered) > 5 * KILLS
    assert {facts["code"] for facts in record.refused} <= {"IOError"}
    async with AsyncExitStack() as stack:
        await check(
            PostgresConversations(Lazily(lambda: Postgres.opened(postgres_url), stack)), record
        )


@pytest.mark.timeout(60 + TURNS)
async def test_two_servers_and_ten_clients_lose_no_turn_and_nobody_hears_of_locks(
    tmp_path: Path,
) -> None:
    with servers(tmp_path, 2) as running:
        record = Record()
        threads = [
            threading.Thread(
                target=talk,
                args=(running, record, number, lambda: len(record.answered) >= TURNS),
            )
            for number in range(10)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60 + TURNS)

    assert record.refused == []
    assert len(record.answered) >= TURNS
    await check_file(tmp_path, record)
