"""Schemas for the entries of list settings: models, commands and MCP servers."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic.alias_generators import to_camel

from junto.domain.models import ReasoningStyle
from junto.security.commands import PositionalKind
from junto.settings.types import Dollars, Duration, NameList, UserPath


class Section(BaseModel):
    """A branch of the tree: fixed once read, and strict about names."""

    # Input values are hidden from pydantic's messages because they may be secrets. Validators are
    # built once, as part of the root model's, which halves the import time of this module.
    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True
    )


def section_field(description: str | None = None) -> Any:
    """Return a field whose value is a section, by default with all its defaults.

    The default is a dict, not an instance: an instance would need its own validator at import time.
    """
    return Field(default_factory=dict, validate_default=True, description=description)


class PriceEntry(Section):
    """What a million tokens cost, in US dollars."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    input: Dollars = Field(description="tokens that go in")
    output: Dollars = Field(description="tokens that come out")
    cache_read: Dollars | None = Field(None, description="tokens read from the provider's cache")
    cache_write: Dollars | None = Field(None, description="tokens written to it")


class CapabilityEntry(Section):
    """What a model takes, where Junto does not know or is wrong."""

    images: bool | None = None
    documents: bool | None = None
    tools: bool | None = None
    # Not named `schema`: pydantic has a deprecated method of that name.
    json_schema: bool | None = Field(None, alias="schema")
    temperature: bool | None = None
    reasoning: ReasoningStyle | None = None


class ModelEntry(Section):
    """One model that can be asked, as an operator writes it down."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    id: str = Field(
        min_length=1,
        max_length=200,
        pattern=r"^[^\x00-\x1f\x7f]+$",
        description="the name by which callers ask for it",
    )
    model_name: str | None = Field(None, description="the provider's own name, if it differs")
    provider: str = Field("openai", description="who serves it, which tells the dialect it speaks")
    base_url: str | None = Field(None, description="where it is served")
    api_key: SecretStr | None = Field(None, description="the key it wants")
    description: str | None = Field(None, description="what it is good for")
    context_window: int | None = Field(None, ge=1, description="how many tokens it can hold")
    price: PriceEntry | None = Field(None, description="what it costs, if not what is known")
    capabilities: CapabilityEntry = section_field("what it takes")
    fallback: tuple[str, ...] = Field((), description="models to ask when it cannot answer")
    requests_per_minute: int | None = Field(None, ge=1, description="instead of the limits'")
    tokens_per_minute: int | None = Field(None, ge=1, description="instead of the limits'")


class CommandEntry(Section):
    """A command that may run besides the safe ones, as an operator writes it down."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    name: str = Field(min_length=1, description="what callers call it")
    program: UserPath | None = Field(None, description="where it lies, if not where programs do")
    subcommands: NameList = Field((), description="the words of which one must come first")
    flags: NameList = Field(
        (), description="the flags it may be used with; `--depth=` takes a value"
    )
    words: PositionalKind = Field(PositionalKind.PATHS, description="what the other words may be")
    anything: bool = Field(default=False, description="whether it takes any argument at all")
    network: bool = Field(default=False, description="whether it may reach the network")
    writes: bool = Field(default=True, description="whether it may write beneath the roots")


class ServerEntry(Section):
    """Another MCP server whose tools models may use, as an operator writes it down."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,30}$", description="comes before its tools' names")
    command: str | None = Field(None, description="the program that serves on stdio")
    args: tuple[str, ...] = Field((), description="its arguments")
    environment: dict[str, SecretStr] = Field(
        default_factory=dict, description="variables that it gets besides the usual few"
    )
    url: str | None = Field(None, description="or where it serves over HTTP")
    headers: dict[str, SecretStr] = Field(
        default_factory=dict, description="headers that it wants, such as a key"
    )
    include: NameList = Field((), description="the only tools to use; all if empty")
    exclude: NameList = Field((), description="tools to leave out")
    connect: Duration = Field(10, gt=0, description="how long connecting may take")
    timeout: Duration = Field(60, gt=0, description="how long a call may take")

    @model_validator(mode="after")
    def _check_transport(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has either a command or a url")
        return self
