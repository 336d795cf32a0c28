"""What makes a start fast: packages whose `__init__` runs on first use, and late collection."""

import gc
import sys
from importlib.util import find_spec, module_from_spec
from typing import Any

# The `__init__` modules of the MCP SDK import everything, including the client and authorization,
# which takes a quarter of Junto's startup time. Junto imports the few modules it needs by name.
_LAZY_PACKAGES = ("mcp", "mcp.server", "mcp.client")


def make_lazy(names: tuple[str, ...] = _LAZY_PACKAGES) -> None:
    """Defer running the `__init__` of these packages until one of its attributes is used."""
    for name in names:
        if name not in sys.modules:
            _make_package_lazy(name)


def _make_package_lazy(name: str) -> None:
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        return  # a later import raises the proper error
    loader, package = spec.loader, module_from_spec(spec)

    def load_attribute(name: str) -> Any:
        """Run the package's `__init__` on first use, then return the attribute."""
        if "__getattr__" in vars(package):
            del vars(package)["__getattr__"]
            loader.exec_module(package)
        return getattr(package, name)

    vars(package)["__getattr__"] = load_attribute
    sys.modules[name] = package
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, package)


def enable_gc() -> None:
    """Enable garbage collection, ignoring the objects created during startup."""
    gc.freeze()
    gc.enable()
