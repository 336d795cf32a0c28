"""The types that all doctor checks share: the check, its context, and its findings."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from junto.settings import LoadedSettings, Settings
from junto.settings.paths import resolve_state_dir

CheckState = Literal["ok", "warning", "broken"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check, and how to fix it; `facts` are for verbose and JSON output."""

    check: str
    state: CheckState
    detail: str
    fix: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


def ok(check: str, detail: str, fix: str = "", **facts: Any) -> Finding:
    """Return a finding without a problem; `fix` is then an optional suggestion."""
    return Finding(check, "ok", detail, fix, facts)


def warn(check: str, detail: str, fix: str) -> Finding:
    """Return a finding for something that needs attention although Junto works."""
    return Finding(check, "warning", detail, fix)


def fail(check: str, detail: str, fix: str) -> Finding:
    """Return a finding for something that the settings require and that does not work."""
    return Finding(check, "broken", detail, fix)


@dataclass(frozen=True)
class CheckContext:
    """The settings and options that checks run with."""

    loaded: LoadedSettings
    config_path: Path | None = None
    # Whether checks may contact providers and other servers.
    online: bool = False

    @property
    def settings(self) -> Settings:
        """Return the settings in effect."""
        return self.loaded.settings

    @cached_property
    def state_dir(self) -> Path:
        """Return the directory where Junto stores its files."""
        return resolve_state_dir(self.settings)


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its group, its name, the function to run, and its timeout."""

    group: str
    name: str
    run: Callable[[CheckContext], Iterator[Finding]]
    timeout_seconds: float = 15.0
