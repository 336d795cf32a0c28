"""Base classes of the argument and result models of tools."""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Arguments(BaseModel):
    """Arguments of a tool: camelCase on the wire, snake_case in Python, nothing unknown."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        defer_build=True,  # validators are built with the first call, not at startup
    )


class LongRunningArguments(Arguments):
    """Arguments of a long-running tool."""

    background: bool = Field(
        default=False, description="Return a job id at once; read the result with `job`."
    )


class Result(BaseModel):
    """Result of a tool: structured content, and a text that stands on its own."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, defer_build=True
    )

    def text(self) -> str:
        """Return the result as text, for clients that show nothing else."""
        return json.dumps(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the result as structured content."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_wire(self, *, is_error: bool = False) -> dict[str, Any]:
        """Return the result as the protocol sends it."""
        return {
            "content": [{"type": "text", "text": self.text()}],
            "structuredContent": self.to_dict(),
            "isError": is_error,
        }
