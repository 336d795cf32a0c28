"""An approximate nearest neighbor index over a vector file, for files too large to scan."""

import contextlib
import importlib
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from junto.security.vendor_telemetry import disable_vendor_telemetry

if TYPE_CHECKING:
    from usearch.index import Index

HalfArray = NDArray[np.float16]
FloatArray = NDArray[np.float32]

_FILE_PREFIX = "graph-"
_BATCH_ROWS = 2000
# A new index is built when more than this share of the rows is not covered.
_MAX_UNINDEXED_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class AnnIndex:
    """An index of the first `covered_rows` rows of a vector file, memory-mapped like the file."""

    covered_rows: int
    _index: "Index"

    @classmethod
    def open_latest(
        cls, directory: Path, dimension: int, current: "AnnIndex | None"
    ) -> "AnnIndex | None":
        """Return the index that covers the most rows; `current` if there is no newer one."""
        covered = max(
            (_parse_covered_rows(path) for path in directory.glob(f"{_FILE_PREFIX}*")), default=0
        )
        if not covered:
            return None
        if current and current.covered_rows >= covered:
            return current
        index = _create_index(dimension)
        if index is None:
            return None
        try:
            index.view(str(directory / f"{_FILE_PREFIX}{covered}"))
        except (RuntimeError, OSError):  # replaced by a newer one just now
            return current
        return cls(covered, index)

    @classmethod
    def build(cls, directory: Path, rows: HalfArray, stop: threading.Event) -> None:
        """Write an index of all rows, unless one covers nearly all; takes long for many rows."""
        old = [path for path in directory.glob(f"{_FILE_PREFIX}*") if _parse_covered_rows(path)]
        covered = max(map(_parse_covered_rows, old), default=0)
        if len(rows) - covered <= _MAX_UNINDEXED_SHARE * len(rows):
            return
        index = _create_index(rows.shape[1])
        if index is None:
            return
        for start in range(0, len(rows), _BATCH_ROWS):
            batch = rows[start : start + _BATCH_ROWS]
            index.add(np.arange(start, start + len(batch)), batch, threads=1)
            if stop.is_set():
                return
        unfinished = directory / "making"
        index.save(str(unfinished))
        unfinished.rename(directory / f"{_FILE_PREFIX}{len(rows)}")
        for path in old:
            path.unlink(missing_ok=True)

    def search(self, rows: HalfArray, query: FloatArray, count: int) -> tuple[FloatArray, Any]:
        """Return the scores and numbers of the nearest rows, including rows not in the index."""
        matches = self._index.search(query, count)
        # The index may be newer than the mapped rows: another process may have added rows.
        indexed = matches.keys.astype(np.int64)
        indexed = indexed[indexed < len(rows)]
        numbers = np.concatenate([indexed, np.arange(self.covered_rows, len(rows))])
        scores = rows[numbers].astype("<f4") @ query
        order = np.argsort(-scores, kind="stable")[:count]
        return scores[order], numbers[order]


def _parse_covered_rows(path: Path) -> int:
    number = path.name.removeprefix(_FILE_PREFIX)
    return int(number) if number.isdecimal() else 0


def _create_index(dimension: int) -> "Index | None":
    # usearch exposes its symbols to every library loaded after it, and onnxruntime, which computes
    # embeddings, crashes with them. So onnxruntime is loaded first.
    with contextlib.suppress(ImportError):
        disable_vendor_telemetry()
        importlib.import_module("onnxruntime")
    try:
        from usearch.index import Index
    except ImportError:
        return None  # optional: an exact scan is slower, but finds the same
    return Index(ndim=dimension, metric="ip", dtype="f16")
