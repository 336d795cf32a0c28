"""The search: by words and by meaning, joined, checked, and explained where nothing is found."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from junto.domain.documents import Document, Match, Passage, Scope, SearchIndex, Source
from junto.domain.embeddings import Embedder
from junto.domain.errors import InvalidInputError, JuntoError
from junto.knowledge.checks import FACTORS, Runs, is_new, runs_of, trust
from junto.knowledge.ranking import Ranked, joined
from junto.knowledge.wishes import Wish, wish
from junto.settings.choices import Trust
from junto.storage.words import phrases, snippet
from junto.telemetry.logs import Log

_log = Log.of("knowledge")

# So many passages are taken by each measure. More make no better order, only a longer way to it.
_DEPTH = 100
# So many more are looked at as are wanted; if too many of them are dropped, some more.
_SPARE = 3
# A search does not wait for a provider as long as an answer does; words alone find much.
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Standards:
    """What a result must fulfil."""

    threshold: float = 0.0
    similarity: float = 0.2
    trust: Mapping[str, Trust] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document that was found, and the passage of it that fits best."""

    document: Document
    passage: Passage
    score: float
    trust: Trust
    # The part of the passage with the words that were looked for.
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found, the best first, and what else there is to say about it."""

    hits: tuple[Hit, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """Searches what its caller may see."""

    index: SearchIndex
    embedder: Embedder | None
    standards: Standards = Standards()
    # Sees to it that what is searched is up to date.
    freshen: Callable[[Sequence[Source]], Awaitable[None]] | None = None
    # What is searched if nobody says: the manual would be in the way of everything else.
    everyday: tuple[Source, ...] = (Source.DOCUMENTS, Source.NOTES, Source.CONVERSATIONS)

    async def find(
        self, owner: str, query: str, most: int, sources: tuple[Source, ...] = ()
    ) -> Found:
        """Return what fits a query best.

        Raises:
            InvalidInputError: the query is empty, or a filter in it makes no sense.
        """
        wanted = wish(query, Scope(owner=owner, sources=sources))
        if not wanted.scope.sources:
            wanted = replace(wanted, scope=replace(wanted.scope, sources=self.everyday))
        if not wanted.text:
            raise InvalidInputError("query: it needs some words to look for.")
        if self.freshen:
            await self.freshen(wanted.scope.sources)
        words, meaning, problem = await self._both(wanted)
        ranked = joined((words, meaning))
        hits = await self._checked(ranked, wanted, most)
        return Found(hits, problem or (None if hits else self._why(wanted, ranked)))

    async def _both(self, wanted: Wish) -> tuple[Sequence[Match], Sequence[Match], str | None]:
        """Return what has the words, what is near by meaning, and why the latter is not known."""
        words = self.index.by_words(wanted.scope, phrases(wanted.text), _DEPTH)
        if self.embedder is None:
            return await words, (), None
        near = asyncio.create_task(self._near(wanted, self.embedder))
        try:
            return await words, *await near
        finally:
            near.cancel()

    async def _near(self, wanted: Wish, embedder: Embedder) -> tuple[Sequence[Match], str | None]:
        """Return what is near by meaning, or why nobody knows."""
        try:
            async with asyncio.timeout(_PATIENCE):
                model = await embedder.model()
                [vector] = await embedder.embed([wanted.text])
                near = await self.index.by_meaning(wanted.scope, model, vector, _DEPTH)
        except (JuntoError, TimeoutError) as error:
            reason = str(error) or "It takes too long."
            _log.info("searching by words alone", reason=reason)
            return (), f"Searched by words alone. {reason}"
        least = self.standards.similarity
        return [match for match in near if match.score >= least], None

    async def _checked(self, ranked: list[Ranked], wanted: Wish, most: int) -> tuple[Hit, ...]:
        """Return the best that are good enough, trusted, and not shown already."""
        words = phrases(wanted.text)
        shown: list[Hit] = []
        runs: list[Runs] = []
        for start in range(0, len(ranked), most + _SPARE):
            for hit in await self._hits(ranked[start : start + most + _SPARE]):
                good = hit.trust is not Trust.NONE and hit.score >= self.standards.threshold
                if good and is_new(own := runs_of(hit.passage.text), runs):
                    runs.append(own)
                    shown.append(replace(hit, snippet=snippet(hit.passage.text, words)))
                if len(shown) == most:
                    return tuple(shown)
        return tuple(shown)

    async def _hits(self, ranked: list[Ranked]) -> list[Hit]:
        passages = await self.index.passages([each.passage for each in ranked])
        there = [each for each in ranked if each.passage in passages]
        hits = [self._hit(passages[each.passage], each.score) for each in there]
        return sorted(hits, key=lambda hit: -hit.score)

    def _hit(self, passage: Passage, score: float) -> Hit:
        level = trust(passage.document.url, self.standards.trust)
        score = round(min(1.0, score * FACTORS[level]), 4)
        return Hit(document=passage.document, passage=passage, score=score, trust=level)

    def _why(self, wanted: Wish, ranked: list[Ranked]) -> str:
        if ranked:
            return "What was found is below knowledge.threshold or not trusted (knowledge.trust)."
        scope = wanted.scope
        narrow = scope.path or scope.kinds or scope.after or scope.before
        if narrow:
            return "Nothing fits within these filters. Try without some of them."
        meaning = " or this meaning" if self.embedder else ""
        return f"Nothing has these words{meaning}. Try fewer or other ones."
