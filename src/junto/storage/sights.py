"""What can be told of a database by somebody who only looks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A database as it is found; nothing of it is changed."""

    server: str
    # The latest of our changes that it has seen, or None if it has seen none, and those to come.
    latest: str | None
    pending: tuple[str, ...]
    size: int
    # The version of its extension for vectors, and whether it could be had where it is not.
    vectors: str | None = None
    may_have_vectors: bool = False
    # Whether all of it could be looked through.
    whole: bool = True
