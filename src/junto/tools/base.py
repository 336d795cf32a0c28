"""Base classes of the argument and result models of tools."""

import json
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

# Short names that models use for an argument; the first that a tool has is meant.
_SYNONYMS = {"model": ("model_id",), "id": ("conversation_id", "session_id", "job_id")}
_ID_FIELDS = frozenset({"conversation_id", "session_id", "job_id", "model_id"})


class Arguments(BaseModel):
    """Arguments of a tool: camelCase on the wire, snake_case too, nothing unknown."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        defer_build=True,  # validators are built with the first call, not at startup
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_variants(cls, values: Any) -> Any:
        """Accept short names of ids where they are unambiguous, and treat an empty id as none."""
        if not isinstance(values, dict):
            return values
        accepted: dict[Any, Any] = {}
        for name, value in values.items():
            field = name
            if name not in cls.model_fields:
                field = next(
                    (each for each in _SYNONYMS.get(name, ()) if each in cls.model_fields), name
                )
                if {field, to_camel(field)} & (values.keys() - {name}):
                    field = name
            is_id = field in _ID_FIELDS or any(to_camel(each) == field for each in _ID_FIELDS)
            if not (is_id and value == ""):
                accepted[field] = value
        return accepted


class LongRunningArguments(Arguments):
    """Arguments of a long-running tool."""

    background: bool = Field(
        default=False, description="Return a job id at once; read the result with `job`."
    )


# The key of a result's `_meta` with the small fields of a result that has no structured content.
METADATA_KEY = "junto/metadata"


class Result(BaseModel):
    """Result of a tool: structured content, and a text that stands on its own.

    Clients that get structured content show nothing else, neither to the user nor to the model, so
    a text in it arrives as one JSON string. A result that is mostly text therefore names the fields
    with the text in `text_fields`, and is sent as text, with the other fields as metadata.
    """

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, defer_build=True
    )

    text_fields: ClassVar[frozenset[str]] = frozenset()

    def text(self) -> str:
        """Return the result as text, for clients that show nothing else."""
        return json.dumps(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the result as structured content."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_wire(self, *, is_error: bool = False, json_text: bool = False) -> dict[str, Any]:
        """Return the result as the protocol sends it; with `json_text`, its text is JSON."""
        fields = self.to_dict()
        text = json.dumps(fields, ensure_ascii=False) if json_text else self.text()
        wire = {"content": [{"type": "text", "text": text}], "isError": is_error}
        if self.is_structured(json_text=json_text):
            return {**wire, "structuredContent": fields}
        metadata = {name: value for name, value in fields.items() if name not in self.text_fields}
        return {**wire, "_meta": {METADATA_KEY: metadata}}

    @classmethod
    def is_structured(cls, *, json_text: bool) -> bool:
        """Return whether the result is sent with structured content."""
        return json_text or not cls.text_fields
