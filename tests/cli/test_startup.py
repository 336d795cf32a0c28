import subprocess
import sys

# In a process of its own, since this one has long imported everything.
PUT_OFF = "import sys; from junto.cli.packages import put_off; put_off()\n"


def _printed(code: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", PUT_OFF + code], capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def test_a_start_leaves_out_what_only_a_package_imports() -> None:
    code = "import mcp.shared.exceptions\nprint('mcp.client.session' in sys.modules)"

    assert _printed(code) == "False"


def test_what_a_package_imports_is_there_for_whoever_asks() -> None:
    code = "from mcp import Client\nimport mcp.server\nprint(Client.__name__, mcp.server.MCPServer)"

    assert _printed(code) == "Client <class 'mcp.server.mcpserver.server.MCPServer'>"


def test_what_a_package_does_not_have_is_missing_as_ever() -> None:
    code = "import mcp\nprint(hasattr(mcp, 'nothing'), hasattr(mcp, 'nothing'))"

    assert _printed(code) == "False False"


def test_a_package_that_is_not_installed_is_left_to_the_import_that_needs_it() -> None:
    code = "put_off(('no_such_package',))\nprint('no_such_package' in sys.modules)"

    assert _printed(code) == "False"
