#!/usr/bin/env bash
# Asks a running Junto for the names of its tools, and a model one question.
# ./basic.sh [MESSAGE] [ADDRESS]
set -euo pipefail

message=${1:-Say hello.}
address=${2:-http://127.0.0.1:32701/mcp}

post() {
    curl --silent --show-error --fail-with-body --max-time 120 "$address" \
        --header 'Content-Type: application/json' \
        --header 'Accept: application/json, text/event-stream' \
        --data "$1"
}

curl --silent --output /dev/null --max-time 5 "$address" ||
    { echo "Nobody answers at $address: run \`junto serve\` first, or name another address." >&2; exit 1; }

json() { python3 -c "import json, sys; $1"; }

# No handshake, no session: each request stands alone.
post '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}' |
    json 'print(*(tool["name"] for tool in json.load(sys.stdin)["result"]["tools"]))'

question=$(json 'print(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params":
    {"name": "chat", "arguments": {"message": sys.stdin.read()}}}))' <<< "$message")
post "$question" | json 'print(json.load(sys.stdin)["result"]["content"][0]["text"])'
