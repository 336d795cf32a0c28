"""The MCP server that a run of Claude Code gets: the tools that are exposed to it."""

from typing import Any

from mcp.server.lowlevel import Server

from junto.security.redaction import Redactor
from junto.tools.completions import Completions
from junto.tools.prompts import Prompts
from junto.tools.registry import Registry
from junto.tools.resources import Resources
from junto.tools.server_spec import ServerSpec
from junto.transport.protocol import build_mcp_server
from junto.version import __version__


def build_agent_server(tools: Registry, redactor: Redactor) -> Server[Any]:
    """Return an MCP server with these tools only."""
    prompts = Prompts(())
    return build_mcp_server(
        ServerSpec(
            name="junto",
            title="Junto",
            version=__version__,
            description="Other models to ask.",
            instructions="chat asks another model; list_models shows which there are.",
            tools=tools,
            resources=Resources((), ()),
            prompts=prompts,
            completions=Completions({}, prompts),
            redactor=redactor,
        )
    )
