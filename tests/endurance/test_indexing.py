"""Indexing that is killed at random moments, and searches during it."""

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from tests.clients import clean_environment, junto_command, without_coverage
from tests.knowledge.knowledge_stores import KnowledgeStores, room

KILL_COUNT = int(os.environ.get("JUNTO_TEST_KILLS", "2"))
FILE_COUNT = int(os.environ.get("JUNTO_TEST_FILES", "150"))
WORDS = ["elephant", "giraffe", "zebra", "tapir", "okapi", "lynx", "quokka", "emu", "yak", "bison"]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder, rng = tmp_path / "docs", random.Random(1)  # noqa: S311 - the same files every time
    for number in range(FILE_COUNT):
        path = folder / f"d{number % 20}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (" ".join(rng.choices(WORDS, k=12)) for _ in range(rng.randint(3, 60)))
        path.write_text(f"# Number {number}\n\n" + ".\n\n".join(lines))
    return folder


def index_environment(home: Path) -> dict[str, str]:
    return without_coverage(clean_environment(home)) | {"JUNTO_KNOWLEDGE_EMBEDDINGS": "off"}


async def dump_index(home: Path) -> list[tuple[str, str, str, str, str]]:
    async with room(home / "data" / "junto") as stores:
        return await stores.dump("local")


def run_index(home: Path, docs: Path) -> str:
    completed = subprocess.run(
        junto_command("index", str(docs)),
        env=index_environment(home),
        cwd=home,
        check=True,
        capture_output=True,
    )
    return completed.stdout.decode()


@pytest.mark.timeout(300)
async def test_indexing_that_was_killed_gives_the_same_index_when_run_again(
    tmp_path: Path, docs: Path
) -> None:
    uninterrupted, interrupted = tmp_path / "whole", tmp_path / "broken"
    uninterrupted.mkdir()
    interrupted.mkdir()
    started = time.monotonic()
    run_index(uninterrupted, docs)
    duration = time.monotonic() - started
    rng = random.Random(int(os.environ.get("JUNTO_TEST_SEED", "7")))  # noqa: S311

    kills = 0
    while kills < KILL_COUNT:
        process = await asyncio.create_subprocess_exec(
            *junto_command("index", str(docs)), env=index_environment(interrupted), cwd=interrupted,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        exit_task = asyncio.create_task(process.wait())
        await asyncio.wait([exit_task], timeout=rng.uniform(0.3, 0.9) * duration)
        if exit_task.done():  # faster than the first run, and with nothing left to interrupt
            shutil.rmtree(interrupted / "data")
            duration *= 0.8
            continue
        process.send_signal(signal.SIGKILL)
        kills += 1
        await exit_task
    run_index(interrupted, docs)

    with sqlite3.connect(interrupted / "data" / "junto" / "junto.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.execute("INSERT INTO passage_words (passage_words) VALUES ('integrity-check')")
    connection.close()
    expected = await dump_index(uninterrupted)
    assert len(expected) == FILE_COUNT
    assert await dump_index(interrupted) == expected
    assert "0 new, 0 changed" in run_index(interrupted, docs)


@pytest.mark.timeout(300)
async def test_ten_processes_search_while_one_indexes(tmp_path: Path, docs: Path) -> None:
    words = list(enumerate(WORDS))
    env = index_environment(tmp_path)
    indexer = await asyncio.create_subprocess_exec(
        *junto_command("index", str(docs)), env=env, cwd=tmp_path, stdout=subprocess.PIPE
    )

    async def search(word: str) -> bytes:
        process = await asyncio.create_subprocess_exec(
            *junto_command("search", word, "--json"), env=env, cwd=tmp_path,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        stdout, stderr = await process.communicate()
        assert (process.returncode, stderr) == (0, b"")
        return stdout

    await asyncio.gather(*(search(word) for _, word in words))
    output, _ = await indexer.communicate()

    assert indexer.returncode == 0
    assert output.startswith(f"{FILE_COUNT} new".encode())


async def test_several_connections_embed_and_search_at_once(tmp_path: Path, docs: Path) -> None:
    """Several connections to one file, as from several processes; one of them stores embeddings."""
    from tests.knowledge.knowledge_stores import BagOfWordsEmbedder

    async def search_all_words(stores: KnowledgeStores) -> None:
        for word in WORDS:
            await stores.search.find("local", word, 5)

    async with (
        room(tmp_path, BagOfWordsEmbedder()) as one,
        room(tmp_path, BagOfWordsEmbedder()) as other,
    ):
        await one.index(docs, owner="local")
        async with asyncio.TaskGroup() as group:
            group.create_task(one.build_embedding_worker().embed_pending())
            group.create_task(search_all_words(one))
            group.create_task(search_all_words(other))
        result = await other.search.find("local", "zebra okapi", 5)

    assert len(result.hits) == 5
