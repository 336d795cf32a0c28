"""Packages whose own `__init__` is put off until something in it is asked for."""

import sys
from importlib.util import find_spec, module_from_spec
from typing import Any

# The SDK's packages import all of their modules, client, framework and authorisation included: a
# quarter of the time that a start takes. Junto names the modules it needs, and needs few.
_WIDE = ("mcp", "mcp.server", "mcp.client")


def put_off(names: tuple[str, ...] = _WIDE) -> None:
    """Let modules of these packages be imported without what the packages import themselves."""
    for name in names:
        if name not in sys.modules:
            _put_off(name)


def _put_off(name: str) -> None:
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        return  # the import that needs it tells what is missing
    loader, package = spec.loader, module_from_spec(spec)

    def opened(attribute: str) -> Any:
        """Stand in for the package until somebody asks for more than its modules."""
        if "__getattr__" in vars(package):
            del vars(package)["__getattr__"]
            loader.exec_module(package)
        return getattr(package, attribute)

    vars(package)["__getattr__"] = opened
    sys.modules[name] = package
    above, _, short = name.rpartition(".")
    if above:
        setattr(sys.modules[above], short, package)
