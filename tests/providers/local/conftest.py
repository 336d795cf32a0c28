"""A runtime directory whose path is short enough for sockets, and an engine in it."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from junto.providers.catalog.from_settings import EMBEDDED_CAPABILITIES
from junto.providers.http.client import Timeouts
from junto.providers.local.engine import Engine, EngineOptions
from junto.providers.local.provider import LocalProvider
from junto.providers.local.weights import Weights


@pytest.fixture
def runtime_dir() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="jt"))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    weights = Weights(tmp_path / "weights")
    if not weights.is_present():
        pytest.skip("the embedded model's weights are not installed: make test installs them")
    return weights


@dataclass
class LocalModel:
    """The embedded model and the engines that run it."""

    provider: LocalProvider
    engines: list[Engine]

    @property
    def engine(self) -> Engine:
        return self.engines[0]


@pytest.fixture
async def local_model(runtime_dir: Path, weights: Weights) -> AsyncIterator[LocalModel]:
    async with open_local_model(runtime_dir, weights, context_tokens=2048) as local_model:
        yield local_model


@pytest.fixture
async def small_window_model(runtime_dir: Path, weights: Weights) -> AsyncIterator[LocalModel]:
    """A model whose context window fills up quickly, so that a test of its limit is fast."""
    async with open_local_model(runtime_dir, weights, context_tokens=512) as local_model:
        yield local_model


@asynccontextmanager
async def open_local_model(
    runtime_dir: Path, weights: Weights, context_tokens: int
) -> AsyncIterator[LocalModel]:
    engines: list[Engine] = []

    def create_engine(path: Path) -> Engine:
        options = EngineOptions(weights=path, context_tokens=context_tokens)
        engines.append(Engine.create(runtime_dir, options, idle_seconds=60))
        return engines[0]

    async with AsyncExitStack() as stack:
        yield LocalModel(
            LocalProvider(weights, create_engine, EMBEDDED_CAPABILITIES, Timeouts(), stack), engines
        )
