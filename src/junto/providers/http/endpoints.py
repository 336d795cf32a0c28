"""Build the URLs and headers of provider endpoints."""

from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from junto.provider_specs.registry import find_spec
from junto.provider_specs.spec import Dialect
from junto.providers.catalog.catalog import Route
from junto.providers.http.client import Endpoint

_ANTHROPIC_VERSION = "2023-06-01"
_MAX_LISTED_MODELS = "1000"


def build_chat_endpoint(route: Route) -> Endpoint:
    """Return the endpoint for questions to a model."""
    path = "messages" if route.dialect is Dialect.ANTHROPIC else "chat/completions"
    return _build_endpoint(route, path)


def build_embedding_endpoint(route: Route) -> Endpoint:
    """Return the endpoint for embeddings."""
    return _build_endpoint(route, "embeddings")


def build_models_endpoint(route: Route) -> Endpoint:
    """Return the endpoint that lists the provider's models."""
    endpoint = _build_endpoint(route, "models")
    if route.dialect is not Dialect.ANTHROPIC:
        return endpoint
    return Endpoint(
        provider=endpoint.provider,
        url=f"{endpoint.url}?limit={_MAX_LISTED_MODELS}",
        headers=endpoint.headers,
    )


def build_key_endpoint(route: Route) -> Endpoint | None:
    """Return a free endpoint that checks the key, if the list of models does not."""
    path = find_spec(route.provider).key_check_path
    return _build_endpoint(route, path) if path else None


def _build_endpoint(route: Route, path: str) -> Endpoint:
    # Some base URLs end in a query, such as Azure's ?api-version=…; the path goes before it.
    parts = urlsplit(route.base_url or "")
    base_path = parts.path.rstrip("/")
    if route.dialect is Dialect.ANTHROPIC and not base_path.endswith("/v1"):
        base_path += "/v1"
    url = urlunsplit(parts._replace(path=f"{base_path}/{path}"))
    return Endpoint(provider=route.provider, url=url, headers=_build_headers(route))


def _build_headers(route: Route) -> Mapping[str, str]:
    version = {"anthropic-version": _ANTHROPIC_VERSION}
    headers = version if route.dialect is Dialect.ANTHROPIC else {}
    if not route.api_key:
        return headers
    if key_header := find_spec(route.provider).key_header:
        return {**headers, key_header: route.api_key}
    return {**headers, "authorization": f"Bearer {route.api_key}"}
