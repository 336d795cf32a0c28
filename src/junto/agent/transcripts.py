"""Transcripts of sessions: kept line by line as the program writes them, and given back to it."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from junto.domain.sessions import Line, SessionStore


@dataclass(frozen=True, slots=True)
class Mirror:
    """A session store of the SDK that keeps what it is given in ours."""

    store: SessionStore
    now: Callable[[], float] = time.time

    async def append(self, key: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
        """Keep lines that the program has written."""
        part = str(key.get("subpath", ""))
        lines = [Line(part, json.dumps(entry), entry.get("uuid")) for entry in entries]
        await self.store.append(str(key["session_id"]), lines, self.now())

    async def load(self, _key: Mapping[str, Any]) -> None:
        """Give nothing: what is resumed lies in the program's own folder already."""
        return


def lay_out(lines: Sequence[Line], session: str, project: Path) -> None:
    """Write a transcript to where the program looks for it."""
    for part in dict.fromkeys(line.part for line in lines):
        file = project / session / f"{part}.jsonl" if part else project / f"{session}.jsonl"
        if not file.resolve().is_relative_to(project.resolve()):
            continue  # no part is named so
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="utf-8") as written:
            written.writelines(f"{line.text}\n" for line in lines if line.part == part)
