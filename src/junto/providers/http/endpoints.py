"""Where a provider is asked, and with which headers."""

from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from junto.providers.catalog.catalog import Route
from junto.providers.catalog.known import Dialect
from junto.providers.wiring.wire import Endpoint

_ANTHROPIC_VERSION = "2023-06-01"
_MOST_LISTED = "1000"


def chat_endpoint(route: Route) -> Endpoint:
    """Return where questions to a model go."""
    path = "messages" if route.dialect is Dialect.ANTHROPIC else "chat/completions"
    return _endpoint(route, path)


def embedding_endpoint(route: Route) -> Endpoint:
    """Return where a model turns texts into vectors."""
    return _endpoint(route, "embeddings")


def list_endpoint(route: Route) -> Endpoint:
    """Return where a provider lists its models."""
    endpoint = _endpoint(route, "models")
    if route.dialect is not Dialect.ANTHROPIC:
        return endpoint
    return Endpoint(
        provider=endpoint.provider,
        url=f"{endpoint.url}?limit={_MOST_LISTED}",
        headers=endpoint.headers,
    )


def key_endpoint(route: Route) -> Endpoint | None:
    """Return where a provider tells for nothing whether it accepts a key, if its list does not."""
    # OpenRouter shows its list to everybody.
    return _endpoint(route, "key") if route.provider == "openrouter" else None


def _endpoint(route: Route, path: str) -> Endpoint:
    # Some addresses end in a query, as Azure's ?api-version=…; the path goes before it.
    parts = urlsplit(route.base_url or "")
    base = parts.path.rstrip("/")
    if route.dialect is Dialect.ANTHROPIC and not base.endswith("/v1"):
        base += "/v1"
    url = urlunsplit(parts._replace(path=f"{base}/{path}"))
    return Endpoint(provider=route.provider, url=url, headers=_headers(route))


def _headers(route: Route) -> Mapping[str, str]:
    if route.dialect is Dialect.ANTHROPIC:
        key = {"x-api-key": route.api_key} if route.api_key else {}
        return {"anthropic-version": _ANTHROPIC_VERSION, **key}
    if not route.api_key:
        return {}
    if route.provider == "azure":
        return {"api-key": route.api_key}
    return {"authorization": f"Bearer {route.api_key}"}
