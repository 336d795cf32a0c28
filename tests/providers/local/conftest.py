"""A folder short enough for sockets, and an engine in it."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from junto.providers.catalog.traits import SMALL
from junto.providers.embedded.engine import Engine, EngineOptions
from junto.providers.embedded.provider import Embedded
from junto.providers.embedded.weights import Weights
from junto.providers.wiring.wire import Patience


@pytest.fixture
def runtime() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="jt"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    found = Weights(tmp_path / "weights")
    if not found.present():
        pytest.skip("the embedded model's weights are not installed: make test installs them")
    return found


@dataclass
class Bench:
    """The embedded model, and the engine that runs it."""

    model: Embedded
    engines: list[Engine]

    @property
    def engine(self) -> Engine:
        return self.engines[0]


@pytest.fixture
async def bench(runtime: Path, weights: Weights) -> AsyncIterator[Bench]:
    async with benched(runtime, weights, context=2048) as bench:
        yield bench


@pytest.fixture
async def narrow(runtime: Path, weights: Weights) -> AsyncIterator[Bench]:
    """Return one whose window is soon full, which a test of its edge need not wait for."""
    async with benched(runtime, weights, context=512) as bench:
        yield bench


@asynccontextmanager
async def benched(runtime: Path, weights: Weights, context: int) -> AsyncIterator[Bench]:
    engines: list[Engine] = []

    def engine(path: Path) -> Engine:
        options = EngineOptions(weights=path, context=context)
        engines.append(Engine.beneath(runtime, options, idle=60))
        return engines[0]

    async with AsyncExitStack() as stack:
        yield Bench(Embedded(weights, engine, SMALL, Patience(), stack), engines)
