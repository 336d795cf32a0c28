"""How many of the passages that somebody may see have a word."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from junto.domain.documents import EVERYONE
from junto.storage.words import plain

if TYPE_CHECKING:
    from junto.storage.postgres.database import Connection

_ANYBODY_ELSE = """
SELECT EXISTS (SELECT FROM documents WHERE owner > %(everyone)s AND owner < %(owner)s)
    OR EXISTS (SELECT FROM documents WHERE owner > %(owner)s) AS others
"""
# To count a word, even up to a few, the server reads all that the index has on it. Of those that
# are everywhere it knows what part of the passages has them, so these are not counted: among those
# that somebody may see there are at least so many as if all the others had the word.
_COUNTED = """
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
_OTHERS = "1 - coalesce((SELECT sum(share) FROM common WHERE word = ANY(%(names)s)), 0)"


@dataclass(frozen=True, slots=True)
class Word:
    """A word or a phrase as the server writes it, and how many of all passages have it."""

    query: str
    number: float
    size: float

    @property
    def rarity(self) -> float:
        """How much it tells that a passage has this word."""
        without = max(0.0, self.size - self.number)
        return math.log(1 + (without + 0.5) / (self.number + 0.5))


async def visible(db: "Connection", owner: str) -> tuple[str, ...]:
    """Return the words that name whose passages `owner` may see, or none if that is all of them."""
    wanted = {"owner": owner, "everyone": EVERYONE}
    row = await (await db.execute(_ANYBODY_ELSE, wanted)).fetchone()
    return (name_of(owner), name_of(EVERYONE)) if row and row["others"] else ()


async def counted(
    db: "Connection", phrases: Sequence[str], names: Sequence[str], enough: int
) -> list[Word]:
    """Return the words that there are, the rarest first, counted until there are `enough`."""
    sql = _COUNTED.format(
        others=_OTHERS if names else "0", own="&& %(own)s::tsquery" if names else ""
    )
    values = {
        "phrases": [plain(phrase) for phrase in phrases],
        "names": list(names),
        "own": any_of(names),
        "enough": enough,
    }
    rows = await (await db.execute(sql.encode(), values, prepare=False)).fetchall()
    words = [Word(row["query"], row["number"], row["size"]) for row in rows if row["number"]]
    return sorted(words, key=lambda word: (word.number, word.query))


def name_of(owner: str) -> str:
    """Return the word among those of a passage that names its owner; no text has such a word."""
    return f"={owner[:100]}"


def any_of(names: Sequence[str]) -> str:
    """Return names as the server reads them in a question."""
    quoted = (name.replace("\\", "\\\\").replace("'", "''") for name in names)
    return " | ".join(f"'{name}'" for name in quoted)
