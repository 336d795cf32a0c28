"""Opening database files and servers: migrations, backups, concurrency, refusals."""

import asyncio
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from junto.domain.documents import SearchScope
from junto.domain.errors import ConfigurationError, InputOutputError
from junto.storage.migrations import load_migrations
from junto.storage.postgres.database import PostgresDatabase as Postgres
from junto.storage.sqlite.database import SqliteDatabase as Sqlite
from tests.storage.document_stores import (
    build_message_entry,
    open_postgres_stores,
    open_sqlite_stores,
)

OPEN_SCRIPT = """
import asyncio, sys
from pathlib import Path
from junto.storage.sqlite.database import SqliteDatabase as Sqlite
from junto.storage.postgres.database import PostgresDatabase as Postgres

async def main():
    target = sys.argv[1]
    database = Postgres.open(target) if "://" in target else Sqlite.open(Path(target))
    async with database:
        print("open")

asyncio.run(main())
"""


def applied_migrations(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        found = [row[0] for row in connection.execute("SELECT name FROM migrations")]
    connection.close()
    return found


async def test_a_new_file_is_private_and_migrated_once(
    tmp_path: Path,
) -> None:
    path = tmp_path / "deep" / "junto.db"

    for _ in range(2):
        async with Sqlite.open(path):
            pass

    assert applied_migrations(path) == [
        each.name for each in load_migrations("junto.storage.sqlite")
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


OLD_DATABASE_SQL = """
CREATE TABLE migrations (name TEXT PRIMARY KEY);
INSERT INTO migrations VALUES ('0001_conversations'), ('0002_jobs'), ('0003_sessions');
INSERT INTO conversations (id, owner, model, title, settings, models, status, inherited, length,
    created, updated, touched)
VALUES ('c1', 'me', 'm', 'Talk', '{}', '[]', 'active', 0, 2, 1, 1, 1);
INSERT INTO messages (conversation, position, role, parts, words, at) VALUES
    (1, 0, 'user', '[{"kind":"text","text":"about elephants"}]', 'about elephants', 50),
    (1, 1, 'assistant', '[{"kind":"text","text":"they are big"}]', 'they are big', 51);
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_messages_stored_by_an_older_version_can_be_searched(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    script = (
        "".join(each.script for each in load_migrations(f"junto.storage.{kind}")[:3])
        + OLD_DATABASE_SQL
    )
    async with AsyncExitStack() as stack:
        if kind == "sqlite":
            with sqlite3.connect(tmp_path / "junto.db") as file:
                file.executescript(script)
            file.close()
            stores = open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack)
        else:
            url = request.getfixturevalue("postgres_url")
            with psycopg.connect(url) as server:
                server.execute(script.encode())
            stores = open_postgres_stores(url, stack)

        messages = await stores.documents.list_unindexed_messages(10)
        await stores.documents.save([build_message_entry(each) for each in messages])

        assert [each.text for each in messages] == ["they are big", "about elephants"]
        [match] = await stores.search.search_keywords(SearchScope(owner="me"), ("elephants",), 5)
        passage = (await stores.search.load_passages([match.key]))[match.key]
        assert (passage.conversation, passage.position, passage.text) == (
            "c1",
            0,
            "about elephants",
        )
        assert await stores.documents.list_unindexed_messages(10) == ()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_many_processes_can_migrate_at_the_same_time(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    sqlite = kind == "sqlite"
    target = str(tmp_path / "junto.db") if sqlite else request.getfixturevalue("postgres_url")

    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", OPEN_SCRIPT, target],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(6)
    ]
    outputs = [process.communicate(timeout=60) for process in processes]

    assert [out for out, _ in outputs] == [b"open\n"] * 6, outputs


async def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "junto.db"
    async with Sqlite.open(path):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO migrations (name) VALUES ('9999_wonders')")
    connection.close()

    with pytest.raises(ConfigurationError, match=r"newer Junto \(9999_wonders\)"):
        async with Sqlite.open(path):
            pass


async def test_a_server_database_of_a_newer_version_is_refused(postgres_url: str) -> None:
    async with Postgres.open(postgres_url):
        pass
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("INSERT INTO migrations (name) VALUES ('9999_wonders')")

    with pytest.raises(ConfigurationError, match="9999_wonders"):
        async with Postgres.open(postgres_url):
            pass


INSERT_NEWER_MIGRATION = (
    "INSERT INTO migrations (name, compatible_from) VALUES ('9999_wonders', '{}')"
)
LATEST_MIGRATION = load_migrations("junto.storage.sqlite")[-1].name


async def test_a_database_of_a_compatible_newer_version_is_opened(
    tmp_path: Path, postgres_url: str
) -> None:
    path = tmp_path / "junto.db"
    async with Sqlite.open(path), Postgres.open(postgres_url):
        pass
    with sqlite3.connect(path) as file, psycopg.connect(postgres_url) as server:
        file.execute(INSERT_NEWER_MIGRATION.format(LATEST_MIGRATION))
        server.execute(INSERT_NEWER_MIGRATION.format(LATEST_MIGRATION).encode())
    file.close()

    async with Sqlite.open(path), Postgres.open(postgres_url):
        pass


async def test_a_database_of_an_incompatible_newer_version_is_refused(
    tmp_path: Path, postgres_url: str
) -> None:
    path = tmp_path / "junto.db"
    async with Sqlite.open(path), Postgres.open(postgres_url):
        pass
    with sqlite3.connect(path) as file, psycopg.connect(postgres_url) as server:
        file.execute(INSERT_NEWER_MIGRATION.format("9998_more"))
        server.execute(INSERT_NEWER_MIGRATION.format("9998_more").encode())
    file.close()

    for database in (Sqlite.open(path), Postgres.open(postgres_url)):
        with pytest.raises(ConfigurationError, match="Upgrade Junto"):
            async with database:
                pass


RELEASED_DATABASE = Path(__file__).parents[1] / "upgrade" / "0.1.0" / "junto.db"


async def test_a_file_is_backed_up_once_before_it_is_migrated(tmp_path: Path) -> None:
    path = Path(shutil.copy(RELEASED_DATABASE, tmp_path))
    before = applied_migrations(path)

    for _ in range(2):
        async with Sqlite.open(path):
            pass

    backup = tmp_path / "junto.db.before-0007_compatible_from"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert applied_migrations(backup) == before
    assert applied_migrations(path) == [
        each.name for each in load_migrations("junto.storage.sqlite")
    ]


async def test_a_file_that_cannot_be_backed_up_is_not_migrated(tmp_path: Path) -> None:
    path = Path(shutil.copy(RELEASED_DATABASE, tmp_path))
    before = applied_migrations(path)
    (tmp_path / "junto.db.backup-in-progress").mkdir()  # blocks the backup

    with pytest.raises(InputOutputError, match="Nothing was changed"):
        async with Sqlite.open(path):
            pass

    assert applied_migrations(path) == before


async def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputOutputError, match="state_directory"):
        async with Sqlite.open(tmp_path / "file" / "junto.db"):
            pass
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"this is no database at all" * 100)
    with pytest.raises(InputOutputError, match="cannot be used"):
        async with Sqlite.open(garbage):
            pass


async def test_a_failed_migration_is_rolled_back(tmp_path: Path) -> None:
    path = tmp_path / "junto.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE messages (surprise TEXT)")  # conflicts with our own table
    connection.close()

    with pytest.raises(InputOutputError):
        async with Sqlite.open(path):
            pass

    with sqlite3.connect(path) as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    assert tables == {"messages"}


async def test_a_writer_waits_for_another_process_while_readers_continue(tmp_path: Path) -> None:
    path = tmp_path / "junto.db"
    async with Sqlite.open(path) as database:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        def work(db: sqlite3.Connection) -> int:
            return int(db.execute("SELECT 1").fetchone()[0])

        write_task = asyncio.create_task(database.write(work))
        assert await database.read(work) == 1  # readers are not blocked
        assert not write_task.done()
        other.execute("COMMIT")
        other.close()

        assert await asyncio.wait_for(write_task, 30) == 1


OPEN_AFTER_READY_SCRIPT = """
import asyncio, sys
from pathlib import Path
from junto.storage.sqlite.database import SqliteDatabase
async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    async with SqliteDatabase.open(Path(sys.argv[1])) as database:
        await database.read(lambda db: db.execute("SELECT count(*) FROM jobs").fetchone())
asyncio.run(main())
"""


def test_many_processes_can_open_a_new_file_at_the_same_time(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPEN_AFTER_READY_SCRIPT, str(tmp_path / "junto.db")]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(12)
    ]
    for each in children:
        assert each.stdout
        each.stdout.readline()
    for each in children:
        assert each.stdin
        each.stdin.write(b"go\n")
        each.stdin.flush()

    for each in children:
        each.communicate(timeout=60)

    assert [each.returncode for each in children] == [0] * 12
