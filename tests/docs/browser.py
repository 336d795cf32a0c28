"""A headless Chromium, driven through its debugging port."""

import asyncio
import contextlib
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
_TIMEOUT_SECONDS = 120


@dataclass
class Tab:
    """One tab of the browser, and the URLs that it has requested."""

    websocket: aiohttp.ClientWebSocketResponse
    requested_urls: list[str] = field(default_factory=list)
    _ids: "count[int]" = field(default_factory=lambda: count(1))

    async def send_command(self, method: str, **params: Any) -> dict[str, Any]:
        command_id = next(self._ids)
        await self.websocket.send_json({"id": command_id, "method": method, "params": params})
        while (message := await self.websocket.receive_json()).get("id") != command_id:
            self._record_request(message)
        if "error" in message:
            raise RuntimeError(message["error"]["message"])
        result: dict[str, Any] = message["result"]
        return result

    async def open(self, address: str) -> None:
        """Go to a page, and wait until it has loaded."""
        await self.send_command("Page.navigate", url=address)
        while (message := await self.websocket.receive_json()).get(
            "method"
        ) != "Page.loadEventFired":
            self._record_request(message)

    async def evaluate(self, script: str) -> Any:
        """Return the value of a script, once its promise has resolved."""
        reply = await self.send_command(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in reply:
            raise RuntimeError(reply["exceptionDetails"]["exception"]["description"])
        return reply["result"].get("value")

    def _record_request(self, message: dict[str, Any]) -> None:
        if message.get("method") == "Network.requestWillBeSent":
            self.requested_urls.append(message["params"]["request"]["url"])


@contextlib.asynccontextmanager
async def open_browser(profile: Path) -> AsyncIterator[Tab]:
    """Start a browser with its own profile, and stop it at the end."""
    with _start_chromium(profile) as port:
        async with aiohttp.ClientSession() as session, asyncio.timeout(_TIMEOUT_SECONDS):
            targets = await (await session.get(f"http://127.0.0.1:{port}/json")).json()
            [page] = [each for each in targets if each["type"] == "page"]
            async with session.ws_connect(
                page["webSocketDebuggerUrl"], max_msg_size=0
            ) as websocket:
                tab = Tab(websocket)
                for domain in ("Page", "Network", "Runtime"):
                    await tab.send_command(f"{domain}.enable")
                yield tab


@contextlib.contextmanager
def _start_chromium(profile: Path) -> Iterator[int]:
    """Yield the debugging port of a new browser."""
    assert CHROMIUM
    with subprocess.Popen(
        [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
        env={"HOME": str(profile), "PATH": "/usr/bin:/bin"},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        try:
            announcement = next(line for line in process.stderr if "DevTools listening on" in line)
            yield int(announcement.rpartition("/devtools/")[0].rpartition(":")[2])
        finally:
            process.terminate()
            process.communicate(timeout=_TIMEOUT_SECONDS)
