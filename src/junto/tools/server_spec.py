"""The whole of what a client can see and use."""

from dataclasses import dataclass

from junto.security.redaction import Redactor
from junto.tools.completions import Completions
from junto.tools.prompts import Prompts
from junto.tools.registry import Registry
from junto.tools.resources import Resources
from junto.tools.tasks import Tasks

# Claude Code cuts instructions at this length.
_MAX_INSTRUCTIONS_CHARS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """A server's name and everything it offers."""

    name: str
    title: str
    version: str
    description: str
    instructions: str
    tools: Registry
    resources: Resources
    prompts: Prompts
    completions: Completions
    redactor: Redactor
    tasks: Tasks | None = None

    def __post_init__(self) -> None:
        if not (self.name and self.version):
            raise ValueError("a server needs a name and a version")
        if len(self.instructions) > _MAX_INSTRUCTIONS_CHARS:
            raise ValueError(f"instructions are cut at {_MAX_INSTRUCTIONS_CHARS} characters")
