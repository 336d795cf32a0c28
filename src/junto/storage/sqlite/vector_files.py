"""Vectors in SQLite: the truth is in the database, and what is searched are files made from it.

Beside the database lies a folder for each model, named by a token that only this database knows:

    lock, making    held by whoever adds rows, and by whoever makes an index
    current         the name of the generation in use
    N/rows          the vectors, one after the other, as numbers of two bytes
    N/keys          for each the key of the vector and that of its passage, written after the rows
    N/graph-ROWS    an index of the first so many rows, for where there are very many

Files only grow, and every process maps them, so that a vector is in memory once. What is deleted in
the database stays in the files, is not found there any more, and goes with the next generation.
"""

import contextlib
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from junto.domain.documents import Model
from junto.security.folders import private_folder
from junto.security.locks import alone_in_thread
from junto.storage.sqlite.graphs import Graph

Halves = NDArray[np.float16]
Floats = NDArray[np.float32]

_PAIR, _NUMBER = 16, 2
_AT_ONCE = 4096
_NEAREST = 400
# A new generation is written when so much of the files is of no use any more.
_STALE, _FEW = 0.3, 1000
_NEW = "SELECT key, passage, vector FROM vectors WHERE embedder = ? AND key > ? ORDER BY key"


@dataclass(frozen=True, slots=True)
class _Mapped:
    """A generation's files as they were when somebody looked."""

    place: Path
    rows: Halves
    keys: NDArray[np.int64]

    @property
    def last(self) -> int:
        return int(self.keys[-1, 0]) if len(self.keys) else 0


@dataclass(eq=False, slots=True)
class VectorFiles:
    """The files of one database, as this process uses them."""

    folder: Path
    exact_up_to: int
    _mapped: dict[str, _Mapped] = field(default_factory=dict, init=False)
    _graphs: dict[Path, Graph] = field(default_factory=dict, init=False)
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock, init=False)
    _closing: threading.Event = field(default_factory=threading.Event, init=False)

    def nearest(
        self, db: sqlite3.Connection, model: Model, vector: bytes
    ) -> Iterator[tuple[int, float]]:
        """Yield passages and their cosines, the nearest first; some may be gone."""
        found = embedder(db, model)
        if found is None:
            return
        mapped = self._current(db, found)
        wanted = np.frombuffer(vector, "<f4")
        seen: set[int] = set()
        if graph := self._graph(mapped):
            scores, numbers = graph.nearest(mapped.rows, wanted, _NEAREST)
            for score, number in zip(scores, numbers, strict=True):
                key = int(mapped.keys[number, 1])
                seen.add(key)
                yield key, float(score)
        # The rest, or all of it: somebody may see so little of this that none of it was near.
        scores = products(mapped.rows, wanted)
        for number in _best_first(scores):
            key = int(mapped.keys[number, 1])
            if key not in seen:
                yield key, float(scores[number])

    def settle(self, db: sqlite3.Connection, model: Model) -> None:
        """Write a new generation if much is gone, and an index if there is very much."""
        self._sweep(db)
        found = embedder(db, model)
        if found is None:
            return
        mapped = self._current(db, found)
        count = "SELECT count(*) FROM vectors WHERE embedder = ?"
        alive = int(db.execute(count, (found["key"],)).fetchone()[0])
        if len(mapped.keys) - alive > max(_FEW, _STALE * len(mapped.keys)):
            mapped = self._renewed(db, found)
        if len(mapped.rows) > self.exact_up_to:
            # Under a lock of its own: it takes long, and others want to add rows meanwhile.
            with alone_in_thread(mapped.place.parent / "making"):
                Graph.made(mapped.place, mapped.rows, self._closing)

    def _sweep(self, db: sqlite3.Connection) -> None:
        """Remove the files of models that are not used any more."""
        used = {row["token"] for row in db.execute("SELECT token FROM embedders")}
        for path in self.folder.glob("*") if self.folder.is_dir() else ():
            if path.name not in used:
                shutil.rmtree(path, ignore_errors=True)

    def close(self) -> None:
        """Stop what takes long."""
        self._closing.set()

    def _current(self, db: sqlite3.Connection, found: sqlite3.Row) -> _Mapped:
        """Return the files with everything in them that the database has now."""
        latest = "SELECT max(key) FROM vectors WHERE embedder = ?"
        last = int(db.execute(latest, (found["key"],)).fetchone()[0] or 0)
        with self._one_at_a_time:
            mapped = self._mapped.get(found["token"])
            if mapped and mapped.last >= last and mapped.place.exists():
                return mapped
            home = private_folder(private_folder(self.folder) / found["token"])
            with alone_in_thread(home / "lock"):
                place = _generation(home, db, found)
                _catch_up(db, found, place)
                _name(home, place)
                mapped = self._mapped[found["token"]] = _map(place, found["dimension"])
            return mapped

    def _renewed(self, db: sqlite3.Connection, found: sqlite3.Row) -> _Mapped:
        with self._one_at_a_time:
            home = self.folder / found["token"]
            with alone_in_thread(home / "lock"):
                place = _begun(home)
                _catch_up(db, found, place)
                _name(home, place)
                _forget_others(home, place)
                mapped = self._mapped[found["token"]] = _map(place, found["dimension"])
            self._graphs.clear()
            return mapped

    def _graph(self, mapped: _Mapped) -> Graph | None:
        if len(mapped.rows) <= self.exact_up_to:
            return None
        with self._one_at_a_time:
            known = self._graphs.get(mapped.place)
            newest = Graph.newest(mapped.place, mapped.rows.shape[1], known)
            if newest:
                self._graphs[mapped.place] = newest
            return newest


def shortened(vector: bytes) -> bytes:
    """Return a vector as the database keeps it: two bytes for each number tell enough."""
    return np.frombuffer(vector, "<f4").astype("<f2").tobytes()


def embedder(db: sqlite3.Connection, model: Model) -> sqlite3.Row | None:
    """Return the row of a model, if it has made any vectors."""
    found: sqlite3.Row | None = db.execute(
        "SELECT * FROM embedders WHERE name = ? AND dimension = ?", (model.name, model.dimension)
    ).fetchone()
    return found


def products(rows: Halves, wanted: Floats) -> Floats:
    """Return the product of each row with a vector."""
    try:
        from numkong import cdist
    except ImportError:  # slower, and the same
        blocks = range(0, len(rows), _AT_ONCE)
        parts = [rows[start : start + _AT_ONCE].astype("<f4") @ wanted for start in blocks]
        return np.concatenate([np.zeros(0, "<f4"), *parts])
    if not len(rows):
        return np.zeros(0, "<f4")
    made: Floats = np.asarray(cdist(wanted.astype("<f2").reshape(1, -1), rows, metric="dot"))[0]
    return made


def _best_first(scores: Floats) -> Iterator[int]:
    """Yield the numbers of rows in the order of their scores; most want only the first few."""
    count = min(_NEAREST, len(scores))
    if not count:
        return
    split = len(scores) - count
    order = np.argpartition(scores, split)
    best = order[split:]
    yield from (int(number) for number in best[np.argsort(-scores[best], kind="stable")])
    rest = order[:split]
    yield from (int(number) for number in rest[np.argsort(-scores[rest], kind="stable")])


def _generation(home: Path, db: sqlite3.Connection, found: sqlite3.Row) -> Path:
    """Return the folder in use, or a new one if there is none of use; under the lock."""
    with contextlib.suppress(FileNotFoundError):
        place = home / (home / "current").read_text()
        if place.name.isdecimal() and place.parent == home and _is_sound(place, db, found):
            return place
    return _begun(home)


def _begun(home: Path) -> Path:
    """Return a new folder; an older one stays until nobody has its files open."""
    numbers = [int(path.name) for path in home.iterdir() if path.name.isdecimal()]
    place = home / str(max(numbers, default=0) + 1)
    place.mkdir(mode=0o700)
    return place


def _is_sound(place: Path, db: sqlite3.Connection, found: sqlite3.Row) -> bool:
    """Tell whether files are whole, and of this database as it is now, not of a later state."""
    width = found["dimension"] * _NUMBER
    try:
        with (place / "rows").open("rb") as rows, (place / "keys").open("rb") as keys:
            number = keys.seek(0, os.SEEK_END) // _PAIR
            if not number:
                return True
            if rows.seek(0, os.SEEK_END) < number * width:
                return False
            keys.seek((number - 1) * _PAIR)
            rows.seek((number - 1) * width)
            key, passage = np.frombuffer(keys.read(_PAIR), "<i8")
            last = rows.read(width)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False
    row = db.execute("SELECT * FROM vectors WHERE key = ?", (int(key),)).fetchone()
    if row:
        return bool(row["passage"] == passage and row["vector"] == last)
    highest = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'vectors'").fetchone()
    return bool(highest and highest["seq"] >= key)


def _name(home: Path, place: Path) -> None:
    written = home / "next"
    written.write_text(place.name)
    written.rename(home / "current")


def _forget_others(home: Path, place: Path) -> None:
    """Remove older generations; whoever has them mapped has them until they look again."""
    for path in home.iterdir():
        if path.is_dir() and path != place:
            shutil.rmtree(path, ignore_errors=True)


def _catch_up(db: sqlite3.Connection, found: sqlite3.Row, place: Path) -> None:
    """Add what the database has and the files have not; under the lock."""
    dimension = found["dimension"]
    with (place / "rows").open("ab") as rows, (place / "keys").open("a+b") as keys:
        number, width = keys.tell() // _PAIR, dimension * _NUMBER
        # Whoever was killed on the way has left the end of one or the other.
        keys.truncate(number * _PAIR)
        rows.truncate(number * width)
        keys.seek(max(0, number * _PAIR - _PAIR))
        last = int.from_bytes(keys.read(8), "little") if number else 0
        keys.seek(0, os.SEEK_END)
        new = db.execute(_NEW, (found["key"], last))
        while some := new.fetchmany(_AT_ONCE):
            rows.write(b"".join(row["vector"] for row in some))
            rows.flush()
            os.fsync(rows.fileno())
            pairs: list[Any] = [(row["key"], row["passage"]) for row in some]
            keys.write(np.array(pairs, "<i8").tobytes())
            keys.flush()
            os.fsync(keys.fileno())


def _map(place: Path, dimension: int) -> _Mapped:
    number = (place / "keys").stat().st_size // _PAIR
    if not number:
        return _Mapped(place, np.zeros((0, dimension), "<f2"), np.zeros((0, 2), "<i8"))
    return _Mapped(
        place,
        np.memmap(place / "rows", "<f2", "r", shape=(number, dimension)),
        np.memmap(place / "keys", "<i8", "r", shape=(number, 2)),
    )
