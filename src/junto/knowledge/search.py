"""Search by keywords and by vectors: relevance, thresholds, and hints when nothing is found."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from junto.domain.documents import (
    Document,
    Embedder,
    Match,
    Passage,
    SearchIndex,
    SearchScope,
    Source,
)
from junto.domain.errors import InvalidInputError, JuntoError
from junto.knowledge.query import SearchQuery, parse_query
from junto.knowledge.ranking import (
    TRUST_FACTORS,
    Candidate,
    Shingles,
    build_shingles,
    is_new,
    merge_matches,
    resolve_trust,
    score_relevance,
)
from junto.settings.enums import SourceTrust
from junto.telemetry.logs import Log
from junto.text.tokenizer import extract_phrases, extract_snippet, measure_coverage

_log = Log.get("knowledge")

# Passages requested from each method; more do not improve the ranking.
_MATCHES_PER_METHOD = 100
# Candidates whose text is loaded at a time, to score and to order them.
_CANDIDATES_AT_A_TIME = 50
# Shorter than the timeout for an answer: keyword search alone already finds much.
_EMBEDDING_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class SearchThresholds:
    """The conditions that a result must meet."""

    min_score: float = 0.5
    min_similarity: float = 0.2
    trust_patterns: Mapping[str, SourceTrust] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document found by a search, and its best passage."""

    document: Document
    passage: Passage
    score: float
    trust: SourceTrust
    # The part of the passage that contains the searched words.
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """The results of a search, the best first, and a note if something needs explaining."""

    hits: tuple[Hit, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """Search in the documents that an owner may see."""

    index: SearchIndex
    embedder: Embedder | None
    thresholds: SearchThresholds = SearchThresholds()
    # Brings these sources up to date before a search.
    refresh: Callable[[Sequence[Source]], Awaitable[None]] | None = None
    # Sources searched by default; the manual would displace other results.
    default_sources: tuple[Source, ...] = (Source.DOCUMENTS, Source.NOTES, Source.CONVERSATIONS)

    async def find(
        self, owner: str, query: str, max_hits: int, sources: tuple[Source, ...] = ()
    ) -> SearchResponse:
        """Return the best results for a query.

        Raises:
            InvalidInputError: the query is empty, or a filter in it is invalid.
        """
        parsed = parse_query(query, SearchScope(owner=owner, sources=sources))
        if not parsed.scope.sources:
            parsed = replace(parsed, scope=replace(parsed.scope, sources=self.default_sources))
        if not parsed.text:
            raise InvalidInputError("query: it needs some words to look for.")
        if self.refresh:
            await self.refresh(parsed.scope.sources)
        keyword_matches, vector_matches, problem = await self._find_matches(parsed)
        candidates = [
            candidate
            for candidate in merge_matches(keyword_matches, vector_matches, _MATCHES_PER_METHOD)
            if self._is_near(candidate)
        ]
        hits = await self._select_hits(candidates, parsed, max_hits)
        return SearchResponse(
            hits, problem or (None if hits else self._explain_no_hits(parsed, candidates))
        )

    def _is_near(self, candidate: Candidate) -> bool:
        """Return whether a document was found by its words, or is similar enough without them."""
        similarity = candidate.similarity or 0.0
        return candidate.keyword_score > 0 or similarity >= self.thresholds.min_similarity

    async def _find_matches(
        self, query: SearchQuery
    ) -> tuple[Sequence[Match], Sequence[Match], str | None]:
        """Return keyword matches, vector matches, and why the latter are missing, if they are."""
        keyword_search = self.index.search_keywords(
            query.scope, extract_phrases(query.text), _MATCHES_PER_METHOD
        )
        if self.embedder is None:
            return await keyword_search, (), None
        vector_search = asyncio.create_task(self._find_similar(query, self.embedder))
        try:
            return await keyword_search, *await vector_search
        finally:
            vector_search.cancel()

    async def _find_similar(
        self, query: SearchQuery, embedder: Embedder
    ) -> tuple[Sequence[Match], str | None]:
        """Return vector matches, or the reason why there are none."""
        try:
            async with asyncio.timeout(_EMBEDDING_TIMEOUT_SECONDS):
                model = await embedder.model()
                [vector] = await embedder.embed([query.text])
                matches = await self.index.search_vectors(
                    query.scope, model, vector, _MATCHES_PER_METHOD
                )
        except (JuntoError, TimeoutError) as error:
            reason = str(error) or "It takes too long."
            _log.info("searching by words alone", reason=reason)
            return (), f"Searched by words alone. {reason}"
        return matches, None

    async def _select_hits(
        self, candidates: list[Candidate], query: SearchQuery, max_hits: int
    ) -> tuple[Hit, ...]:
        """Return the best hits that are relevant, trusted, and not near-duplicates."""
        phrases = extract_phrases(query.text)
        hits: list[Hit] = []
        seen: list[Shingles] = []
        for start in range(0, len(candidates), _CANDIDATES_AT_A_TIME):
            batch = candidates[start : start + _CANDIDATES_AT_A_TIME]
            for hit in await self._load_hits(batch, phrases):
                acceptable = (
                    hit.trust is not SourceTrust.NONE and hit.score >= self.thresholds.min_score
                )
                if acceptable and is_new(shingles := build_shingles(hit.passage.text), seen):
                    seen.append(shingles)
                    hits.append(replace(hit, snippet=extract_snippet(hit.passage.text, phrases)))
                if len(hits) == max_hits:
                    return tuple(hits)
        return tuple(hits)

    async def _load_hits(self, candidates: list[Candidate], phrases: tuple[str, ...]) -> list[Hit]:
        """Return the candidates as hits, the best first; conversations follow documents."""
        passages = await self.index.load_passages([each.passage_key for each in candidates])
        ranked = [
            self._build_hit(passages[each.passage_key], each, phrases)
            for each in candidates
            if each.passage_key in passages
        ]
        ranked.sort(key=lambda pair: (pair[1].document.source is Source.CONVERSATIONS, -pair[0]))
        return [hit for _, hit in ranked]

    def _build_hit(
        self, passage: Passage, candidate: Candidate, phrases: tuple[str, ...]
    ) -> tuple[float, Hit]:
        """Return a hit, and the value by which it is ordered."""
        title = () if passage.document.message is not None else (passage.document.title,)
        searched = " ".join((*title, *passage.headings, passage.text))
        coverage = measure_coverage(searched, phrases)
        trust = resolve_trust(passage.document.url, self.thresholds.trust_patterns)
        factor = TRUST_FACTORS[trust]
        score = round(min(1.0, score_relevance(candidate, coverage) * factor), 4)
        hit = Hit(document=passage.document, passage=passage, score=score, trust=trust)
        return candidate.rank(coverage) * factor, hit

    def _explain_no_hits(self, query: SearchQuery, candidates: list[Candidate]) -> str:
        if candidates:
            return "Nothing relevant was found. Try other words, or lower knowledge.threshold."
        scope = query.scope
        has_filters = scope.path or scope.kinds or scope.after or scope.before
        if has_filters:
            return "Nothing fits within these filters. Try without some of them."
        or_meaning = " or this meaning" if self.embedder else ""
        return f"Nothing has these words{or_meaning}. Try fewer or other ones."
