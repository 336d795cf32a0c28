"""What providers say that they serve: their own lists of models, kept for when they are silent."""

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
from junto.providers.catalog.known import SILENT
from junto.telemetry.logs import Log

_log = Log.of("providers")
_NAME = re.compile(r"[\w./:@+-]{1,200}")
_LONGEST_LINE = 200
_FLAGS = ("images", "documents", "tools", "temperature")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A model as its provider lists it; what is None the provider does not say."""

    id: str
    description: str | None = None
    context_window: int | None = None
    images: bool | None = None
    documents: bool | None = None
    tools: bool | None = None
    temperature: bool | None = None
    reasoning: str | None = None
    input_price: str | None = None
    output_price: str | None = None


def parsed(provider: str, body: Any) -> tuple[Listed, ...]:
    """Return the models in a provider's answer that talk; anything else in it is passed over."""
    entries = body.get("data") if isinstance(body, Mapping) else None
    read = {"anthropic": _anthropic, "openrouter": _openrouter}.get(provider, _plain)
    found = [
        read(entry)
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, Mapping) and isinstance(entry.get("id"), str)
    ]
    talking = (model for model in found if model and not any(w in model.id for w in SILENT))
    return tuple(sound for model in talking if (sound := _sound(model)))


def _sound(model: Listed) -> Listed | None:
    """Return a model with only what can be true of one, or nothing if its name cannot."""
    facts: dict[str, Any] = asdict(model)  # of any type: it was read from somewhere
    if not isinstance(facts["id"], str) or not _NAME.fullmatch(facts["id"]):
        return None
    window, style = facts["context_window"], facts["reasoning"]
    facts |= {name: bool(facts[name]) for name in _FLAGS if facts[name] is not None}
    facts |= {name: _number(facts[name]) for name in ("input_price", "output_price")}
    facts["description"] = _line(facts["description"])
    facts["context_window"] = window if isinstance(window, int) and window > 0 else None
    facts["reasoning"] = style if style in list(ReasoningStyle) else None
    return Listed(**facts)


def _line(text: Any) -> str | None:
    return " ".join(text.split())[:_LONGEST_LINE] if isinstance(text, str) and text else None


def _number(text: Any) -> str | None:
    return str(text) if isinstance(text, str | int | float) else None


def _plain(entry: Mapping[str, Any]) -> Listed:
    return Listed(id=entry["id"].removeprefix("models/"))


def _anthropic(entry: Mapping[str, Any]) -> Listed | None:
    if entry.get("lifecycle") == "retired":
        return None
    can = _table(entry.get("capabilities"))
    kinds = _table(_table(can.get("thinking")).get("types"))
    style = "adaptive" if _yes(kinds.get("adaptive")) else "budget"
    return Listed(
        id=entry["id"],
        description=entry.get("display_name"),
        context_window=entry.get("max_input_tokens"),
        images=_yes(can.get("image_input")),
        documents=_yes(can.get("pdf_input")),
        reasoning=style if _yes(can.get("thinking")) else None,
    )


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _yes(support: Any) -> bool | None:
    return bool(support.get("supported")) if isinstance(support, Mapping) else None


def _openrouter(entry: Mapping[str, Any]) -> Listed:
    takes = _list(entry.get("supported_parameters"))
    inputs = _list(_table(entry.get("architecture")).get("input_modalities"))
    price = _table(entry.get("pricing"))
    return Listed(
        id=entry["id"],
        description=entry.get("name"),
        context_window=entry.get("context_length"),
        images="image" in inputs if inputs else None,
        documents="file" in inputs if inputs else None,
        tools="tools" in takes if takes else None,
        temperature="temperature" in takes if takes else None,
        reasoning="nested" if takes and "reasoning" in takes else None,
        input_price=price.get("prompt"),
        output_price=price.get("completion"),
    )


@dataclass(eq=False, slots=True)
class ModelLists:
    """The lists of some providers: read from a folder, fetched anew when they have grown old."""

    folder: Path
    providers: tuple[str, ...]
    lifetime: float
    now: Callable[[], float] = time.time
    _read: dict[str, tuple[Listed, ...]] | None = field(default=None, init=False)
    version: int = field(default=0, init=False)

    def of(self, provider: str) -> tuple[Listed, ...]:
        """Return the last list that is known of a provider, which may be empty."""
        if self._read is None:
            self._read = {name: _loaded(self._file(name)) for name in self.providers}
        return self._read.get(provider, ())

    def stale(self) -> tuple[str, ...]:
        """Return the providers whose lists are older than they should be."""
        if not self.lifetime:
            return ()
        oldest = self.now() - self.lifetime
        return tuple(name for name in self.providers if _written_at(self._file(name)) < oldest)

    async def refresh(
        self, fetch: Callable[[str], Any], providers: Iterable[str] | None = None
    ) -> dict[str, str]:
        """Fetch the lists anew; return what went wrong, by provider. The old ones stay then."""
        wanted = tuple(self.stale() if providers is None else providers)
        outcomes = await asyncio.gather(*(self._refreshed(name, fetch) for name in wanted))
        return {name: problem for name, problem in zip(wanted, outcomes, strict=True) if problem}

    async def _refreshed(self, provider: str, fetch: Callable[[str], Any]) -> str | None:
        try:
            models = parsed(provider, await fetch(provider))
            if not models:
                return f"{provider} lists no models."
            await asyncio.to_thread(_save, self._file(provider), models)
        except JuntoError as error:
            _log.info("list of models not refreshed", provider=provider, code=error.code)
            return error.message
        except OSError as error:
            return f"The list of {provider} could not be kept: {error.strerror}."
        self.of(provider)  # so that all are read
        self._read = {**(self._read or {}), provider: models}
        self.version += 1
        return None

    def _file(self, provider: str) -> Path:
        return self.folder / f"{provider}.json"


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _loaded(path: Path) -> tuple[Listed, ...]:
    try:
        kept = [Listed(**entry) for entry in json.loads(path.read_bytes())]
        return tuple(sound for model in kept if (sound := _sound(model)))
    except (OSError, ValueError, TypeError, RecursionError):
        return ()  # not there, or of another version: it will be fetched again


def _save(path: Path, models: Iterable[Listed]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}.new")
    try:
        fresh.write_text(json.dumps([asdict(model) for model in models]))
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
