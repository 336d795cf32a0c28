"""What a check is given to look at, and what it finds."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from junto.settings import Loaded, Settings
from junto.settings.places import state_directory

State = Literal["ok", "warning", "broken"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found, and what to do about it; `facts` are for who wants to know more."""

    check: str
    state: State
    detail: str
    fix: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


def ok(check: str, detail: str, fix: str = "", **facts: Any) -> Finding:
    """Return that all is well; a fix is then an offer."""
    return Finding(check, "ok", detail, fix, facts)


def warning(check: str, detail: str, fix: str) -> Finding:
    """Return that something should be looked at, though Junto works."""
    return Finding(check, "warning", detail, fix)


def broken(check: str, detail: str, fix: str) -> Finding:
    """Return that something that the settings want does not work."""
    return Finding(check, "broken", detail, fix)


@dataclass(frozen=True)
class Case:
    """What the checks look at."""

    loaded: Loaded
    config: Path | None = None
    # Whether providers may be asked.
    online: bool = False

    @property
    def settings(self) -> Settings:
        """Return the settings in force."""
        return self.loaded.settings

    @cached_property
    def state(self) -> Path:
        """Return where Junto keeps its files."""
        return state_directory(self.settings)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at: its group, its name, and how long that may take."""

    group: str
    name: str
    look: Callable[[Case], Iterator[Finding]]
    seconds: float = 15.0
