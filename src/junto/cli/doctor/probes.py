"""Probes of single parts of Junto: the database, Redis, a provider, a model, embeddings."""

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from junto.app.models import build_embedder, build_engine_choice, build_provider_options
from junto.domain.completions import Question
from junto.domain.messages import Message
from junto.providers.catalog.catalog import Route
from junto.providers.catalog.from_settings import build_embedded_spec
from junto.providers.catalog.remote_lists import parse_models
from junto.security.redaction import Redactor
from junto.settings.paths import resolve_state_dir
from junto.settings.render import iter_secrets
from junto.settings.schema import Settings
from junto.storage.migrations import DatabaseInfo
from junto.telemetry.usage_recorder import UsageRecorder

if TYPE_CHECKING:
    from junto.providers.http.client import Timeouts
    from junto.providers.local.weights import WeightsPackage

_INSPECT_TIMEOUT_SECONDS = 10.0
# Larger databases take too long to copy for a rehearsal.
_MAX_COPY_BYTES = 256 * 1024 * 1024


def database_path(settings: Settings) -> Path:
    """Return the path of the SQLite database, which is used unless `database.url` is set."""
    return resolve_state_dir(settings) / "junto.db"


async def inspect_database(settings: Settings) -> DatabaseInfo | None:
    """Return the state of the database without changing it, or None if it does not exist yet.

    Raises:
        JuntoError: the database cannot be used.
    """
    if settings.database.url is None:
        from junto.storage.sqlite import inspection as sqlite_inspection

        return sqlite_inspection.inspect_database(database_path(settings), _INSPECT_TIMEOUT_SECONDS)
    from junto.storage.postgres import inspection as postgres_inspection

    return await postgres_inspection.inspect_database(settings.database.url.get_secret_value())


async def rehearse_migrations(settings: Settings, info: DatabaseInfo | None) -> bool:
    """Rehearse the migrations of the next start; return whether that was possible.

    A SQLite file is copied unless it is too large. A PostgreSQL database must have no tables yet,
    because migrating tables in use would block other connections.

    Raises:
        JuntoError: the migrations would fail.
    """
    if settings.database.url is None:
        from junto.storage.sqlite import inspection as sqlite_inspection

        if info and info.size_bytes > _MAX_COPY_BYTES:
            return False
        await sqlite_inspection.rehearse_migrations(database_path(settings) if info else None)
        return True
    from junto.storage.postgres import inspection as postgres_inspection

    if info and info.latest_migration:
        return False
    await postgres_inspection.rehearse_migrations(settings.database.url.get_secret_value())
    return True


async def fetch_redis_version(settings: Settings) -> str | None:
    """Return the version of the Redis server, or None if none is configured.

    Raises:
        JuntoError: Redis cannot be used.
    """
    if settings.redis.url is None:
        return None
    from junto.storage.redis_client import fetch_version

    return await fetch_version(settings.redis.url.get_secret_value())


async def fetch_model_ids(route: Route) -> tuple[str, ...]:
    """Verify the key of a route, and return the ids of the models it serves.

    Raises:
        JuntoError: the key is refused, or the provider cannot be reached.
    """
    from junto.providers.factory import verify_key_and_fetch_models

    return tuple(
        model.id for model in parse_models(route.provider, await verify_key_and_fetch_models(route))
    )


def list_missing_weights(settings: Settings) -> "tuple[WeightsPackage, ...]":
    """Return the packages that the embedded model would have to download first."""
    engine = build_engine_choice(settings, resolve_state_dir(settings))
    if engine is None or engine.weights.custom_path or engine.weights.is_present():
        return ()
    return (engine.weights.package,)


def list_missing_embedding_weights(settings: Settings) -> "tuple[WeightsPackage, ...]":
    """Return the packages that the embedded embedding model would have to download first."""
    from junto.providers.embeddings.minilm import build_minilm_weights

    weights = build_minilm_weights(resolve_state_dir(settings) / "weights")
    pairs = zip(weights.packages, weights.paths, strict=True)
    return tuple(package for package, path in pairs if not path.is_file())


async def probe_local_model(settings: Settings, timeouts: "Timeouts") -> None:
    """Generate one token with the embedded model, starting an engine if necessary.

    Raises:
        JuntoError: the model does not answer.
    """
    from junto.providers.factory import open_provider_factory
    from junto.providers.provider import ask

    spec = build_embedded_spec(settings.embedded)
    if spec is None:
        return
    options = replace(
        build_provider_options(settings, resolve_state_dir(settings)), timeouts=timeouts
    )
    async with open_provider_factory(options) as build_provider:
        question = Question(model=spec.route.model, messages=(Message.user("Hello"),), max_tokens=1)
        await ask(build_provider(spec), question)


async def probe_embedding(settings: Settings) -> int:
    """Compute one embedding with the configured model, and return its number of dimensions.

    Raises:
        JuntoError: the embedding cannot be computed.
    """
    answers = settings.answers.model_copy(update={"max_retries": 0})
    redactor = Redactor(iter_secrets(settings))
    async with AsyncExitStack() as stack:
        state_dir = resolve_state_dir(settings)
        without_retries = settings.model_copy(update={"answers": answers})
        embedder = build_embedder(without_retries, state_dir, stack, redactor, UsageRecorder())
        if embedder is None:
            return 0
        [vector] = await embedder.embed(["hello"])
        return len(vector) // 4  # float32
