"""Find the tools in the package `builtin`."""

import importlib
import pkgutil
from typing import Any

from junto.settings.enums import ToolAccess
from junto.tools import builtin
from junto.tools.services import ToolServices
from junto.tools.tool import Group, Tool


def build_tools(services: ToolServices, access: ToolAccess) -> list[Tool[Any]]:
    """Return the tools that a client with this access sees, group by group."""
    names = (module.name for module in pkgutil.iter_modules(builtin.__path__))
    modules = [importlib.import_module(f"{builtin.__name__}.{name}") for name in names]
    tools = [tool for module in modules for tool in module.build_tools(services)]
    groups = list(Group)
    return sorted(
        (tool for tool in tools if access.includes(tool.access)),
        key=lambda tool: groups.index(tool.group),
    )
