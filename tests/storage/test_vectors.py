"""Vector files next to a SQLite database: built from it, memory-mapped, indexed, rebuilt."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from junto.domain.documents import EmbeddingModel, SearchScope
from junto.domain.errors import InputOutputError
from junto.storage.sqlite.vector_files import compute_dot_products
from tests.storage.document_stores import LATER, ME, DocumentStores, build_entry, open_sqlite_stores

MODEL = EmbeddingModel("random", 32)
MINE = SearchScope(owner=ME)
DOCUMENT_COUNT = 600


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[DocumentStores]:
    """Return stores that search more than 100 vectors through an index."""
    async with AsyncExitStack() as stack:
        yield open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack, exact_up_to=100)


def random_vectors(count: int, seed: int = 1) -> NDArray[np.float32]:
    vectors: NDArray[np.float32] = np.random.default_rng(seed).standard_normal(
        (count, 32), np.float32
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


async def add_documents(stores: DocumentStores, first: int, count: int, seed: int = 1) -> list[int]:
    """Save documents with one passage and vector each, and return the passage keys."""
    await stores.documents.save(
        [build_entry(f"d{n}", f"text {n}") for n in range(first, first + count)]
    )
    pending = await stores.vectors.list_pending(MODEL, 0, count)
    vectors = random_vectors(count, seed)
    await stores.vectors.save_vectors(
        MODEL, {each.key: vectors[index].tobytes() for index, each in enumerate(pending)}
    )
    return [each.key for each in pending]


async def search_keys(stores: DocumentStores, query: bytes, limit: int = 10) -> list[int]:
    return [match.key for match in await stores.search.search_vectors(MINE, MODEL, query, limit)]


def vector_files(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "vectors").rglob("*") if path.is_file()]


async def test_an_index_finds_nearly_the_same_as_an_exact_search(
    stores: DocumentStores, tmp_path: Path
) -> None:
    keys = await add_documents(stores, 0, DOCUMENT_COUNT)
    queries = random_vectors(20, seed=2)
    exact = [await search_keys(stores, query.tobytes()) for query in queries]

    await stores.vectors.optimize(MODEL, LATER)
    approximate = [await search_keys(stores, query.tobytes()) for query in queries]

    assert [path.name for path in vector_files(tmp_path) if path.name.startswith("graph-")] == [
        f"graph-{DOCUMENT_COUNT}"
    ]
    shared = sum(len(set(one) & set(other)) for one, other in zip(exact, approximate, strict=True))
    assert shared >= 0.9 * 10 * len(queries)
    assert [
        await search_keys(stores, random_vectors(DOCUMENT_COUNT)[n].tobytes(), 1) for n in (0, 9)
    ] == [
        [keys[0]],
        [keys[9]],
    ]


async def test_vectors_added_after_indexing_are_found(stores: DocumentStores) -> None:
    await add_documents(stores, 0, DOCUMENT_COUNT)
    await stores.vectors.optimize(MODEL, LATER)

    added = await add_documents(stores, DOCUMENT_COUNT, 50, seed=3)

    assert await search_keys(stores, random_vectors(50, seed=3)[7].tobytes(), 1) == [added[7]]


async def test_an_index_can_return_every_vector(stores: DocumentStores) -> None:
    keys = await add_documents(stores, 0, DOCUMENT_COUNT)
    await stores.vectors.optimize(MODEL, LATER)

    everything = await search_keys(
        stores, random_vectors(1, seed=4)[0].tobytes(), DOCUMENT_COUNT + 10
    )

    assert sorted(everything) == sorted(keys)


async def test_deleted_files_are_rebuilt(stores: DocumentStores, tmp_path: Path) -> None:
    keys = await add_documents(stores, 0, 50)
    query = random_vectors(50)[3].tobytes()
    assert await search_keys(stores, query, 1) == [keys[3]]

    await asyncio.to_thread(shutil.rmtree, tmp_path / "vectors")

    assert await search_keys(stores, query, 1) == [keys[3]]


@pytest.mark.parametrize("fraction", [0.5, 0.99])
@pytest.mark.parametrize("name", ["rows", "keys"])
async def test_files_of_a_writer_that_was_killed_are_repaired(
    tmp_path: Path, name: str, fraction: float
) -> None:
    async with AsyncExitStack() as stack:
        stores = open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack)
        keys = await add_documents(stores, 0, 50)
        await search_keys(stores, random_vectors(1)[0].tobytes())
    if name == "keys":
        # Rows are written before keys, so there may be rows without keys, or a partial row.
        [path] = [path for path in vector_files(tmp_path) if path.name == "keys"]
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * fraction)])
    else:
        [path] = [path for path in vector_files(tmp_path) if path.name == "rows"]
        path.write_bytes(path.read_bytes() + b"\0" * int(128 * fraction))

    async with AsyncExitStack() as stack:
        stores = open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack)
        await add_documents(stores, 50, 1, seed=5)

        for number in (0, 25, 49):
            assert await search_keys(stores, random_vectors(50)[number].tobytes(), 1) == [
                keys[number]
            ]


async def test_optimizing_removes_deleted_vectors_from_the_files(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        stores = open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack)
        await add_documents(stores, 0, 3000)
        await search_keys(stores, random_vectors(1)[0].tobytes())
        before = sum(path.stat().st_size for path in vector_files(tmp_path))
        await stores.documents.delete(ME, [f"d{n}" for n in range(2500)])
        added = await add_documents(stores, 3000, 1, seed=6)

        await stores.vectors.optimize(MODEL, LATER)

        assert sum(path.stat().st_size for path in vector_files(tmp_path)) < before / 4
        assert await search_keys(stores, random_vectors(1, seed=6)[0].tobytes(), 1) == added
        assert len(await search_keys(stores, random_vectors(1)[0].tobytes(), 1000)) == 501


async def test_another_process_sees_a_new_generation(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        one = open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack)
        other = open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack)
        await add_documents(one, 0, 3000)
        query = random_vectors(3000)[2999].tobytes()
        before = await search_keys(other, query, 1)
        await one.documents.delete(ME, [f"d{n}" for n in range(2500)])
        await one.vectors.optimize(MODEL, LATER)

        assert await search_keys(other, query, 1) == before


async def test_a_recreated_database_ignores_the_files_of_the_old_one(
    tmp_path: Path,
) -> None:
    for seed in (1, 2):
        async with AsyncExitStack() as stack:
            stores = open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack)
            keys = await add_documents(stores, 0, 20, seed=seed)
            assert await search_keys(stores, random_vectors(20, seed=seed)[5].tobytes(), 1) == [
                keys[5]
            ]
        for suffix in ("", "-wal", "-shm"):
            (tmp_path / f"junto.db{suffix}").unlink(missing_ok=True)


def test_dot_products_are_the_same_without_numkong(monkeypatch: pytest.MonkeyPatch) -> None:
    half_floats, query = random_vectors(5000).astype("<f2"), random_vectors(1, seed=2)[0]
    expected = compute_dot_products(half_floats, query)

    monkeypatch.setitem(sys.modules, "numkong", None)

    assert np.allclose(compute_dot_products(half_floats, query), expected, atol=0.002)
    assert len(compute_dot_products(half_floats[:0], query)) == 0


def test_the_index_and_the_embedding_runtime_load_together() -> None:
    """Import both native libraries in a new process, where neither is loaded yet."""
    script = (
        "from junto.storage.sqlite.ann_index import _create_index\n"
        "assert _create_index(32) is not None\n"
        "import onnxruntime, numkong\n"
    )

    subprocess.run([sys.executable, "-c", script], check=True)


async def test_switching_back_to_a_model_starts_over(
    stores: DocumentStores, tmp_path: Path
) -> None:
    other = EmbeddingModel("other", 32)
    for model in (MODEL, other, MODEL):
        if model is other or not await stores.documents.find(ME, "d0"):
            await stores.documents.save([build_entry(f"d{n}", f"text {n}") for n in range(20)])
        pending = await stores.vectors.list_pending(model, 0, 20)
        vectors = random_vectors(20)
        await stores.vectors.save_vectors(
            model, {each.key: vectors[index].tobytes() for index, each in enumerate(pending)}
        )
        await stores.vectors.optimize(model, LATER)
        matches = await stores.search.search_vectors(MINE, model, vectors[3].tobytes(), 100)

        assert len(pending) == len(matches) == 20
        assert matches[0].key == pending[3].key
        assert len(list((tmp_path / "vectors").iterdir())) == 1


async def test_an_index_with_vectors_unknown_to_this_process_is_usable(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        one = open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack, exact_up_to=100)
        other = open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack, exact_up_to=100)
        keys = await add_documents(one, 0, 200)
        query = random_vectors(200)[7].tobytes()
        assert await search_keys(one, query, 1) == [keys[7]]
        await add_documents(other, 200, 300, seed=3)
        await other.vectors.optimize(MODEL, LATER)
        await other.documents.delete(ME, [f"d{n}" for n in range(200, 500)])

        assert await search_keys(one, query, 1) == [keys[7]]


@pytest.mark.parametrize("name", ["rows", "1"])
async def test_partly_deleted_files_are_rebuilt(
    stores: DocumentStores, tmp_path: Path, name: str
) -> None:
    keys = await add_documents(stores, 0, 50)
    query = random_vectors(50)[3].tobytes()
    await search_keys(stores, query, 1)
    [path] = list((tmp_path / "vectors").glob(f"*/{name}" if name == "1" else f"*/1/{name}"))
    await asyncio.to_thread(shutil.rmtree if path.is_dir() else Path.unlink, path)

    async with AsyncExitStack() as stack:
        reopened = open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack)
        await add_documents(reopened, 50, 1, seed=5)
        assert await search_keys(reopened, query, 1) == [keys[3]]


async def test_a_database_restored_from_a_backup_ignores_later_files(tmp_path: Path) -> None:
    async def add_and_search(first: int, count: int, seed: int) -> list[int]:
        async with AsyncExitStack() as stack:
            stores = open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack)
            keys = await add_documents(stores, first, count, seed)
            query = random_vectors(count, seed)[2].tobytes()
            assert await search_keys(stores, query, 1) == [keys[2]]
            return keys

    await add_and_search(0, 10, seed=1)
    backup = (tmp_path / "junto.db").read_bytes()
    await add_and_search(10, 10, seed=2)
    for suffix in ("-wal", "-shm"):
        (tmp_path / f"junto.db{suffix}").unlink(missing_ok=True)
    (tmp_path / "junto.db").write_bytes(backup)

    await add_and_search(20, 10, seed=3)


async def test_unusable_vector_files_are_reported(stores: DocumentStores, tmp_path: Path) -> None:
    await add_documents(stores, 0, 10)
    (tmp_path / "vectors").write_text("no folder")

    with pytest.raises(InputOutputError):
        await search_keys(stores, random_vectors(1)[0].tobytes())
