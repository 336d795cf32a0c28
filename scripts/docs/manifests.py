"""Writes what server.json and the bundle's manifest say of the version, the tools and the keys."""

import json
from pathlib import Path
from typing import Any

from junto.provider_specs.registry import PROVIDER_SPECS
from junto.version import __version__
from scripts.docs.tools_page import tools

ROOT = Path(__file__).parents[2]
BUNDLE_MANIFEST = Path("deploy/bundle/manifest.json")
SERVER_JSON = Path("server.json")


def bundle_manifest() -> str:
    """Return the manifest of the bundle, with a key of every provider that takes one."""
    manifest = json.loads((ROOT / BUNDLE_MANIFEST).read_text())
    config, options = manifest["server"]["mcp_config"], manifest["user_config"]
    titles = _key_titles()
    manifest["version"] = __version__
    config["env"] = {
        **{variable: f"${{user_config.{variable.lower()}}}" for variable in titles},
        "JUNTO_TOOLS_ROOTS": "${user_config.folder}",
    }
    manifest["user_config"] = {
        "folder": options["folder"],
        **{variable.lower(): _key_option(title) for variable, title in titles.items()},
    }
    manifest["tools"] = [
        {"name": tool.name, "description": tool.title}
        for tool in tools(JUNTO_AGENT_ENABLED="false")  # Claude Code is not in the bundle
    ]
    return _dump(manifest)


def server_json() -> str:
    """Return the entry of Junto in the MCP registry."""
    server = json.loads((ROOT / SERVER_JSON).read_text())
    [package] = server["packages"]
    [extra] = package["runtimeArguments"]
    server["version"] = package["version"] = __version__
    extra["value"] = f"junto[embedded]=={__version__}"
    package["environmentVariables"] = [
        *(
            {"name": variable, "description": f"Adds the models of {title}", "isSecret": True}
            for variable, title in _key_titles().items()
        ),
        *(each for each in package["environmentVariables"] if each["name"].startswith("JUNTO_")),
    ]
    return _dump(server)


def _key_titles() -> dict[str, str]:
    return {
        variable: spec.title for spec in PROVIDER_SPECS.values() for variable in spec.key_variables
    }


def _key_option(title: str) -> dict[str, Any]:
    return {
        "type": "string",
        "title": f"{title} API key",
        "description": f"Adds the models of {title}; may stay empty",
        "sensitive": True,
        "required": False,
        "default": "",
    }


def _dump(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
