"""The HTML landing page at `/`: server status, how to connect, and the list of tools."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from string import Template
from typing import Any

_TEMPLATE = Template("""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Junto $version</title>
<style>
  :root { color-scheme: light dark; --ink: #1d2327; --soft: #5c6870; --line: #e2e6e9;
    --paper: #fbfcfc; --card: #fff; --accent: #0b6e63; --code: #f2f5f5; }
  @media (prefers-color-scheme: dark) { :root { --ink: #e4e9eb; --soft: #94a2a9; --line: #2c3438;
    --paper: #14181a; --card: #1b2023; --accent: #5cc8b8; --code: #111517; } }
  * { box-sizing: border-box; }
  body { margin: 0; background: var(--paper); color: var(--ink);
    font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
  main { max-width: 60rem; margin: 0 auto; padding: 3rem 1.25rem 4rem; }
  h1 { margin: 0; font-size: 2rem; letter-spacing: -.02em; }
  h2 { margin: 2.75rem 0 1rem; font-size: .8rem; text-transform: uppercase;
    letter-spacing: .09em; color: var(--soft); }
  p { margin: .35rem 0; }
  .soft { color: var(--soft); }
  .facts { display: flex; flex-wrap: wrap; gap: .5rem 1.75rem; margin-top: 1.25rem; }
  .ok::before { content: ""; display: inline-block; width: .55rem; height: .55rem;
    margin-right: .5rem; border-radius: 50%; background: var(--accent); }
  code, pre { font: .86rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
  pre { margin: 0; padding: .8rem 1rem; background: var(--code); border-radius: .5rem;
    white-space: pre-wrap; overflow-wrap: anywhere; }
  .grid { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr)); }
  @media (max-width: 28rem) { .grid { grid-template-columns: 1fr; } }
  section { min-width: 0; padding: 1rem 1.1rem 1.1rem; background: var(--card);
    border: 1px solid var(--line); border-radius: .75rem; }
  section h3 { margin: 0 0 .6rem; font-size: 1rem; }
  section p { font-size: .9rem; margin-bottom: .6rem; }
  table { width: 100%; border-collapse: collapse; }
  td { padding: .55rem 1rem .55rem 0; border-top: 1px solid var(--line); vertical-align: top; }
  td:first-child { white-space: nowrap; }
  a { color: var(--accent); }
</style>
<main>
  <h1>Junto</h1>
  <p class="soft">$description</p>
  <div class="facts">
    <span class="ok">$status</span>
    <span><span class="soft">version</span> $version</span>
    <span><span class="soft">up</span> $uptime</span>
    <span><span class="soft">endpoint</span> <code>$endpoint</code></span>
  </div>

  <h2>Connect</h2>
  <div class="grid">$clients</div>

  <h2>Tools</h2>
  <table>$tools</table>

  <h2>Elsewhere</h2>
  <p><a href="/health">health</a> &middot; <a href="/ready">ready</a> &middot;
     <a href="/metrics">metrics</a></p>
</main>
</html>
""")


def render(
    base_url: str,
    health: Mapping[str, Any],
    description: str,
    tools: Sequence[Mapping[str, Any]],
) -> str:
    """Return the HTML of the page for a server that is reached at `base_url`."""
    endpoint = f"{base_url}/mcp"
    return _TEMPLATE.substitute(
        description=escape(description),
        status=escape(str(health["status"])),
        version=escape(str(health["version"])),
        uptime=_format_duration(health["uptimeSeconds"]),
        endpoint=escape(endpoint),
        clients="".join(_render_card(*client) for client in _list_clients(endpoint)),
        tools="".join(_render_row(tool) for tool in tools),
    )


def _list_clients(endpoint: str) -> tuple[tuple[str, str, str], ...]:
    """Return the name, the configuration location and the snippet of each client."""
    return (
        ("Claude Code", "Run once:", f"claude mcp add --transport http junto {endpoint}"),
        ("Codex", "~/.codex/config.toml:", f'[mcp_servers.junto]\nurl = "{endpoint}"'),
        ("Claude Desktop", "Run once, it starts Junto itself:", "junto install claude-desktop"),
        ("Cursor", "~/.cursor/mcp.json:", _format_json_config("mcpServers", {"url": endpoint})),
        (
            "VS Code",
            ".vscode/mcp.json:",
            _format_json_config("servers", {"type": "http", "url": endpoint}),
        ),
        (
            "Gemini CLI",
            "~/.gemini/settings.json:",
            _format_json_config("mcpServers", {"httpUrl": endpoint}),
        ),
    )


def _format_json_config(key: str, entry: Mapping[str, Any]) -> str:
    fields = ",\n".join(f"      {json.dumps(k)}: {json.dumps(v)}" for k, v in entry.items())
    return f'{{\n  "{key}": {{\n    "junto": {{\n{fields}\n    }}\n  }}\n}}'


def _render_card(name: str, location: str, snippet: str) -> str:
    return (
        f"<section><h3>{escape(name)}</h3>"
        f'<p class="soft">{escape(location)}</p><pre>{escape(snippet)}</pre></section>'
    )


def _render_row(tool: Mapping[str, Any]) -> str:
    return f"<tr><td><code>{escape(tool['name'])}</code></td><td>{escape(tool['description'])}</td>"


def _format_duration(seconds: float) -> str:
    minutes, hours, days = int(seconds // 60), int(seconds // 3600), int(seconds // 86400)
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{int(seconds)} s"
