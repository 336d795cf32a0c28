"""Counts of the passages with a word, among those that an owner may see."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from junto.domain.documents import PUBLIC_OWNER
from junto.text.tokenizer import normalize_words

if TYPE_CHECKING:
    from junto.storage.postgres.database import Connection

_SELECT_HAS_OTHER_OWNERS = """
SELECT EXISTS (SELECT FROM documents WHERE owner > %(everyone)s AND owner < %(owner)s)
    OR EXISTS (SELECT FROM documents WHERE owner > %(owner)s) AS others
"""
# Counting a word, even up to a limit, reads all of its index entries. For common words the
# statistics already have the share of passages that contain them, so these are not counted but
# estimated: the lower bound is what remains if all passages of other owners contain the word.
_COUNT_WORDS = """
WITH common AS MATERIALIZED (
    SELECT known.word, known.share
    FROM pg_stats s, unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs)
        AS known (word, share)
    WHERE s.schemaname = current_schema() AND s.tablename = 'passage_words' AND s.attname = 'words'
), size AS MATERIALIZED (
    SELECT greatest(c.reltuples, 0) AS analyzed, {others} AS others,
        (SELECT max(passage) - min(passage) + 1 FROM passage_words) AS span
    FROM pg_class c WHERE c.oid = 'passage_words'::regclass
), asked AS MATERIALIZED (
    SELECT DISTINCT phraseto_tsquery('junto', phrase) AS query
    FROM unnest(%(phrases)s::text[]) AS phrase
), guessed AS MATERIALIZED (
    SELECT asked.query, (common.share - size.others) * size.analyzed AS number,
        coalesce(nullif(size.analyzed, 0), size.span, 0) AS size
    FROM size, asked LEFT JOIN common ON asked.query::text = '''' || common.word || ''''
    WHERE numnode(asked.query) > 0
)
SELECT query::text, size, CASE WHEN number >= %(enough)s THEN number ELSE (
    SELECT count(*) FROM (
        SELECT FROM passage_words w WHERE w.words @@ (guessed.query {own}) LIMIT %(enough)s
    ) AS few
) END AS number
FROM guessed
"""
_OTHER_OWNERS_SHARE = "1 - coalesce((SELECT sum(share) FROM common WHERE word = ANY(%(names)s)), 0)"


@dataclass(frozen=True, slots=True)
class WordCount:
    """A word or phrase as a tsquery, the number of passages with it, and of all passages."""

    query: str
    passage_count: float
    total_passages: float

    @property
    def rarity(self) -> float:
        """Return the inverse document frequency, as in BM25."""
        passages_without = max(0.0, self.total_passages - self.passage_count)
        return math.log(1 + (passages_without + 0.5) / (self.passage_count + 0.5))


async def load_owner_terms(db: "Connection", owner: str) -> tuple[str, ...]:
    """Return the owner terms of passages that `owner` may see, or none if that is all of them."""
    values = {"owner": owner, "everyone": PUBLIC_OWNER}
    row = await (await db.execute(_SELECT_HAS_OTHER_OWNERS, values)).fetchone()
    return (
        (build_owner_term(owner), build_owner_term(PUBLIC_OWNER)) if row and row["others"] else ()
    )


async def count_words(
    db: "Connection", phrases: Sequence[str], owner_terms: Sequence[str], max_count: int
) -> list[WordCount]:
    """Return the phrases that occur, rarest first, counted up to `max_count`."""
    sql = _COUNT_WORDS.format(
        others=_OTHER_OWNERS_SHARE if owner_terms else "0",
        own="&& %(own)s::tsquery" if owner_terms else "",
    )
    values = {
        "phrases": [normalize_words(phrase) for phrase in phrases],
        "names": list(owner_terms),
        "own": build_or_query(owner_terms),
        "enough": max_count,
    }
    rows = await (await db.execute(sql.encode(), values, prepare=False)).fetchall()
    words = [WordCount(row["query"], row["number"], row["size"]) for row in rows if row["number"]]
    return sorted(words, key=lambda word: (word.passage_count, word.query))


def build_owner_term(owner: str) -> str:
    """Return the term that marks a passage's owner in its tsvector; no text contains it."""
    return f"={owner[:100]}"


def build_or_query(terms: Sequence[str]) -> str:
    """Return a tsquery that matches any of the terms."""
    escaped = (term.replace("\\", "\\\\").replace("'", "''") for term in terms)
    return " | ".join(f"'{term}'" for term in escaped)
