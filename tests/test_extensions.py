"""A provider and a tool are one file each: add one, and it appears wherever it should.

Each file is added to the package where Junto finds the others, in a process of its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import HANDSHAKE, TIMEOUT_SECONDS, clean_environment, http_server, stdio_server
from tests.fake_model_server import FakeModelServer, fake_model_server

ROOT = Path(__file__).parents[1]
PROVIDER = """
from junto.provider_specs.spec import ProviderSpec

SPEC = ProviderSpec(
    name="acme",
    title="Acme",
    description="Acme's models are available once its key is set.",
    priority=1,
    base_url="https://api.acme.test/v1",
    variables={"ACME_API_KEY": "api_key"},
    key_prefix="acme-",
    key_header="x-acme-key",
    models={"acme-large": "the large one"},
)
"""
TOOL = """
from junto.settings.enums import ToolAccess
from junto.tools.base import Arguments, Result
from junto.tools.tool import READ_ONLY_HINTS, Group, Tool


class RollArguments(Arguments):
    sides: int = 6


class RollResult(Result):
    rolled: int

    def text(self) -> str:
        return f"rolled {self.rolled}"


def build_tools(services):
    async def run(arguments, call):
        return RollResult(rolled=arguments.sides)

    for name, access in (("roll_dice", ToolAccess.NONE), ("throw_dice", ToolAccess.ALL)):
        yield Tool(
            name=name,
            title="Roll dice",
            description="Roll a die.",
            group=Group.KIT,
            arguments=RollArguments,
            result=RollResult,
            run=run,
            hints=READ_ONLY_HINTS,
            access=access,
            instructions=f"{name} rolls a die.",
            for_agent=True,
        )
"""
# Adds a directory to the package `argv[1]`, then runs the command that follows.
JUNTO = """
import importlib, sys
package, directory = sys.argv[1:3]
importlib.import_module(package).__path__.append(directory)
sys.argv[1:3] = []
from junto.cli import main
main()
"""
GENERATE = """
import importlib, json, sys
package, directory = sys.argv[1:3]
importlib.import_module(package).__path__.append(directory)
from scripts.docs.__main__ import GENERATED_FILES
print(json.dumps({str(path): build() for path, build in GENERATED_FILES.items()}))
"""
PROVIDERS, TOOLS = "junto.provider_specs.builtin", "junto.tools.builtin"


@pytest.fixture
def provider_dir(tmp_path: Path) -> Path:
    return _write_module(tmp_path, "acme.py", PROVIDER)


@pytest.fixture
def tool_dir(tmp_path: Path) -> Path:
    return _write_module(tmp_path, "dice.py", TOOL)


@pytest.fixture(scope="module")
def model_server() -> Iterator[FakeModelServer]:
    with fake_model_server() as server:
        yield server


def _write_module(tmp_path: Path, name: str, source: str) -> Path:
    directory = tmp_path / "extension"
    directory.mkdir()
    (directory / name).write_text(source)
    return directory


def _run(
    words: list[str], environment: dict[str, str], working_dir: Path
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        words,
        env=environment,
        cwd=working_dir,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def _junto(package: str, directory: Path, *words: str) -> list[str]:
    return [sys.executable, "-c", JUNTO, package, str(directory), *words]


def _generate(package: str, directory: Path) -> dict[str, str]:
    command = [sys.executable, "-c", GENERATE, package, str(directory)]
    done = _run(command, dict(os.environ), ROOT)
    assert done.returncode == 0, done.stderr
    files: dict[str, str] = json.loads(done.stdout)
    return files


def test_one_file_adds_a_provider(
    provider_dir: Path, model_server: FakeModelServer, tmp_path: Path
) -> None:
    environment = clean_environment(
        tmp_path, ACME_API_KEY="acme-1", JUNTO_PROVIDERS_ACME_BASE_URL=f"{model_server.url}/v1"
    )

    def junto(*words: str, **variables: str) -> str:
        command = _junto(PROVIDERS, provider_dir, *words)
        done = _run(command, {**environment, **variables}, tmp_path)
        return done.stdout + done.stderr

    models = json.loads(junto("models", "--json"))
    assert (models[0]["id"], models[0]["provider"]) == ("acme-large", "acme")
    assert models[0]["description"] == "the large one"
    assert "hello" in junto("chat", "--model", "acme-large", "say hello")
    assert "ACME_API_KEY" in junto("config", "show")
    assert "looks like one of acme" in junto("doctor", OPENAI_API_KEY="acme-2")
    assert "acme has no key" in junto(
        "doctor", ACME_API_KEY="", JUNTO_KNOWLEDGE_EMBEDDINGS="acme/embed"
    )
    junto("install", "codex", "gemini")
    assert "ACME_API_KEY" in (tmp_path / ".codex" / "config.toml").read_text()
    assert "ACME_API_KEY" in (tmp_path / ".gemini" / "settings.json").read_text()


def test_an_added_provider_is_documented_and_offered_by_the_bundle(provider_dir: Path) -> None:
    files = _generate(PROVIDERS, provider_dir)

    assert "`providers.acme.api_key`" in files["docs/reference/settings.md"]
    assert "`ACME_API_KEY`" in files["docs/reference/settings.md"]
    manifest = json.loads(files["deploy/bundle/manifest.json"])
    assert manifest["user_config"]["acme_api_key"]["title"] == "Acme API key"
    assert manifest["server"]["mcp_config"]["env"]["ACME_API_KEY"] == "${user_config.acme_api_key}"
    assert "ACME_API_KEY" in files["server.json"]


def _names(listed: Any) -> set[str]:
    return {tool["name"] for tool in listed["result"]["tools"]}


def test_one_file_adds_a_tool(
    tool_dir: Path, model_server: FakeModelServer, tmp_path: Path
) -> None:
    model = {"id": "m", "baseUrl": f"{model_server.url}/v1", "apiKey": "k"}
    environment = clean_environment(tmp_path, JUNTO_MODELS=json.dumps([model]))

    with stdio_server(_junto(TOOLS, tool_dir, "mcp"), environment, tmp_path) as client:
        greeting = client.ask(1, "initialize", **HANDSHAKE)
        listed = client.ask(2, "tools/list")
        call = client.ask(3, "tools/call", name="roll_dice", arguments={"sides": 20})
        client.ask(4, "tools/call", name="chat", arguments={"message": "hi", "tools": True})

    assert {"roll_dice", "throw_dice"} <= _names(listed)
    assert "roll_dice rolls a die." in greeting["result"]["instructions"]
    assert call["result"]["structuredContent"] == {"rolled": 20}
    assert call["result"]["content"] == [{"type": "text", "text": "rolled 20"}]
    offered = {tool["function"]["name"] for tool in model_server.bodies[-1]["tools"]}
    assert "roll_dice" in offered  # to the model that answers


def test_an_added_tool_can_be_disabled_and_needs_the_access_it_declares(
    tool_dir: Path, tmp_path: Path
) -> None:
    environment = clean_environment(tmp_path, JUNTO_TOOLS_DISABLED="roll_dice")
    with stdio_server(_junto(TOOLS, tool_dir, "mcp"), environment, tmp_path) as client:
        assert _names(client.ask(1, "tools/list")) & {"roll_dice", "throw_dice"} == {"throw_dice"}

    command = _junto(TOOLS, tool_dir, "serve", "--port", "0")
    with http_server(command, clean_environment(tmp_path), tmp_path) as (http, _process):
        listed = http.legacy("tools/list").json()
    assert _names(listed) & {"roll_dice", "throw_dice"} == {"roll_dice"}


def test_an_added_tool_is_documented_and_named_by_the_bundle(tool_dir: Path) -> None:
    files = _generate(TOOLS, tool_dir)

    assert "### `roll_dice`" in files["docs/reference/tools.md"]
    manifest = json.loads(files["deploy/bundle/manifest.json"])
    assert {"name": "roll_dice", "description": "Roll dice"} in manifest["tools"]
