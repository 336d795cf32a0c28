"""Numbered changes to a database, each made once and recorded by its name."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

from junto.domain.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Migration:
    """One change: its name, which begins with its number, and its statements."""

    name: str
    script: str


def migrations(package: str) -> tuple[Migration, ...]:
    """Return the migrations that lie in `package`, in their order."""
    found = [entry for entry in files(package).iterdir() if entry.name.endswith(".sql")]
    return tuple(
        Migration(entry.name.removesuffix(".sql"), entry.read_text("utf-8"))
        for entry in sorted(found, key=lambda entry: entry.name)
    )


def missing(known: tuple[Migration, ...], done: Iterable[str]) -> tuple[Migration, ...]:
    """Return what is still to be done.

    Raises:
        ConfigurationError: the database has seen changes that this Junto does not know.
    """
    made = set(done)
    foreign = sorted(made - {migration.name for migration in known})
    if foreign:
        raise ConfigurationError(
            f"The database was made by a newer Junto: it knows {foreign[-1]}, which this one does "
            "not. Update Junto, or choose another database with database.url or state_directory."
        )
    return tuple(migration for migration in known if migration.name not in made)
