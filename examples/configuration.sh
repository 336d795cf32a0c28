#!/usr/bin/env bash
# Starts a Junto of its own with a file and a variable, and shows where its settings come from.
# ./configuration.sh [COMMAND]
set -euo pipefail

junto=${1:-junto}
command -v "$junto" > /dev/null ||
    { echo "There is no $junto here: ./configuration.sh .venv/bin/junto" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/junto.yaml" <<'YAML'
answers:
  max_tokens: 1000
tools:
  timezone: Asia/Taipei
YAML

# A variable goes before the file; the resource config://server tells what is in force.
export JUNTO_ANSWERS_MAX_TOKENS=500
printf '%s\n' \
    '{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "config://server"}}' |
    "$junto" mcp --config "$folder/junto.yaml" 2>/dev/null |
    python3 -c '
import json, sys
settings = json.loads(json.load(sys.stdin)["result"]["contents"][0]["text"])
for name in ("answers.max_tokens", "tools.timezone", "http.port"):
    print(name, settings[name]["value"], "from", settings[name]["origin"].split("/")[-1])
'
