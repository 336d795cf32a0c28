"""The application stands alone: commands need no MCP server."""

import json
import subprocess
import sys

PROGRAM = """
import json, sys
import junto.cli.chat, junto.cli.conversations, junto.cli.index
import junto.cli.models, junto.cli.search, junto.cli.usage
print(json.dumps(sorted(sys.modules)))
"""


def test_commands_that_need_no_server_import_no_tools_and_no_protocol() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)

    loaded = json.loads(done.stdout)
    unwanted = ("mcp", "mcp_types", "starlette", "uvicorn", "junto.tools", "junto.transport")
    shared = {"junto.tools", "junto.tools.base", "junto.tools.summaries"}  # what --json prints
    assert "junto.app.application" in loaded
    assert [
        name
        for name in set(loaded) - shared
        if f"{name}.".startswith(tuple(f"{each}." for each in unwanted))
    ] == []
