"""Indexing that is killed at any moment, and searches beside it."""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.clients import clean_environment, junto, unmeasured
from tests.knowledge.support import Room, room

KILLS = int(os.environ.get("JUNTO_TEST_KILLS", "6"))
FILES = 400
WORDS = ["elephant", "giraffe", "zebra", "tapir", "okapi", "lynx", "quokka", "emu", "yak", "bison"]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder, chance = tmp_path / "docs", random.Random(1)  # noqa: S311 - the same files every time
    for number in range(FILES):
        path = folder / f"d{number % 20}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (" ".join(chance.choices(WORDS, k=12)) for _ in range(chance.randint(3, 60)))
        path.write_text(f"# Number {number}\n\n" + ".\n\n".join(lines))
    return folder


def variables(home: Path) -> dict[str, str]:
    return unmeasured(clean_environment(home)) | {"JUNTO_KNOWLEDGE_EMBEDDINGS": "off"}


async def kept(home: Path) -> list[tuple[str, str, str, str, str]]:
    async with room(home / "data" / "junto") as here:
        return await here.dump("local")


def indexed(home: Path, docs: Path) -> str:
    done = subprocess.run(
        junto("index", str(docs)), env=variables(home), cwd=home, check=True, capture_output=True
    )
    return done.stdout.decode()


@pytest.mark.timeout(300)
async def test_killed_and_run_again_it_is_as_if_nothing_had_happened(
    tmp_path: Path, docs: Path
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    indexed(whole, docs)
    chance = random.Random(int(os.environ.get("JUNTO_TEST_SEED", "7")))  # noqa: S311

    killed = 0
    for _ in range(KILLS):
        process = await asyncio.create_subprocess_exec(
            *junto("index", str(docs)), env=variables(broken), cwd=broken,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        ending = asyncio.create_task(process.wait())
        await asyncio.wait([ending], timeout=chance.uniform(0.6, 2.0))
        if not ending.done():
            process.send_signal(signal.SIGKILL)
            killed += 1
        await ending
    indexed(broken, docs)

    assert killed
    with sqlite3.connect(broken / "data" / "junto" / "junto.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.execute("INSERT INTO passage_words (passage_words) VALUES ('integrity-check')")
    connection.close()
    expected = await kept(whole)
    assert len(expected) == FILES
    assert await kept(broken) == expected
    assert "0 new, 0 changed" in indexed(broken, docs)


@pytest.mark.timeout(300)
async def test_ten_processes_search_while_one_indexes(tmp_path: Path, docs: Path) -> None:
    words = list(enumerate(WORDS))
    env = variables(tmp_path)
    indexing = await asyncio.create_subprocess_exec(
        *junto("index", str(docs)), env=env, cwd=tmp_path, stdout=subprocess.PIPE
    )

    async def search(word: str) -> bytes:
        process = await asyncio.create_subprocess_exec(
            *junto("search", word, "--json"), env=env, cwd=tmp_path,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        found, complaint = await process.communicate()
        assert (process.returncode, complaint) == (0, b"")
        return found

    await asyncio.gather(*(search(word) for _, word in words))
    said, _ = await indexing.communicate()

    assert (indexing.returncode, said[:7]) == (0, b"400 new")


async def test_many_rooms_write_vectors_and_search_at_once(tmp_path: Path, docs: Path) -> None:
    """Several processes' worth of connections to one file, one of which makes the vectors."""
    from tests.knowledge.support import Bag

    async def searches(here: Room) -> None:
        for word in WORDS:
            await here.search.find("local", word, 5)

    async with room(tmp_path, Bag()) as one, room(tmp_path, Bag()) as other:
        await one.index(docs, owner="local")
        async with asyncio.TaskGroup() as group:
            group.create_task(one.placing().finish())
            group.create_task(searches(one))
            group.create_task(searches(other))
        found = await other.search.find("local", "zebra okapi", 5)

    assert len(found.hits) == 5
