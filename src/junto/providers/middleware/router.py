"""Route each question to the model it names, through that model's pipeline.

The wrappers of a pipeline, outermost first, and the reasons for their order:

    Fallback            another model has its own price, limits and cache, so this is outermost
    Cached              a cached answer costs nothing and uses no limits
    CapabilityChecked   unsupported questions are rejected before anything is reserved
    Budgeted            the cost is reserved once for a question, however often it is retried
    CircuitBreaker      an open circuit fails without waiting, so the next model is asked at once
    Retrying            each attempt counts against the limits, as it does at the provider
    RateLimited         waiting for the rate limit uses up no concurrent call
    ConcurrencyLimited  only calls that are actually sent are counted
    Measured            the provider is measured, without our own waiting
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace

from typing_extensions import override

from junto.domain.completions import Event, Question
from junto.domain.limits import BudgetAccount, Ledger, RateLimit, RateLimiter
from junto.provider_specs.spec import Dialect
from junto.providers.catalog.catalog import Catalog, ModelSpec
from junto.providers.middleware.budget import Budgeted
from junto.providers.middleware.cache import AnswerCache, Cached
from junto.providers.middleware.circuit import Circuit, CircuitBreaker
from junto.providers.middleware.guards import CapabilityChecked
from junto.providers.middleware.limits import ConcurrencyLimited, RateLimited
from junto.providers.middleware.metrics import Measured, ModelTelemetry
from junto.providers.middleware.retry import Fallback, FallbackCandidate, Retrying
from junto.providers.provider import Provider

_MAX_PIPELINES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions:
    """Options for the pipelines of all models."""

    max_retries: int = 3
    rate: RateLimit = field(default_factory=RateLimit)
    max_wait_seconds: float = 30
    max_concurrent_calls: int = 100
    failure_threshold: int = 5
    cooldown_seconds: float = 30
    accounts: tuple[BudgetAccount, ...] = ()
    fallback: tuple[str, ...] = ()


@dataclass(eq=False, slots=True, kw_only=True)
class Council(Provider):
    """A provider that routes by model id; each answer names the model that gave it."""

    catalog: Catalog
    build_provider: Callable[[ModelSpec], Provider]
    options: PipelineOptions
    telemetry: ModelTelemetry
    limiter: RateLimiter
    ledger: Ledger
    cache: AnswerCache | None = None
    _pipelines: dict[ModelSpec, Provider] = field(default_factory=dict, init=False)
    _circuits: dict[str, Circuit] = field(default_factory=dict, init=False)
    _semaphores: dict[str, asyncio.Semaphore] = field(default_factory=dict, init=False)

    @override
    def stream(self, question: Question) -> AsyncGenerator[Event]:
        spec = self.catalog.find(question.model)
        fallbacks = self.catalog.iter_known(spec.fallback or self.options.fallback)
        candidates = [self._get_candidate(each) for each in dict.fromkeys([spec, *fallbacks])]
        return Fallback(candidates).stream(question)

    def _get_candidate(self, model_spec: ModelSpec) -> FallbackCandidate:
        if model_spec not in self._pipelines:
            # Bounded, because callers can name any number of unlisted models.
            if len(self._pipelines) >= _MAX_PIPELINES:
                del self._pipelines[next(iter(self._pipelines))]
            self._pipelines[model_spec] = self._build_pipeline(model_spec)
        return FallbackCandidate(model_spec.id, self._pipelines[model_spec], model_spec.route.model)

    def _build_pipeline(self, model_spec: ModelSpec) -> Provider:
        if model_spec.route.dialect is Dialect.CLIENT:
            # Each client has its own model, so clients must not share answers, limits or failures.
            return CapabilityChecked(
                self._build_measured(model_spec), model_spec.capabilities, model_spec.id
            )
        is_local = model_spec.route.dialect is Dialect.EMBEDDED
        provider_name = model_spec.route.provider
        # Two servers may have the same provider name, and only one of them may be down.
        server = f"{provider_name} {model_spec.route.base_url}"
        pipeline: Provider = ConcurrencyLimited(
            self._build_measured(model_spec), self._get_semaphore(server)
        )
        if not is_local:
            pipeline = RateLimited(
                pipeline,
                self.limiter,
                model_spec.id,
                self._resolve_rate(model_spec),
                self.options.max_wait_seconds,
            )
        pipeline = Retrying(pipeline, self.options.max_retries)
        pipeline = CircuitBreaker(pipeline, self._get_circuit(provider_name, server))
        if self.options.accounts:
            price = self.catalog.describe(model_spec).price
            pipeline = Budgeted(pipeline, self.ledger, self.options.accounts, price, model_spec.id)
        pipeline = CapabilityChecked(pipeline, model_spec.capabilities, model_spec.id)
        return Cached(pipeline, self.cache, f"{model_spec.id} {server}") if self.cache else pipeline

    def _build_measured(self, model_spec: ModelSpec) -> Provider:
        return Measured(
            self.build_provider(model_spec),
            self.telemetry,
            model_spec.route.provider,
            model_spec.id,
            lambda: self.catalog.describe(model_spec).price,
        )

    def _resolve_rate(self, model_spec: ModelSpec) -> RateLimit:
        default = self.options.rate
        return replace(
            default,
            requests=model_spec.requests_per_minute or default.requests,
            tokens=model_spec.tokens_per_minute or default.tokens,
        )

    def _get_circuit(self, provider: str, server: str) -> Circuit:
        return self._circuits.setdefault(
            server, Circuit(provider, self.options.failure_threshold, self.options.cooldown_seconds)
        )

    def _get_semaphore(self, server: str) -> asyncio.Semaphore:
        return self._semaphores.setdefault(
            server, asyncio.Semaphore(self.options.max_concurrent_calls)
        )
