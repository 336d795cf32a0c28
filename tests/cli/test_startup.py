import subprocess
import sys

# Runs in another process, because this one has already imported everything.
MAKE_LAZY = "import sys; from junto.cli.startup import make_lazy; make_lazy()\n"


def _run_code(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", MAKE_LAZY + code], capture_output=True, text=True, check=True
    )
    return result.stdout.strip()


def test_importing_a_submodule_does_not_run_the_init_of_its_package() -> None:
    code = "import mcp.shared.exceptions\nprint('mcp.client.session' in sys.modules)"

    assert _run_code(code) == "False"


def test_the_init_of_a_lazy_package_runs_when_an_attribute_is_used() -> None:
    code = "from mcp import Client\nimport mcp.server\nprint(Client.__name__, mcp.server.MCPServer)"

    assert _run_code(code) == "Client <class 'mcp.server.mcpserver.server.MCPServer'>"


def test_a_lazy_package_has_no_unknown_attributes() -> None:
    code = "import mcp\nprint(hasattr(mcp, 'nothing'), hasattr(mcp, 'nothing'))"

    assert _run_code(code) == "False False"


def test_a_package_that_is_not_installed_is_skipped() -> None:
    code = "make_lazy(('no_such_package',))\nprint('no_such_package' in sys.modules)"

    assert _run_code(code) == "False"
