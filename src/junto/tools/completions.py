"""Completions for prompt arguments and resource template variables."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from mcp_types import CompletionArgument, PromptReference, ResourceTemplateReference

from junto.tools.prompts import Prompts

_Reference = PromptReference | ResourceTemplateReference

_MAX_VALUES = 100  # the protocol allows no more in one answer

LANGUAGES = (
    "bash", "c", "cpp", "csharp", "css", "go", "html", "java", "javascript", "json", "kotlin",
    "php", "python", "ruby", "rust", "sql", "swift", "typescript", "yaml",
)  # fmt: skip


class Completions:
    """Completes the value of an argument by its name."""

    def __init__(
        self,
        values: Mapping[str, Callable[[], Sequence[str]]],
        prompts: Prompts,
        lookups: Mapping[str, Callable[[str], Awaitable[Sequence[str]]]] | None = None,
    ) -> None:
        """Create the completions.

        Args:
            values: Functions that return all values of an argument.
            prompts: The prompts whose arguments are completed.
            lookups: Functions that look up values of an argument by the text typed so far.
        """
        self._values = values
        self._prompts = prompts
        self._lookups = lookups or {}

    async def complete(self, reference: _Reference, argument: CompletionArgument) -> dict[str, Any]:
        """Return the values that start with the typed text, then those that contain it.

        Raises:
            MCPError: the prompt does not exist.
        """
        candidates = await self._find_candidates(reference, argument)
        typed = argument.value.casefold()
        prefixed = [value for value in candidates if value.casefold().startswith(typed)]
        containing = [v for v in candidates if typed in v.casefold() and v not in prefixed]
        matches = prefixed + containing
        return {
            "completion": {
                "values": matches[:_MAX_VALUES],
                "total": len(matches),
                "hasMore": len(matches) > _MAX_VALUES,
            }
        }

    async def _find_candidates(
        self, reference: _Reference, argument: CompletionArgument
    ) -> Sequence[str]:
        name = argument.name
        if isinstance(reference, PromptReference) and name not in self._prompts.argument_names(
            reference.name
        ):
            return ()
        if name in self._lookups:
            return await self._lookups[name](argument.value)
        return self._values.get(name, tuple)()
