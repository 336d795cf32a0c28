"""The MCP bundle for Claude Desktop: packed, validated by the official tool, and started."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from junto.version import __version__
from tests.clients import TIMEOUT_SECONDS, Json, clean_environment, stdio_server, tool_names
from tests.deploy.dockerfile import ROOT, SETTINGS_VARIABLES
from tests.deploy.virtual_environments import create_environment
from tests.providers.compat_servers import NODE

MCPB = NODE / "mcpb"
MANIFEST = ROOT / "deploy" / "bundle" / "manifest.json"
needs_npm = pytest.mark.skipif(not MCPB.exists(), reason="npm has not been there")
# Prints what a host would start, according to the official library.
LAUNCH_CONFIG_SCRIPT = """
import { readFileSync } from "node:fs";
import { getMcpConfigForManifest } from "@anthropic-ai/mcpb";
const [folder, chosen] = process.argv.slice(1);
const manifest = JSON.parse(readFileSync(`${folder}/manifest.json`));
const userConfig = JSON.parse(chosen);
const facts = { manifest, extensionPath: folder, systemDirs: {}, userConfig, pathSeparator: "/" };
console.log(JSON.stringify((await getMcpConfigForManifest(facts)) ?? null));
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    program = ROOT / "deploy" / "bundle" / "pack.py"
    command = [sys.executable, str(program), str(folder)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=True
    )
    assert done.stdout.strip() == str(folder / f"junto-{__version__}.mcpb")
    return Path(done.stdout.strip())


def _run_mcpb(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(MCPB), *words], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )


def _launch_config(unpacked: Path, **user_config: str) -> Json | None:
    """Return what a host starts with these choices of its user, or None."""
    words = (
        "--input-type=module",
        "--eval",
        LAUNCH_CONFIG_SCRIPT,
        str(unpacked),
        json.dumps(user_config),
    )
    done = subprocess.run(
        ["node", *words],
        cwd=NODE.parent,  # where its packages are found
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    config: Json | None = json.loads(done.stdout)
    return config


def test_the_manifest_agrees_with_the_program() -> None:
    manifest = json.loads(MANIFEST.read_text())
    config = manifest["server"]["mcp_config"]

    # Listed only if Claude Code is installed, and it is not in the bundle.
    assert {*tool_names()} - {tool["name"] for tool in manifest["tools"]} == {"claude_code_query"}
    assert manifest["tools_generated"]
    assert set(config["env"]) <= SETTINGS_VARIABLES
    for name, option in manifest["user_config"].items():
        assert f"${{user_config.{name}}}" in config["env"].values()
        assert option.get("sensitive", False) == name.endswith("_key")
        # An option with neither would reach the program as a literal `${user_config.…}`.
        assert option.get("required") or option["default"] == ""


@needs_npm
def test_the_official_validator_accepts_it(bundle: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"

    assert _run_mcpb("unpack", str(bundle), str(unpacked)).returncode == 0
    done = _run_mcpb("validate", str(unpacked / "manifest.json"))

    assert done.returncode == 0, done.stdout + done.stderr
    assert (unpacked / "server.py").is_file()
    assert f"junto-{__version__}-py3-none-any.whl" in (unpacked / "pyproject.toml").read_text()


def test_packing_is_reproducible(bundle: Path, tmp_path: Path) -> None:
    program = ROOT / "deploy" / "bundle" / "pack.py"
    subprocess.run(
        [sys.executable, str(program), str(tmp_path)], timeout=TIMEOUT_SECONDS, check=True
    )

    assert (tmp_path / bundle.name).read_bytes() == bundle.read_bytes()


@needs_npm
def test_a_host_does_not_start_it_before_a_folder_is_chosen(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(tmp_path)

    assert _launch_config(tmp_path) is None


@needs_npm
def test_a_host_starts_it_and_its_tools_stay_in_the_folder(bundle: Path, tmp_path: Path) -> None:
    unpacked, folder = tmp_path / "un packed", tmp_path / "my folder"
    folder.mkdir()
    (folder / "here.txt").write_text("found")
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(unpacked)
    config = _launch_config(unpacked, folder=str(folder))
    assert config
    virtual_environment = create_environment(next(unpacked.glob("*.whl")), tmp_path / "environment")
    # uv would download the pinned packages; here it uses the existing environment.
    variables = {
        "UV_PROJECT_ENVIRONMENT": str(virtual_environment),
        "UV_NO_SYNC": "1",
        "UV_OFFLINE": "1",
    }
    environment = clean_environment(tmp_path, **variables, **config["env"])
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])

    with stdio_server([config["command"], *config["args"]], environment, tmp_path) as client:
        listed = client.ask(1, "tools/list")["result"]["tools"]
        read = {"name": "read_file", "arguments": {"path": "here.txt"}}
        inside = client.ask(2, "tools/call", **read)["result"]
        read["arguments"] = {"path": str(unpacked / "server.py")}
        outside = client.ask(3, "tools/call", **read)["result"]
        models = client.ask(4, "tools/call", name="list_models", arguments={})["result"]

    titles = {tool["name"]: tool["title"] for tool in listed}
    declared = json.loads(MANIFEST.read_text())["tools"]
    assert {tool["name"]: tool["description"] for tool in declared}.items() <= titles.items()
    assert "found" in str(inside["content"])
    assert outside["isError"]
    # No key was given, and no placeholder of the manifest was taken for one.
    providers = {model["provider"] for model in models["structuredContent"]["models"]}
    assert providers == {"embedded"}
