#!/usr/bin/env python3
"""Begins a long answer, reads what there is of it, and stops it: ./cancellation.py [ADDRESS]."""

import json
import sys
import urllib.request
from itertools import count
from typing import Any

ADDRESS = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:32701/mcp"
_numbers = count(1)


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, and return the structured part of its result."""
    message = {
        "jsonrpc": "2.0",
        "id": next(_numbers),
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    request = urllib.request.Request(ADDRESS, json.dumps(message).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            facts: dict[str, Any] = json.load(response)["result"]["structuredContent"]
    except OSError:
        sys.exit(f"Nobody answers at {ADDRESS}: run `junto serve` first, or name another address.")
    return facts


job = call("chat", message="Tell me a very long story.", background=True)["jobId"]
print("job", job)

# The result of a job that still runs is what there is of it; the first words are waited for.
said = ""
while not said:
    said = call("job", jobId=job, action="result", waitSeconds=1).get("response", "")
print("so far:", said.strip()[:60])

print("state:", call("job", jobId=job, action="cancel")["state"])
