"""A `junto.yaml` that is found in the working directory, rather than named by the user.

A client may start Junto inside a repository of somebody else. A file found there counts fully only
if its user has trusted exactly this content (`junto trust`). Otherwise it can only tighten what is
in force: the settings in `TIGHTEN`, and only towards less access, less spending, more care.
"""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from typing_extensions import override

from junto.domain.errors import ConfigurationError, InputOutputError
from junto.security.private_dirs import make_private_dirs
from junto.settings.enums import PermissionMode, ToolAccess
from junto.settings.schema import Settings

WORKSPACE_FILE_NAME = "junto.yaml"
_MAX_FILE_BYTES = 256 * 1024


class UnexpandedVariables(Mapping[str, str]):
    """A mapping from each variable to its own `${NAME}`, to read a file without expansion."""

    @override
    def __getitem__(self, name: str) -> str:
        return f"${{{name}}}"

    @override
    def __iter__(self) -> Any:
        return iter(())

    @override
    def __len__(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class TrustStore:
    """The config files that the user trusts, each by its path and the hash of its content."""

    path: Path

    def is_trusted(self, file: Path, content: bytes) -> bool:
        """Return whether the user has trusted this file with exactly this content."""
        return self.load().get(_identify(file)) == _hash(content)

    def has_changed(self, file: Path, content: bytes) -> bool:
        """Return whether the user has trusted this file with another content."""
        return self.load().get(_identify(file)) not in (None, _hash(content))

    def load(self) -> dict[str, str]:
        """Return the hash of each trusted file by its path."""
        try:
            entries = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return entries if isinstance(entries, dict) else {}

    def add(self, file: Path, content: bytes) -> None:
        """Trust a file as long as its content stays the same.

        Raises:
            InputOutputError: this cannot be remembered.
        """
        self._save(self.load() | {_identify(file): _hash(content)})

    def remove(self, file: Path) -> bool:
        """Stop trusting a file; return whether it was trusted.

        Raises:
            InputOutputError: this cannot be remembered.
        """
        entries = self.load()
        was_trusted = entries.pop(_identify(file), None) is not None
        if was_trusted:
            self._save(entries)
        return was_trusted

    def _save(self, entries: Mapping[str, str]) -> None:
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            make_private_dirs(self.path.parent)
            temporary.touch(mode=0o600)
            temporary.write_text(json.dumps(entries, indent=2) + "\n", "utf-8")
            temporary.replace(self.path)
        except OSError as error:
            raise InputOutputError(f"{self.path} cannot be written: {error.strerror}.") from error


def _identify(file: Path) -> str:
    # Not the target of a link: the file counts for the directory in which it is found.
    return str(Path(os.path.realpath(file.parent)) / file.name)


def read_workspace_file(path: Path) -> bytes:
    """Return the content of a config file that may be somebody else's.

    Raises:
        ConfigurationError: it is a link, no ordinary file, or too large.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ConfigurationError(f"{path}: is a symbolic link.") from None
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}).") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ConfigurationError(f"{path}: is no ordinary file.")
    with os.fdopen(fd, "rb") as file:
        content = file.read(_MAX_FILE_BYTES + 1)
    if len(content) > _MAX_FILE_BYTES:
        raise ConfigurationError(f"{path}: is larger than {_MAX_FILE_BYTES // 1024} KiB.")
    return content


def _hash(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


# Combine the value in force with that of an untrusted file; the result is never looser.
_Combine = Callable[[Any, Any], Any]


def _keep_current(current: Any, _new: Any) -> Any:
    return current


def _take_union(current: Sequence[Any], new: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys((*current, *new)))


def _take_lower(current: Any, new: Any) -> Any:
    if current is None or new is None:
        return new if current is None else current
    return min(current, new)


def _take_earlier(order: Sequence[Any], current: Any, new: Any) -> Any:
    return min(current, new, key=order.index)


def _take_and(current: bool, new: bool) -> bool:  # noqa: FBT001 - values of a setting
    return current and new


def _take_or(current: bool, new: bool) -> bool:  # noqa: FBT001 - values of a setting
    return current or new


_STRICTEST_MODE_FIRST = (
    PermissionMode.PLAN,
    PermissionMode.DEFAULT,
    PermissionMode.ACCEPT_EDITS,
    PermissionMode.BYPASS,
)
TIGHTEN: Mapping[str, _Combine] = {
    "agent.allow_bypass": _take_and,
    "agent.confine": _take_or,
    "agent.consult": _take_and,
    "agent.disallowed_tools": _take_union,
    "agent.enabled": _take_and,
    "agent.max_budget": _take_lower,
    "agent.max_turns": _take_lower,
    "agent.permission_mode": partial(_take_earlier, _STRICTEST_MODE_FIRST),
    "agent.time_limit": _take_lower,
    "answers.max_tokens": _take_lower,
    "budget.limit": _take_lower,
    "cache.enabled": _take_and,
    "guards.redact_prompts": _take_or,
    "guards.screen_results": _take_or,
    "guards.session_requests_per_minute": _take_lower,
    "limits.concurrent": _take_lower,
    "limits.requests_per_minute": _take_lower,
    "limits.tokens_per_minute": _take_lower,
    "tools.command_memory": _take_lower,
    "tools.command_processes": _take_lower,
    "tools.command_scratch": _take_lower,
    "tools.command_seconds": _take_lower,
    "tools.confine": _take_or,
    "tools.disabled": _take_union,
    "tools.over_http": partial(_take_earlier, tuple(ToolAccess)),
}


def tighten(settings: Settings, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings that an untrusted file tightens, and those of it that are ignored."""
    changes: dict[str, Any] = {}
    ignored: list[str] = []
    for path, raw in values.items():
        current = _get(settings, path)
        try:
            new = _get(_validate_alone(path, raw), path)
        except Exception:  # noqa: BLE001 - whatever the value is, it must not stop us
            ignored.append(path)
            continue
        combine = TIGHTEN.get(path, _keep_current)
        if combine(current, new) != current:
            changes[path] = combine(current, new)
        elif new != current and combine is not _take_union:
            ignored.append(path)
    return changes, ignored


def _validate_alone(path: str, raw: Any) -> Settings:
    """Return settings in which one value is set."""
    if "${" in str(raw):
        raise ConfigurationError("an untrusted file reads no variable")
    tree: Any = raw
    for name in reversed(path.split(".")):
        tree = {name: tree}
    return Settings.model_validate(tree)


def _get(settings: Settings, path: str) -> Any:
    value: Any = settings
    for name in path.split("."):
        value = getattr(value, name)
    return value
