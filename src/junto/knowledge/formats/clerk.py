"""Handing files to a child, one after another, and replacing the child when one was too much."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from junto.domain.errors import CancelledCallError
from junto.knowledge.formats.process import Child, GoneError
from junto.knowledge.formats.readable import UnreadableError

Answer = tuple[dict[str, Any], bytes]


@dataclass(slots=True)
class Clerk:
    """Has at most one child, from the first question to the end."""

    seconds: float
    memory: int
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _child: Child | None = None
    _closed: bool = False

    async def asked(self, header: Mapping[str, Any], content: bytes) -> Answer:
        """Return the child's answer.

        Raises:
            UnreadableError: reading takes too long, or too much, or breaks the child.
            ExecutionError: the child does not start.
            CancelledCallError: this was closed meanwhile.
        """
        async with self._turn:
            while True:
                child = await self._ready()
                fresh = child.answers == 0
                answer = await self._tried(child, header, content)
                if answer and "exhausted" not in answer[0]:
                    return answer
                await self._end()
                if fresh and not self._closed:
                    raise UnreadableError(
                        "takes too much memory to read"
                        if answer
                        else "breaks what reads it; it is broken itself, or too large"
                    )
                # What others have left in it may be to blame: a fresh one tries once more.

    async def close(self) -> None:
        """End the child, even while it reads."""
        self._closed = True
        await self._end()
        async with self._turn:  # it may just have been started
            await self._end()

    async def _ready(self) -> Child:
        if self._child is None and not self._closed:
            self._child = await Child.started(self.memory)
        if self._child is None or self._closed:  # by now, perhaps
            await self._end()
            raise CancelledCallError("Reading was stopped before it was done.")
        return self._child

    async def _tried(
        self, child: Child, header: Mapping[str, Any], content: bytes
    ) -> Answer | None:
        """Return the child's answer, or nothing if it is gone; it outlives no other failure."""
        answer = None
        try:
            async with asyncio.timeout(self.seconds):
                answer = await child.asked(header, content)
        except TimeoutError:
            raise UnreadableError(f"takes longer than {self.seconds:g} s to read") from None
        except GoneError:
            return None
        finally:
            if answer is None:  # cancelled, too
                await self._end()
        return answer

    async def _end(self) -> None:
        if child := self._child:
            self._child = None
            await child.ended()
