"""server.json, by which the MCP registry announces Junto.

These are the rules of its schema of 2025-12-11 for what is used here; nothing else may be.
"""

import json
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from junto import __version__
from junto.settings.aliases import ALIASES
from junto.settings.leaves import leaves
from tests.deploy.recipe import ROOT

Version = Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+([-+.\w]*)$", max_length=255)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Input(Strict):
    description: str | None = None
    format: Literal["string", "number", "boolean", "filepath"] = "string"
    is_required: bool = Field(default=False, alias="isRequired")
    is_secret: bool = Field(default=False, alias="isSecret")
    default: str | None = None
    value: str | None = None


class Positional(Input):
    type: Literal["positional"]
    value: str


class Named(Input):
    type: Literal["named"]
    name: str


class Variable(Input):
    name: str


class Stdio(Strict):
    type: Literal["stdio"]


Argument = Annotated[Positional | Named, Field(discriminator="type")]


class Package(Strict):
    registry_type: Literal["pypi"] = Field(alias="registryType")
    identifier: str
    version: Version
    runtime_hint: Literal["uvx"] = Field(alias="runtimeHint")
    runtime_arguments: list[Argument] = Field(alias="runtimeArguments")
    package_arguments: list[Argument] = Field(alias="packageArguments")
    transport: Stdio
    environment_variables: list[Variable] = Field(alias="environmentVariables")


class Server(Strict):
    rules: Literal[
        "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    ] = Field(alias="$schema")
    name: str = Field(pattern=r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", min_length=3, max_length=200)
    title: str = Field(min_length=1, max_length=100)
    description: str = Field(min_length=1, max_length=100)
    version: Version
    packages: list[Package]


def _announced() -> Server:
    return Server.model_validate_json((ROOT / "server.json").read_text())


def test_it_follows_the_rules_of_the_registry() -> None:
    (package,) = _announced().packages

    assert package.identifier == "junto"
    assert [word.value for word in package.package_arguments] == ["mcp"]


def test_its_versions_are_ours() -> None:
    announced = _announced()
    (package,) = announced.packages

    assert announced.version == package.version == __version__
    assert [word.value for word in package.runtime_arguments] == [f"junto[embedded]=={__version__}"]


def test_the_readme_says_that_the_name_is_ours() -> None:
    # The registry looks for this in what PyPI shows, and believes nothing else.
    named = re.findall(r"<!-- mcp-name: (\S+) -->", (ROOT / "README.md").read_text())

    assert named == [_announced().name]


def test_its_variables_are_settings_and_secrets_are_marked() -> None:
    paths = {alias.variable: alias.path for alias in ALIASES}
    paths |= {leaf.variable: path for path, leaf in leaves().items()}
    (package,) = _announced().packages

    for variable in package.environment_variables:
        assert variable.is_secret == leaves()[paths[variable.name]].is_secret, variable.name


def test_what_it_says_is_what_the_package_says() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    announced: dict[str, Any] = json.loads((ROOT / "server.json").read_text())

    assert f'description = "{announced["description"]}"' in project
