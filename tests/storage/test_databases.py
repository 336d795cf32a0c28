"""Databases as files and servers: how they are made, shared, and refused."""

import asyncio
import sqlite3
import stat
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from junto.domain.documents import Scope
from junto.domain.errors import ConfigurationError, InputOutputError
from junto.storage.migrations import migrations
from junto.storage.postgres.database import Database as Postgres
from junto.storage.sqlite.database import Database as Sqlite
from tests.storage.libraries import message_entry, on_postgres, on_sqlite

OPEN = """
import asyncio, sys
from pathlib import Path
from junto.storage.sqlite.database import Database as Sqlite
from junto.storage.postgres.database import Database as Postgres

async def main():
    target = sys.argv[1]
    opened = Postgres.opened(target) if "://" in target else Sqlite.opened(Path(target))
    async with opened:
        print("open")

asyncio.run(main())
"""


def names(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        found = [row[0] for row in connection.execute("SELECT name FROM migrations")]
    connection.close()
    return found


async def test_a_file_is_made_for_its_owner_alone_and_brought_up_to_date_once(
    tmp_path: Path,
) -> None:
    path = tmp_path / "deep" / "junto.db"

    for _ in range(2):
        async with Sqlite.opened(path):
            pass

    assert names(path) == [each.name for each in migrations("junto.storage.sqlite")]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


OLD = """
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
async def test_what_an_older_junto_has_kept_can_be_searched(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    script = "".join(each.script for each in migrations(f"junto.storage.{kind}")[:3]) + OLD
    async with AsyncExitStack() as stack:
        if kind == "sqlite":
            with sqlite3.connect(tmp_path / "junto.db") as file:
                file.executescript(script)
            file.close()
            library = on_sqlite(tmp_path / "junto.db", tmp_path, stack)
        else:
            url = request.getfixturevalue("postgres_url")
            with psycopg.connect(url) as server:
                server.execute(script.encode())
            library = on_postgres(url, stack)

        spoken = await library.documents.unread(10)
        await library.documents.keep([message_entry(each) for each in spoken])

        assert [each.text for each in spoken] == ["they are big", "about elephants"]
        [match] = await library.search.by_words(Scope(owner="me"), ("elephants",), 5)
        found = (await library.search.passages([match.key]))[match.key]
        assert (found.conversation, found.position, found.text) == ("c1", 0, "about elephants")
        assert await library.documents.unread(10) == ()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_many_processes_that_start_at_once_do_not_meet(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    sqlite = kind == "sqlite"
    target = str(tmp_path / "junto.db") if sqlite else request.getfixturevalue("postgres_url")

    started = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", OPEN, target],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(6)
    ]
    done = [process.communicate(timeout=60) for process in started]

    assert [out for out, _ in done] == [b"open\n"] * 6, done


async def test_a_file_from_the_future_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "junto.db"
    async with Sqlite.opened(path):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO migrations (name) VALUES ('9999_wonders')")
    connection.close()

    with pytest.raises(ConfigurationError, match="newer Junto: it knows 9999_wonders"):
        async with Sqlite.opened(path):
            pass


async def test_a_server_from_the_future_is_refused(postgres_url: str) -> None:
    async with Postgres.opened(postgres_url):
        pass
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("INSERT INTO migrations (name) VALUES ('9999_wonders')")

    with pytest.raises(ConfigurationError, match="9999_wonders"):
        async with Postgres.opened(postgres_url):
            pass


async def test_what_cannot_be_opened_says_so_without_passwords(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputOutputError, match="state_directory"):
        async with Sqlite.opened(tmp_path / "file" / "junto.db"):
            pass
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"this is no database at all" * 100)
    with pytest.raises(InputOutputError, match="cannot be used"):
        async with Sqlite.opened(garbage):
            pass


async def test_a_failed_migration_leaves_nothing_half_done(tmp_path: Path) -> None:
    path = tmp_path / "junto.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE messages (surprise TEXT)")  # in the way of ours
    connection.close()

    with pytest.raises(InputOutputError):
        async with Sqlite.opened(path):
            pass

    with sqlite3.connect(path) as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    assert tables == {"messages"}


async def test_whoever_writes_waits_for_another_process_and_fails_nobody(tmp_path: Path) -> None:
    path = tmp_path / "junto.db"
    async with Sqlite.opened(path) as database:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        def work(db: sqlite3.Connection) -> int:
            return int(db.execute("SELECT 1").fetchone()[0])

        writing = asyncio.create_task(database.write(work))
        assert await database.read(work) == 1  # readers go on meanwhile
        assert not writing.done()
        other.execute("COMMIT")
        other.close()

        assert await asyncio.wait_for(writing, 30) == 1


OPENS = """
import asyncio, sys
from pathlib import Path
from junto.storage.sqlite.database import Database
async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    async with Database.opened(Path(sys.argv[1])) as database:
        await database.read(lambda db: db.execute("SELECT count(*) FROM jobs").fetchone())
asyncio.run(main())
"""


def test_many_processes_may_open_a_new_file_at_the_same_moment(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPENS, str(tmp_path / "junto.db")]
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
