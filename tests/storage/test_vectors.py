"""The files of vectors beside a SQLite database: made from it, mapped, indexed, made anew."""

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

from junto.domain.documents import Model, Scope
from junto.domain.errors import InputOutputError
from junto.storage.sqlite.vectors import products
from tests.storage.libraries import LATER, ME, Library, entry, on_sqlite

MODEL = Model("random", 32)
MINE = Scope(owner=ME)
COUNT = 600


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    """Return a library in which more than 100 vectors are too many to compare."""
    async with AsyncExitStack() as stack:
        yield on_sqlite(tmp_path / "junto.db", tmp_path, stack, exact_up_to=100)


def rows(count: int, seed: int = 1) -> NDArray[np.float32]:
    found: NDArray[np.float32] = np.random.default_rng(seed).standard_normal(
        (count, 32), np.float32
    )
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


async def filled(library: Library, first: int, count: int, seed: int = 1) -> list[int]:
    """Put in documents of one passage each, with a vector, and return the keys of the passages."""
    await library.documents.keep([entry(f"d{n}", f"text {n}") for n in range(first, first + count)])
    left = await library.vectors.unplaced(MODEL, 0, count)
    made = rows(count, seed)
    await library.vectors.place(
        MODEL, {each.key: made[place].tobytes() for place, each in enumerate(left)}
    )
    return [each.key for each in left]


async def found(library: Library, wanted: bytes, most: int = 10) -> list[int]:
    return [match.key for match in await library.search.by_meaning(MINE, MODEL, wanted, most)]


def places(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "vectors").rglob("*") if path.is_file()]


async def test_an_index_finds_nearly_what_comparing_all_finds(
    library: Library, tmp_path: Path
) -> None:
    keys = await filled(library, 0, COUNT)
    questions = rows(20, seed=2)
    exact = [await found(library, question.tobytes()) for question in questions]

    await library.vectors.settle(MODEL, LATER)
    quick = [await found(library, question.tobytes()) for question in questions]

    assert [path.name for path in places(tmp_path) if path.name.startswith("graph-")] == [
        f"graph-{COUNT}"
    ]
    same = sum(len(set(one) & set(other)) for one, other in zip(exact, quick, strict=True))
    assert same >= 0.9 * 10 * len(questions)
    assert [await found(library, rows(COUNT)[n].tobytes(), 1) for n in (0, 9)] == [
        [keys[0]],
        [keys[9]],
    ]


async def test_what_comes_after_an_index_is_found_too(library: Library) -> None:
    await filled(library, 0, COUNT)
    await library.vectors.settle(MODEL, LATER)

    later = await filled(library, COUNT, 50, seed=3)

    assert await found(library, rows(50, seed=3)[7].tobytes(), 1) == [later[7]]


async def test_everything_can_be_found_through_an_index(library: Library) -> None:
    keys = await filled(library, 0, COUNT)
    await library.vectors.settle(MODEL, LATER)

    everything = await found(library, rows(1, seed=4)[0].tobytes(), COUNT + 10)

    assert sorted(everything) == sorted(keys)


async def test_files_that_are_gone_are_made_again(library: Library, tmp_path: Path) -> None:
    keys = await filled(library, 0, 50)
    wanted = rows(50)[3].tobytes()
    assert await found(library, wanted, 1) == [keys[3]]

    await asyncio.to_thread(shutil.rmtree, tmp_path / "vectors")

    assert await found(library, wanted, 1) == [keys[3]]


@pytest.mark.parametrize("kept", [0.5, 0.99])
@pytest.mark.parametrize("name", ["rows", "keys"])
async def test_whoever_was_killed_while_writing_leaves_nothing_wrong(
    tmp_path: Path, name: str, kept: float
) -> None:
    async with AsyncExitStack() as stack:
        library = on_sqlite(tmp_path / "junto.db", tmp_path, stack)
        keys = await filled(library, 0, 50)
        await found(library, rows(1)[0].tobytes())
    if name == "keys":
        # Rows are written first, so there may be rows without keys, and half a row.
        [path] = [path for path in places(tmp_path) if path.name == "keys"]
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * kept)])
    else:
        [path] = [path for path in places(tmp_path) if path.name == "rows"]
        path.write_bytes(path.read_bytes() + b"\0" * int(128 * kept))

    async with AsyncExitStack() as stack:
        library = on_sqlite(tmp_path / "junto.db", tmp_path, stack)
        await filled(library, 50, 1, seed=5)

        for number in (0, 25, 49):
            assert await found(library, rows(50)[number].tobytes(), 1) == [keys[number]]


async def test_what_was_deleted_goes_from_the_files_in_the_end(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        library = on_sqlite(tmp_path / "junto.db", tmp_path, stack)
        await filled(library, 0, 3000)
        await found(library, rows(1)[0].tobytes())
        before = sum(path.stat().st_size for path in places(tmp_path))
        await library.documents.forget(ME, [f"d{n}" for n in range(2500)])
        left = await filled(library, 3000, 1, seed=6)

        await library.vectors.settle(MODEL, LATER)

        assert sum(path.stat().st_size for path in places(tmp_path)) < before / 4
        assert await found(library, rows(1, seed=6)[0].tobytes(), 1) == left
        assert len(await found(library, rows(1)[0].tobytes(), 1000)) == 501


async def test_another_process_sees_a_new_generation(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        one = on_sqlite(tmp_path / "junto.db", tmp_path, stack)
        other = on_sqlite(tmp_path / "junto.db", tmp_path, stack)
        await filled(one, 0, 3000)
        wanted = rows(3000)[2999].tobytes()
        before = await found(other, wanted, 1)
        await one.documents.forget(ME, [f"d{n}" for n in range(2500)])
        await one.vectors.settle(MODEL, LATER)

        assert await found(other, wanted, 1) == before


async def test_a_database_that_is_made_anew_does_not_take_the_files_of_the_old_one(
    tmp_path: Path,
) -> None:
    for seed in (1, 2):
        async with AsyncExitStack() as stack:
            library = on_sqlite(tmp_path / "junto.db", tmp_path, stack)
            keys = await filled(library, 0, 20, seed=seed)
            assert await found(library, rows(20, seed=seed)[5].tobytes(), 1) == [keys[5]]
        for end in ("", "-wal", "-shm"):
            (tmp_path / f"junto.db{end}").unlink(missing_ok=True)


def test_products_are_the_same_without_the_quick_library(monkeypatch: pytest.MonkeyPatch) -> None:
    halves, wanted = rows(5000).astype("<f2"), rows(1, seed=2)[0]
    quick = products(halves, wanted)

    monkeypatch.setitem(sys.modules, "numkong", None)

    assert np.allclose(products(halves, wanted), quick, atol=0.002)
    assert len(products(halves[:0], wanted)) == 0


def test_an_index_does_not_break_what_makes_vectors() -> None:
    """In a process of its own: the libraries of both have to get along."""
    script = (
        "from junto.storage.sqlite.graphs import _empty\n"
        "assert _empty(32) is not None\n"
        "import onnxruntime, numkong\n"
    )

    subprocess.run([sys.executable, "-c", script], check=True)


async def test_a_model_that_comes_back_begins_anew(library: Library, tmp_path: Path) -> None:
    other = Model("other", 32)
    for model in (MODEL, other, MODEL):
        if model is other or not await library.documents.find(ME, "d0"):
            await library.documents.keep([entry(f"d{n}", f"text {n}") for n in range(20)])
        left = await library.vectors.unplaced(model, 0, 20)
        made = rows(20)
        await library.vectors.place(
            model, {each.key: made[place].tobytes() for place, each in enumerate(left)}
        )
        await library.vectors.settle(model, LATER)
        matches = await library.search.by_meaning(MINE, model, made[3].tobytes(), 100)

        assert len(left) == len(matches) == 20
        assert matches[0].key == left[3].key
        assert len(list((tmp_path / "vectors").iterdir())) == 1


async def test_an_index_that_knows_more_than_this_process_is_used_as_far_as_it_goes(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        one = on_sqlite(tmp_path / "junto.db", tmp_path, stack, exact_up_to=100)
        other = on_sqlite(tmp_path / "junto.db", tmp_path, stack, exact_up_to=100)
        keys = await filled(one, 0, 200)
        wanted = rows(200)[7].tobytes()
        assert await found(one, wanted, 1) == [keys[7]]
        await filled(other, 200, 300, seed=3)
        await other.vectors.settle(MODEL, LATER)
        await other.documents.forget(ME, [f"d{n}" for n in range(200, 500)])

        assert await found(one, wanted, 1) == [keys[7]]


@pytest.mark.parametrize("name", ["rows", "1"])
async def test_half_of_the_files_may_be_gone(library: Library, tmp_path: Path, name: str) -> None:
    keys = await filled(library, 0, 50)
    wanted = rows(50)[3].tobytes()
    await found(library, wanted, 1)
    [path] = list((tmp_path / "vectors").glob(f"*/{name}" if name == "1" else f"*/1/{name}"))
    await asyncio.to_thread(shutil.rmtree if path.is_dir() else Path.unlink, path)

    async with AsyncExitStack() as stack:
        fresh = on_sqlite(tmp_path / "junto.db", tmp_path, stack)
        await filled(fresh, 50, 1, seed=5)
        assert await found(fresh, wanted, 1) == [keys[3]]


async def test_a_database_from_a_backup_does_not_take_later_files(tmp_path: Path) -> None:
    async def serve(first: int, count: int, seed: int) -> list[int]:
        async with AsyncExitStack() as stack:
            library = on_sqlite(tmp_path / "junto.db", tmp_path, stack)
            keys = await filled(library, first, count, seed)
            wanted = rows(count, seed)[2].tobytes()
            assert await found(library, wanted, 1) == [keys[2]]
            return keys

    await serve(0, 10, seed=1)
    saved = (tmp_path / "junto.db").read_bytes()
    await serve(10, 10, seed=2)
    for end in ("-wal", "-shm"):
        (tmp_path / f"junto.db{end}").unlink(missing_ok=True)
    (tmp_path / "junto.db").write_bytes(saved)

    await serve(20, 10, seed=3)


async def test_files_that_cannot_be_used_are_told(library: Library, tmp_path: Path) -> None:
    await filled(library, 0, 10)
    (tmp_path / "vectors").write_text("no folder")

    with pytest.raises(InputOutputError):
        await found(library, rows(1)[0].tobytes())
