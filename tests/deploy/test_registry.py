"""server.json, with which Junto is published in the MCP registry.

The models cover the part of the schema of 2025-12-11 that is used here, and forbid the rest.
"""

import json
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from junto.settings.aliases import ALIASES
from junto.settings.fields import collect_fields
from junto.version import __version__
from tests.deploy.dockerfile import ROOT

Version = Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+([-+.\w]*)$", max_length=255)]


class StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Input(StrictModel):
    description: str | None = None
    format: Literal["string", "number", "boolean", "filepath"] = "string"
    is_required: bool = Field(default=False, alias="isRequired")
    is_secret: bool = Field(default=False, alias="isSecret")
    default: str | None = None
    value: str | None = None


class PositionalArgument(Input):
    type: Literal["positional"]
    value: str


class NamedArgument(Input):
    type: Literal["named"]
    name: str


class EnvironmentVariable(Input):
    name: str


class StdioTransport(StrictModel):
    type: Literal["stdio"]


Argument = Annotated[PositionalArgument | NamedArgument, Field(discriminator="type")]


class Package(StrictModel):
    registry_type: Literal["pypi"] = Field(alias="registryType")
    identifier: str
    version: Version
    runtime_hint: Literal["uvx"] = Field(alias="runtimeHint")
    runtime_arguments: list[Argument] = Field(alias="runtimeArguments")
    package_arguments: list[Argument] = Field(alias="packageArguments")
    transport: StdioTransport
    environment_variables: list[EnvironmentVariable] = Field(alias="environmentVariables")


class Server(StrictModel):
    schema_url: Literal[
        "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    ] = Field(alias="$schema")
    name: str = Field(pattern=r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", min_length=3, max_length=200)
    title: str = Field(min_length=1, max_length=100)
    description: str = Field(min_length=1, max_length=100)
    version: Version
    packages: list[Package]


def _load_server() -> Server:
    return Server.model_validate_json((ROOT / "server.json").read_text())


def test_it_follows_the_schema_of_the_registry() -> None:
    (package,) = _load_server().packages

    assert package.identifier == "junto"
    assert [argument.value for argument in package.package_arguments] == ["mcp"]


def test_its_versions_are_those_of_the_package() -> None:
    server = _load_server()
    (package,) = server.packages

    assert server.version == package.version == __version__
    assert [argument.value for argument in package.runtime_arguments] == [
        f"junto[embedded]=={__version__}"
    ]


def test_the_readme_contains_its_name() -> None:
    # The registry verifies the owner of a name by this comment in the description on PyPI.
    names = re.findall(r"<!-- mcp-name: (\S+) -->", (ROOT / "README.md").read_text())

    assert names == [_load_server().name]


def test_its_variables_are_settings_and_secrets_are_marked() -> None:
    paths = {alias.variable: alias.path for alias in ALIASES}
    paths |= {field.variable: path for path, field in collect_fields().items()}
    (package,) = _load_server().packages

    for variable in package.environment_variables:
        assert variable.is_secret == collect_fields()[paths[variable.name]].is_secret, variable.name


def test_its_description_is_that_of_the_package() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    server: dict[str, Any] = json.loads((ROOT / "server.json").read_text())

    assert f'description = "{server["description"]}"' in project
