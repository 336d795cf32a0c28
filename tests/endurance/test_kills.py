"""`kill -9` at any moment loses no answered turn."""

import random
import sqlite3
import threading
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from junto.runtime.lazy import Lazy
from junto.storage.postgres.conversations import PostgresConversations
from junto.storage.postgres.database import PostgresDatabase as Postgres
from junto.storage.sqlite.conversations import SqliteConversations
from junto.storage.sqlite.database import SqliteDatabase as Sqlite
from tests.endurance.load_clients import (
    KILL_COUNT,
    TURN_COUNT,
    Record,
    chat_until,
    check_history,
    run_servers,
    run_under_load,
)


def database_path(home: Path) -> Path:
    return home / "data" / "junto" / "junto.db"


async def check_database(home: Path, record: Record) -> None:
    with sqlite3.connect(database_path(home)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        # Raises if the full-text index does not match the passages.
        connection.execute("INSERT INTO passage_words (passage_words) VALUES ('integrity-check')")
    connection.close()
    async with AsyncExitStack() as stack:
        path = database_path(home)
        await check_history(SqliteConversations(Lazy(lambda: Sqlite.open(path), stack)), record)


@pytest.mark.timeout(60 + 10 * KILL_COUNT)
async def test_killing_two_servers_on_one_file_loses_no_turn(tmp_path: Path) -> None:
    with run_servers(tmp_path, 2) as servers:

        def disturb(rng: random.Random) -> None:
            victim = rng.choice(servers)
            victim.kill()
            victim.start()

        record = run_under_load(servers, disturb, KILL_COUNT)

    assert len(record.answers) > 5 * KILL_COUNT
    await check_database(tmp_path, record)


@pytest.mark.timeout(60 + 10 * KILL_COUNT)
async def test_cutting_connections_to_postgresql_loses_no_turn(
    tmp_path: Path, postgres_url: str
) -> None:
    with run_servers(tmp_path, 2, JUNTO_DATABASE_URL=postgres_url) as servers:

        def disturb(rng: random.Random) -> None:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid() "
                    "AND random() < %s",
                    (rng.uniform(0.3, 1.0),),
                )

        record = run_under_load(servers, disturb, KILL_COUNT * 3)

    assert len(record.answers) > 5 * KILL_COUNT
    assert {error["code"] for error in record.errors} <= {"IOError"}
    async with AsyncExitStack() as stack:
        await check_history(
            PostgresConversations(Lazy(lambda: Postgres.open(postgres_url), stack)), record
        )


@pytest.mark.timeout(60 + TURN_COUNT)
async def test_ten_clients_on_two_servers_lose_no_turn_and_see_no_lock_errors(
    tmp_path: Path,
) -> None:
    with run_servers(tmp_path, 2) as servers:
        record = Record()
        threads = [
            threading.Thread(
                target=chat_until,
                args=(servers, record, number, lambda: len(record.answers) >= TURN_COUNT),
            )
            for number in range(10)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60 + TURN_COUNT)

    assert record.errors == []
    assert len(record.answers) >= TURN_COUNT
    await check_database(tmp_path, record)
