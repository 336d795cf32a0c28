"""The least that the SDK needs to serve one tool: what Junto is compared with.

python -m bench.bare stdio          serves on standard input and output
python -m bench.bare http PORT      serves on loopback
"""

import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

Context = ServerRequestContext[Any, Any]

TOOL = types.Tool(
    name="current_time",
    title="Current time",
    description="The date and time now.",
    input_schema={"type": "object", "properties": {"timezone": {"type": "string"}}},
    output_schema={"type": "object", "properties": {"iso8601": {"type": "string"}}},
)


async def list_tools(
    _context: Context, _params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[TOOL])


async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name == "chat":
        return await stream(context, params.arguments or {})
    if params.name == "read_file":
        text = Path((params.arguments or {})["path"]).read_text("utf-8")  # noqa: ASYNC240
        return types.CallToolResult(content=[types.TextContent(text=text)])
    now = datetime.now(UTC).replace(microsecond=0)
    facts = {"iso8601": now.isoformat(), "timestamp": int(now.timestamp()), "timezone": "UTC"}
    return types.CallToolResult(
        content=[types.TextContent(text=f"{params.name}: {facts['iso8601']}")],
        structured_content=facts,
    )


async def stream(context: Context, arguments: dict[str, Any]) -> types.CallToolResult:
    """Ask a model on the bare wire, and pass on each word as it comes."""
    import aiohttp
    import orjson

    content = [{"type": "text", "text": arguments["message"]}]
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": content}]}
    words: list[str] = []
    url = f"{os.environ['BENCH_UPSTREAM']}/v1/messages"
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
        async for line in response.content:
            if line.startswith(b"data: "):
                delta = orjson.loads(line[6:]).get("delta", {})
                if "text" in delta:
                    words.append(delta["text"])
                    await context.session.report_progress(len(words), None, delta["text"])
    return types.CallToolResult(content=[types.TextContent(text="".join(words))])


def server() -> Server[Any]:
    return Server(
        "bare",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda _name: TOOL.input_schema,
    )


async def over_stdio() -> None:
    from mcp.server.stdio import stdio_server

    bare = server()
    async with stdio_server() as (read, write):
        await bare.run(read, write, bare.create_initialization_options())


def over_http(port: int) -> None:
    import uvicorn

    app = server().streamable_http_app(stateless_http=True)
    uvicorn.run(app, host="127.0.0.1", port=port, http="h11", log_level="error", access_log=False)


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        asyncio.run(over_stdio())
    else:
        over_http(int(sys.argv[2]))
