"""Vector files for search, derived from the vectors in a SQLite database.

The database is authoritative. Beside it is a directory per embedding model, named by a random token
from the database:

    lock, making    lock files, held while appending rows and while building an index
    current         the name of the generation in use
    N/rows          the vectors as consecutive float16 components
    N/keys          the keys of each vector and its passage, written after the rows
    N/graph-ROWS    an index of the first ROWS rows, if there are very many

Files only grow, and all processes map them, so that a vector is in memory once. Rows deleted in the
database stay in the files, are filtered out of results, and are dropped by the next generation.
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

from junto.domain.documents import EmbeddingModel
from junto.security.file_locks import hold_lock_blocking
from junto.security.private_dirs import ensure_private_dir
from junto.storage.sqlite.ann_index import AnnIndex, FloatArray, HalfArray

_KEY_PAIR_BYTES, _COMPONENT_BYTES = 16, 2
_BATCH_ROWS = 4096
_MAX_NEAREST = 400
# A new generation is written when more rows than this are stale.
_MAX_STALE_SHARE, _MIN_STALE_ROWS = 0.3, 1000
_SELECT_NEW_VECTORS = (
    "SELECT key, passage, vector FROM vectors WHERE embedder = ? AND key > ? ORDER BY key"
)


@dataclass(frozen=True, slots=True)
class _MappedVectors:
    """The memory-mapped files of a generation, as they were when mapped."""

    directory: Path
    rows: HalfArray
    keys: NDArray[np.int64]

    @property
    def last_key(self) -> int:
        return int(self.keys[-1, 0]) if len(self.keys) else 0


@dataclass(eq=False, slots=True)
class VectorFiles:
    """The vector files of one database, as this process has mapped them."""

    directory: Path
    max_exact_rows: int
    _mappings: dict[str, _MappedVectors] = field(default_factory=dict, init=False)
    _indexes: dict[Path, AnnIndex] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _stop: threading.Event = field(default_factory=threading.Event, init=False)

    def iter_nearest(
        self, db: sqlite3.Connection, model: EmbeddingModel, vector: bytes
    ) -> Iterator[tuple[int, float]]:
        """Yield passage keys and cosines, nearest first; some passages may be deleted already."""
        embedder = find_embedder(db, model)
        if embedder is None:
            return
        mapped = self._load_current(db, embedder)
        query = np.frombuffer(vector, "<f4")
        seen: set[int] = set()
        if index := self._open_index(mapped):
            scores, numbers = index.search(mapped.rows, query, _MAX_NEAREST)
            for score, number in zip(scores, numbers, strict=True):
                key = int(mapped.keys[number, 1])
                seen.add(key)
                yield key, float(score)
        # Then all other rows: the caller may have access to none of the nearest passages.
        scores = compute_dot_products(mapped.rows, query)
        for number in _iter_best_first(scores):
            key = int(mapped.keys[number, 1])
            if key not in seen:
                yield key, float(scores[number])

    def optimize(self, db: sqlite3.Connection, model: EmbeddingModel) -> None:
        """Write a new generation if many rows are stale, and an index if there are very many."""
        self._delete_unused(db)
        embedder = find_embedder(db, model)
        if embedder is None:
            return
        mapped = self._load_current(db, embedder)
        sql = "SELECT count(*) FROM vectors WHERE embedder = ?"
        live_rows = int(db.execute(sql, (embedder["key"],)).fetchone()[0])
        stale_rows = len(mapped.keys) - live_rows
        if stale_rows > max(_MIN_STALE_ROWS, _MAX_STALE_SHARE * len(mapped.keys)):
            mapped = self._rebuild(db, embedder)
        if len(mapped.rows) > self.max_exact_rows:
            # A separate lock: building takes long, and other processes append rows meanwhile.
            with hold_lock_blocking(mapped.directory.parent / "making"):
                AnnIndex.build(mapped.directory, mapped.rows, self._stop)

    def _delete_unused(self, db: sqlite3.Connection) -> None:
        """Delete the files of models that are no longer in the database."""
        used = {row["token"] for row in db.execute("SELECT token FROM embedders")}
        for path in self.directory.glob("*") if self.directory.is_dir() else ():
            if path.name not in used:
                shutil.rmtree(path, ignore_errors=True)

    def close(self) -> None:
        """Stop a running index build."""
        self._stop.set()

    def _load_current(self, db: sqlite3.Connection, embedder: sqlite3.Row) -> _MappedVectors:
        """Return the mapped files, with all vectors that are in the database now."""
        sql = "SELECT max(key) FROM vectors WHERE embedder = ?"
        last_key = int(db.execute(sql, (embedder["key"],)).fetchone()[0] or 0)
        with self._lock:
            mapped = self._mappings.get(embedder["token"])
            if mapped and mapped.last_key >= last_key and mapped.directory.exists():
                return mapped
            model_dir = ensure_private_dir(ensure_private_dir(self.directory) / embedder["token"])
            with hold_lock_blocking(model_dir / "lock"):
                generation = _find_generation(model_dir, db, embedder)
                _append_missing(db, embedder, generation)
                _set_current(model_dir, generation)
                mapped = self._mappings[embedder["token"]] = _map_files(
                    generation, embedder["dimension"]
                )
            return mapped

    def _rebuild(self, db: sqlite3.Connection, embedder: sqlite3.Row) -> _MappedVectors:
        with self._lock:
            model_dir = self.directory / embedder["token"]
            with hold_lock_blocking(model_dir / "lock"):
                generation = _create_generation(model_dir)
                _append_missing(db, embedder, generation)
                _set_current(model_dir, generation)
                _delete_other_generations(model_dir, generation)
                mapped = self._mappings[embedder["token"]] = _map_files(
                    generation, embedder["dimension"]
                )
            self._indexes.clear()
            return mapped

    def _open_index(self, mapped: _MappedVectors) -> AnnIndex | None:
        if len(mapped.rows) <= self.max_exact_rows:
            return None
        with self._lock:
            current = self._indexes.get(mapped.directory)
            latest = AnnIndex.open_latest(mapped.directory, mapped.rows.shape[1], current)
            if latest:
                self._indexes[mapped.directory] = latest
            return latest


def to_half_precision(vector: bytes) -> bytes:
    """Return a vector as the database stores it: float16, which is precise enough for search."""
    return np.frombuffer(vector, "<f4").astype("<f2").tobytes()


def find_embedder(db: sqlite3.Connection, model: EmbeddingModel) -> sqlite3.Row | None:
    """Return the row of a model, or None if it has no vectors."""
    row: sqlite3.Row | None = db.execute(
        "SELECT * FROM embedders WHERE name = ? AND dimension = ?", (model.name, model.dimension)
    ).fetchone()
    return row


def compute_dot_products(rows: HalfArray, query: FloatArray) -> FloatArray:
    """Return the dot product of each row with a vector."""
    try:
        from numkong import cdist
    except ImportError:  # NumPy gives the same result, slower
        starts = range(0, len(rows), _BATCH_ROWS)
        parts = [rows[start : start + _BATCH_ROWS].astype("<f4") @ query for start in starts]
        return np.concatenate([np.zeros(0, "<f4"), *parts])
    if not len(rows):
        return np.zeros(0, "<f4")
    query_row = query.astype("<f2").reshape(1, -1)
    products: FloatArray = np.asarray(cdist(query_row, rows, metric="dot"))[0]
    return products


def _iter_best_first(scores: FloatArray) -> Iterator[int]:
    """Yield row numbers by descending score.

    Only the best are sorted at first, because most callers stop after a few.
    """
    count = min(_MAX_NEAREST, len(scores))
    if not count:
        return
    split = len(scores) - count
    order = np.argpartition(scores, split)
    best = order[split:]
    yield from (int(number) for number in best[np.argsort(-scores[best], kind="stable")])
    rest = order[:split]
    yield from (int(number) for number in rest[np.argsort(-scores[rest], kind="stable")])


def _find_generation(model_dir: Path, db: sqlite3.Connection, embedder: sqlite3.Row) -> Path:
    """Return the current generation, or a new one if it is not usable. Requires the lock."""
    with contextlib.suppress(FileNotFoundError):
        directory = model_dir / (model_dir / "current").read_text()
        if (
            directory.name.isdecimal()
            and directory.parent == model_dir
            and _is_valid_generation(directory, db, embedder)
        ):
            return directory
    return _create_generation(model_dir)


def _create_generation(model_dir: Path) -> Path:
    """Return the directory of a new generation; older ones stay, because they may be mapped."""
    numbers = [int(path.name) for path in model_dir.iterdir() if path.name.isdecimal()]
    directory = model_dir / str(max(numbers, default=0) + 1)
    directory.mkdir(mode=0o700)
    return directory


def _is_valid_generation(directory: Path, db: sqlite3.Connection, embedder: sqlite3.Row) -> bool:
    """Return whether files are complete and match the database.

    They do not match if the database was restored to an older state.
    """
    row_bytes = embedder["dimension"] * _COMPONENT_BYTES
    try:
        with (directory / "rows").open("rb") as rows, (directory / "keys").open("rb") as keys:
            row_count = keys.seek(0, os.SEEK_END) // _KEY_PAIR_BYTES
            if not row_count:
                return True
            if rows.seek(0, os.SEEK_END) < row_count * row_bytes:
                return False
            keys.seek((row_count - 1) * _KEY_PAIR_BYTES)
            rows.seek((row_count - 1) * row_bytes)
            key, passage = np.frombuffer(keys.read(_KEY_PAIR_BYTES), "<i8")
            last_vector = rows.read(row_bytes)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False
    row = db.execute("SELECT * FROM vectors WHERE key = ?", (int(key),)).fetchone()
    if row:
        return bool(row["passage"] == passage and row["vector"] == last_vector)
    sequence = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'vectors'").fetchone()
    return bool(sequence and sequence["seq"] >= key)


def _set_current(model_dir: Path, directory: Path) -> None:
    unfinished = model_dir / "next"
    unfinished.write_text(directory.name)
    unfinished.rename(model_dir / "current")


def _delete_other_generations(model_dir: Path, directory: Path) -> None:
    """Delete other generations; processes that have them mapped can still read them."""
    for path in model_dir.iterdir():
        if path.is_dir() and path != directory:
            shutil.rmtree(path, ignore_errors=True)


def _append_missing(db: sqlite3.Connection, embedder: sqlite3.Row, directory: Path) -> None:
    """Append the vectors that the database has and the files do not. Requires the lock."""
    row_bytes = embedder["dimension"] * _COMPONENT_BYTES
    with (directory / "rows").open("ab") as rows, (directory / "keys").open("a+b") as keys:
        row_count = keys.tell() // _KEY_PAIR_BYTES
        # A process that was killed while appending may have left an incomplete end.
        keys.truncate(row_count * _KEY_PAIR_BYTES)
        rows.truncate(row_count * row_bytes)
        keys.seek(max(0, row_count * _KEY_PAIR_BYTES - _KEY_PAIR_BYTES))
        last_key = int.from_bytes(keys.read(8), "little") if row_count else 0
        keys.seek(0, os.SEEK_END)
        cursor = db.execute(_SELECT_NEW_VECTORS, (embedder["key"], last_key))
        while batch := cursor.fetchmany(_BATCH_ROWS):
            rows.write(b"".join(row["vector"] for row in batch))
            rows.flush()
            os.fsync(rows.fileno())
            pairs: list[Any] = [(row["key"], row["passage"]) for row in batch]
            keys.write(np.array(pairs, "<i8").tobytes())
            keys.flush()
            os.fsync(keys.fileno())


def _map_files(directory: Path, dimension: int) -> _MappedVectors:
    row_count = (directory / "keys").stat().st_size // _KEY_PAIR_BYTES
    if not row_count:
        return _MappedVectors(directory, np.zeros((0, dimension), "<f2"), np.zeros((0, 2), "<i8"))
    return _MappedVectors(
        directory,
        np.memmap(directory / "rows", "<f2", "r", shape=(row_count, dimension)),
        np.memmap(directory / "keys", "<i8", "r", shape=(row_count, 2)),
    )
