"""A real browser without a window, driven through its debugging port."""

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
_SECONDS = 120


@dataclass
class Tab:
    """One page of the browser, and everything that it has asked for."""

    line: aiohttp.ClientWebSocketResponse
    requested: list[str] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    async def order(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        await self.line.send_json({"id": number, "method": method, "params": params})
        while (message := await self.line.receive_json()).get("id") != number:
            self._note(message)
        if "error" in message:
            raise RuntimeError(message["error"]["message"])
        result: dict[str, Any] = message["result"]
        return result

    async def open(self, address: str) -> None:
        """Go to a page, and wait until it has loaded."""
        await self.order("Page.navigate", url=address)
        while (message := await self.line.receive_json()).get("method") != "Page.loadEventFired":
            self._note(message)

    async def evaluate(self, script: str) -> Any:
        """Return what a script gives, once it has."""
        done = await self.order(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"]["exception"]["description"])
        return done["result"].get("value")

    def _note(self, message: dict[str, Any]) -> None:
        if message.get("method") == "Network.requestWillBeSent":
            self.requested.append(message["params"]["request"]["url"])


@contextlib.asynccontextmanager
async def browsing(profile: Path) -> AsyncIterator[Tab]:
    """Start a browser with a profile of its own, and end it."""
    with _started(profile) as port:
        async with aiohttp.ClientSession() as session, asyncio.timeout(_SECONDS):
            targets = await (await session.get(f"http://127.0.0.1:{port}/json")).json()
            [page] = [each for each in targets if each["type"] == "page"]
            async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as line:
                tab = Tab(line)
                for domain in ("Page", "Network", "Runtime"):
                    await tab.order(f"{domain}.enable")
                yield tab


@contextlib.contextmanager
def _started(profile: Path) -> Iterator[int]:
    """Yield the port on which the browser takes orders."""
    assert CHROMIUM
    with subprocess.Popen(
        [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
        env={"HOME": str(profile), "PATH": "/usr/bin:/bin"},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        try:
            told = next(line for line in process.stderr if "DevTools listening on" in line)
            yield int(told.rpartition("/devtools/")[0].rpartition(":")[2])
        finally:
            process.terminate()
            process.communicate(timeout=_SECONDS)
