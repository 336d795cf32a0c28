#!/usr/bin/env bash
# Shows every event of an answer as it comes: progress while the model speaks, then the result.
# ./streaming.sh [MESSAGE] [ADDRESS]
set -euo pipefail

message=${1:-Say hello.}
address=${2:-http://127.0.0.1:32701/mcp}

question=$(python3 -c 'import json, sys; print(json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "chat", "arguments": {"message": sys.argv[1]},
        "_meta": {"progressToken": "words"}}}))' "$message")

# The token asks for progress, and with that the answer becomes a stream of events.
curl --silent --show-error --fail-with-body --no-buffer --max-time 120 "$address" \
    --header 'Content-Type: application/json' \
    --header 'Accept: application/json, text/event-stream' \
    --data "$question" |
    while IFS= read -r line; do
        case $line in data:*) printf '%s\n' "${line#data: }" ;; esac
    done
