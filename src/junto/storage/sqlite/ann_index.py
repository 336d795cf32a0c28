"""An index over the vectors of a file, for where looking at each of them takes too long."""

import contextlib
import importlib
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from junto.security.quiet import keep_quiet

if TYPE_CHECKING:
    from usearch.index import Index

Halves = NDArray[np.float16]
Floats = NDArray[np.float32]

_PREFIX = "graph-"
_AT_ONCE = 2000
# So much of a file may be without an index before a new one is made.
_REST = 0.2


@dataclass(frozen=True, slots=True)
class Graph:
    """An index of the first rows of a file, which is mapped like the file itself."""

    covered: int
    _index: "Index"

    @classmethod
    def newest(cls, place: Path, dimension: int, known: "Graph | None") -> "Graph | None":
        """Return the index that covers most; `known` if there is no newer one."""
        covered = max((_covered(path) for path in place.glob(f"{_PREFIX}*")), default=0)
        if not covered:
            return None
        if known and known.covered >= covered:
            return known
        index = _empty(dimension)
        if index is None:
            return None
        try:
            index.view(str(place / f"{_PREFIX}{covered}"))
        except (RuntimeError, OSError):  # a newer one has just taken its place
            return known
        return cls(covered, index)

    @classmethod
    def made(cls, place: Path, rows: Halves, closing: threading.Event) -> None:
        """Write an index of all rows, unless there is one of nearly all; it takes a while."""
        before = [path for path in place.glob(f"{_PREFIX}*") if _covered(path)]
        covered = max(map(_covered, before), default=0)
        if len(rows) - covered <= _REST * len(rows):
            return
        index = _empty(rows.shape[1])
        if index is None:
            return
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            index.add(np.arange(start, start + len(some)), some, threads=1)
            if closing.is_set():
                return
        written = place / "making"
        index.save(str(written))
        written.rename(place / f"{_PREFIX}{len(rows)}")
        for path in before:
            path.unlink(missing_ok=True)

    def nearest(self, rows: Halves, wanted: Floats, count: int) -> tuple[Floats, Any]:
        """Return the scores and numbers of the nearest rows, those behind the index included."""
        found = self._index.search(wanted, count)
        # Another process may have added rows since ours were mapped.
        near = found.keys.astype(np.int64)
        near = near[near < len(rows)]
        numbers = np.concatenate([near, np.arange(self.covered, len(rows))])
        scores = rows[numbers].astype("<f4") @ wanted
        order = np.argsort(-scores, kind="stable")[:count]
        return scores[order], numbers[order]


def _covered(path: Path) -> int:
    number = path.name.removeprefix(_PREFIX)
    return int(number) if number.isdecimal() else 0


def _empty(dimension: int) -> "Index | None":
    # usearch lets every library that is loaded after it see the symbols of its own, and of those
    # onnxruntime, which makes vectors, does not survive that. So it comes first.
    with contextlib.suppress(ImportError):
        keep_quiet()
        importlib.import_module("onnxruntime")
    try:
        from usearch.index import Index
    except ImportError:
        return None  # comparing all of them is slower, and finds the same
    return Index(ndim=dimension, metric="ip", dtype="f16")
