"""Passages with some of the words of a question, the best first."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from junto.domain.documents import Match, Scope
from junto.storage.document_rows import AROUND
from junto.storage.postgres.counting import Word, any_of, counted, visible
from junto.storage.postgres.scopes import clauses

if TYPE_CHECKING:
    from junto.storage.postgres.database import Connection

# Indexes are all that is needed, however many passages have a word. To translate a statement into
# machine code, or to share it among processes, takes longer than to run it.
_SETTINGS = """
SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),
    set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('max_parallel_workers_per_gather', '0', true),
    set_config('random_page_cost', '1.1', true)
"""
_NARROW = f"""
SELECT p.key FROM documents d JOIN passages p ON p.document = d.key {AROUND}
WHERE {{which}} LIMIT %(enough)s
"""
_CANDIDATES = "SELECT * FROM passage_words WHERE words @@ %(wanted)s::tsquery"
# Keys are put in order without their words, which might not find room in memory.
_LATEST = """
SELECT * FROM passage_words WHERE passage = ANY(ARRAY(
    SELECT passage FROM passage_words WHERE words @@ %(wanted)s::tsquery
    ORDER BY passage DESC LIMIT {most}
))
"""
_RANKED = f"""
SELECT w.passage AS key, w.document, ({{ranks}}) / ln(10 + length(w.words)) AS score
FROM ({{candidates}}) AS w JOIN documents d ON d.key = w.document {AROUND}
WHERE {{which}} ORDER BY score DESC, key DESC LIMIT %(most)s
"""
# A word in the title or a heading says more about a passage than one in its text. The server knows
# nothing of how rare a word is, so each has a rank of its own, times that. Longer passages have
# more words anyway. The numbers are those that found most in two collections with known answers.
_RANK = "%(rarity{n})s * ts_rank('{{0.7, 0.7, 0.7, 1}}', w.words, %(word{n})s::tsquery)"


async def ranked(
    db: "Connection", scope: Scope, phrases: Sequence[str], most_ranked: int, most: int
) -> tuple[Match, ...]:
    """Return passages with the words that tell most, the best first."""
    await db.execute(_SETTINGS)
    names = await visible(db, scope.owner)
    words = await counted(db, phrases, names, most_ranked + 1)
    if not words:
        return ()
    own = f" & ({any_of(names)})" if names else ""
    rows = await _Ranking(db, scope, words, own, most_ranked, most).best()
    return tuple(Match(row["key"], row["document"], row["score"]) for row in rows)


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Words that are looked for within a scope, the rarest first."""

    db: "Connection"
    scope: Scope
    words: list[Word]
    own: str
    most_ranked: int
    most: int

    async def best(self) -> list[dict[str, Any]]:
        """Return the keys of passages and their scores."""
        few = await self._few()
        if few is not None:
            among = f"{_CANDIDATES} AND passage = ANY(%(few)s)"
            return await self._rows(among, _joined(" | ", self.words), few)
        totals = itertools.accumulate(word.number for word in self.words)
        pairs = zip(self.words, totals, strict=True)
        telling = [word for word, total in pairs if total <= self.most_ranked]
        if telling:
            return await self._rows(_CANDIDATES, _joined(" | ", telling) + self.own)
        # Even the rarest is everywhere: those with all words, and of them the latest.
        latest = _LATEST.format(most=self.most_ranked)
        together = await self._rows(latest, _joined(" & ", self.words) + self.own)
        return together or await self._rows(latest, _joined("", self.words[:1]) + self.own)

    async def _few(self) -> list[int] | None:
        """Return all passages within the scope, unless they are many."""
        if self.scope == Scope(owner=self.scope.owner):
            return None
        which, values = clauses(self.scope)
        sql, enough = _NARROW.format(which=which), self.most_ranked + 1
        found = await self.db.execute(sql.encode(), {**values, "enough": enough}, prepare=False)
        keys = [row["key"] for row in await found.fetchall()]
        return keys if len(keys) < enough else None

    async def _rows(
        self, candidates: str, wanted: str, few: Sequence[int] = ()
    ) -> list[dict[str, Any]]:
        which, values = clauses(self.scope)
        for n, word in enumerate(self.words):
            values |= {f"rarity{n}": word.rarity, f"word{n}": word.query}
        values |= {"wanted": wanted, "few": list(few), "most": self.most}
        ranks = " + ".join(_RANK.format(n=n) for n in range(len(self.words)))
        sql = _RANKED.format(ranks=ranks, candidates=candidates, which=which)
        # Never prepared: the best plan depends on how rare the words are.
        return await (await self.db.execute(sql.encode(), values, prepare=False)).fetchall()


def _joined(sign: str, words: Sequence[Word]) -> str:
    return f"({sign.join(f'({word.query})' for word in words)})"
