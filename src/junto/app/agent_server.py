"""A small Junto for the agent: our tools that ask other models, and nothing else."""

from typing import Any

from mcp.server.lowlevel import Server

from junto import __version__
from junto.security.secrets import Redactor
from junto.tools.completions import Completions
from junto.tools.prompts import Prompts
from junto.tools.registry import Registry
from junto.tools.resources import Resources
from junto.tools.surface import Surface
from junto.transport.protocol import server_of


def consulted(tools: Registry, redactor: Redactor) -> Server[Any]:
    """Return a server with these tools."""
    prompts = Prompts(())
    return server_of(
        Surface(
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
