"""Suggestions for what a user is typing into a prompt's blank or an address."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from mcp_types import CompletionArgument, PromptReference, ResourceTemplateReference

from junto.tools.prompts import Prompts

Reference = PromptReference | ResourceTemplateReference

_MOST = 100  # the protocol allows no more in one answer

LANGUAGES = (
    "bash", "c", "cpp", "csharp", "css", "go", "html", "java", "javascript", "json", "kotlin",
    "php", "python", "ruby", "rust", "sql", "swift", "typescript", "yaml",
)  # fmt: skip


class Completions:
    """Knows the possible values of an argument by its name."""

    def __init__(
        self,
        values: Mapping[str, Callable[[], Sequence[str]]],
        prompts: Prompts,
        looked_up: Mapping[str, Callable[[str], Awaitable[Sequence[str]]]] | None = None,
    ) -> None:
        """Take values that are known, and those that must be looked up by what was typed."""
        self._values = values
        self._prompts = prompts
        self._looked_up = looked_up or {}

    async def of(self, reference: Reference, argument: CompletionArgument) -> dict[str, Any]:
        """Return the values that begin with what was typed, then those with it inside.

        Raises:
            MCPError: there is no such prompt.
        """
        known = await self._known(reference, argument)
        wanted = argument.value.casefold()
        begins = [value for value in known if value.casefold().startswith(wanted)]
        inside = [v for v in known if wanted in v.casefold() and v not in begins]
        found = begins + inside
        return {
            "completion": {
                "values": found[:_MOST],
                "total": len(found),
                "hasMore": len(found) > _MOST,
            }
        }

    async def _known(self, reference: Reference, argument: CompletionArgument) -> Sequence[str]:
        name = argument.name
        if isinstance(reference, PromptReference) and name not in self._prompts.blanks(
            reference.name
        ):
            return ()
        if name in self._looked_up:
            return await self._looked_up[name](argument.value)
        return self._values.get(name, tuple)()
