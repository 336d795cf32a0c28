"""Model lists of the providers: parse them, cache them on disk, and refresh them."""

import asyncio
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from junto.domain.errors import JuntoError
from junto.domain.models import ReasoningStyle
from junto.provider_specs.registry import find_spec
from junto.provider_specs.spec import ListedModel
from junto.security.private_dirs import make_private_dirs
from junto.telemetry.logs import Log

_log = Log.get("providers")
_NAME_PATTERN = re.compile(r"[\w./:@+-]{1,200}")
_MAX_DESCRIPTION_CHARS = 200
# Parts of the names of listed models that are not chat models.
_NON_CHAT_MARKERS = (
    "audio", "babbage", "davinci", "embed", "image", "imagen", "live", "moderation", "realtime",
    "robotics", "sora", "transcribe", "tts", "veo", "whisper",
)  # fmt: skip
_CAPABILITY_FLAGS = ("images", "documents", "tools", "temperature")


def parse_models(provider: str, body: Any) -> tuple[ListedModel, ...]:
    """Return the chat models in a provider's response; ignore everything else."""
    entries = body.get("data") if isinstance(body, Mapping) else None
    parse = find_spec(provider).parse_listed_model
    models = [
        parse(entry)
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, Mapping) and isinstance(entry.get("id"), str)
    ]
    chat_models = (
        model
        for model in models
        if model and not any(marker in model.id for marker in _NON_CHAT_MARKERS)
    )
    return tuple(sanitized for model in chat_models if (sanitized := _sanitize(model)))


def _sanitize(model: ListedModel) -> ListedModel | None:
    """Return the model without its invalid values, or None if its id is invalid."""
    values: dict[str, Any] = asdict(model)  # values of any type: they come from outside
    if not isinstance(values["id"], str) or not _NAME_PATTERN.fullmatch(values["id"]):
        return None
    window, style = values["context_window"], values["reasoning"]
    values |= {name: bool(values[name]) for name in _CAPABILITY_FLAGS if values[name] is not None}
    values |= {name: _normalize_price(values[name]) for name in ("input_price", "output_price")}
    values["description"] = _normalize_line(values["description"])
    values["context_window"] = window if isinstance(window, int) and window > 0 else None
    values["reasoning"] = style if style in list(ReasoningStyle) else None
    return ListedModel(**values)


def _normalize_line(text: Any) -> str | None:
    return (
        " ".join(text.split())[:_MAX_DESCRIPTION_CHARS] if isinstance(text, str) and text else None
    )


def _normalize_price(text: Any) -> str | None:
    return str(text) if isinstance(text, str | int | float) else None


@dataclass(eq=False, slots=True)
class ModelLists:
    """The model lists of several providers, cached in a directory."""

    directory: Path
    providers: tuple[str, ...]
    max_age_seconds: float
    now: Callable[[], float] = time.time
    _by_provider: dict[str, tuple[ListedModel, ...]] | None = field(default=None, init=False)
    version: int = field(default=0, init=False)

    def get(self, provider: str) -> tuple[ListedModel, ...]:
        """Return the latest known list of a provider, which may be empty."""
        if self._by_provider is None:
            self._by_provider = {name: _load(self._get_path(name)) for name in self.providers}
        return self._by_provider.get(provider, ())

    def find_stale(self) -> tuple[str, ...]:
        """Return the providers whose list is older than `max_age_seconds`."""
        if not self.max_age_seconds:
            return ()
        min_mtime = self.now() - self.max_age_seconds
        return tuple(
            name for name in self.providers if _get_mtime(self._get_path(name)) < min_mtime
        )

    async def refresh(
        self, fetch: Callable[[str], Any], providers: Iterable[str] | None = None
    ) -> dict[str, str]:
        """Fetch the lists of `providers`, by default of those whose list is stale.

        Returns:
            An error message for each provider that failed; its previous list stays.
        """
        wanted = tuple(self.find_stale() if providers is None else providers)
        outcomes = await asyncio.gather(*(self._refresh_provider(name, fetch) for name in wanted))
        return {name: problem for name, problem in zip(wanted, outcomes, strict=True) if problem}

    async def _refresh_provider(self, provider: str, fetch: Callable[[str], Any]) -> str | None:
        try:
            models = parse_models(provider, await fetch(provider))
            if not models:
                return f"{provider} lists no models."
            await asyncio.to_thread(_save, self._get_path(provider), models)
        except JuntoError as error:
            _log.info("list of models not refreshed", provider=provider, code=error.code)
            return error.message
        except OSError as error:
            return f"The list of {provider} could not be kept: {error.strerror}."
        self.get(provider)  # loads all lists from disk first
        self._by_provider = {**(self._by_provider or {}), provider: models}
        self.version += 1
        return None

    def _get_path(self, provider: str) -> Path:
        return self.directory / f"{provider}.json"


def _get_mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _load(path: Path) -> tuple[ListedModel, ...]:
    try:
        models = [ListedModel(**entry) for entry in json.loads(path.read_bytes())]
        return tuple(sanitized for model in models if (sanitized := _sanitize(model)))
    except (OSError, ValueError, TypeError, RecursionError):
        return ()  # missing, or written by another version: it will be fetched again


def _save(path: Path, models: Iterable[ListedModel]) -> None:
    make_private_dirs(path.parent)
    temp_path = path.with_suffix(f".{os.getpid()}.new")
    try:
        temp_path.write_text(json.dumps([asdict(model) for model in models]))
        temp_path.replace(path)
    finally:
        temp_path.unlink(missing_ok=True)
