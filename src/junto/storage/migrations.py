"""Numbered schema changes, each applied once and recorded by name, and the state of a database.

A migration file may start with `-- compatible_from: NAME`: servers that know NAME or a later
migration keep working after the change, although they do not know the change itself. Without that
line every older server is refused.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from junto.domain.errors import ConfigurationError

_COMPATIBLE_FROM = re.compile(r"-- compatible_from: (\w+)\n")


@dataclass(frozen=True, slots=True)
class Migration:
    """One schema change. Names start with a number, so they sort in the order of application."""

    name: str
    script: str

    @property
    def compatible_from(self) -> str:
        """Return the oldest migration that a server has to know to work with the changed schema."""
        header = _COMPATIBLE_FROM.match(self.script)
        return header[1] if header else self.name


def load_migrations(package: str) -> tuple[Migration, ...]:
    """Return the migrations in `package`, in the order of application."""
    scripts = [entry for entry in files(package).iterdir() if entry.name.endswith(".sql")]
    return tuple(
        Migration(script.name.removesuffix(".sql"), script.read_text("utf-8"))
        for script in sorted(scripts, key=lambda script: script.name)
    )


def decode_applied_migrations(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the `compatible_from` of each migration in rows of the table `migrations`.

    Databases of 0.1.0 do not have that column yet.
    """
    return {row["name"]: row.get("compatible_from") or row["name"] for row in rows}


def find_pending_migrations(
    available: tuple[Migration, ...], applied: Mapping[str, str]
) -> tuple[Migration, ...]:
    """Return the migrations that have not been applied yet.

    Raises:
        ConfigurationError: a newer Junto has changed the schema, and this version cannot use it.
    """
    names = {migration.name for migration in available}
    newest = max(names, default="")
    incompatible = sorted(
        name for name, required in applied.items() if name not in names and required > newest
    )
    if incompatible:
        raise ConfigurationError(
            f"The database was upgraded by a newer Junto ({incompatible[-1]}), and this version "
            "cannot work with it. Upgrade Junto, or choose another database with database.url or "
            "state_directory."
        )
    return tuple(migration for migration in available if migration.name not in applied)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseInfo:
    """The state of a database, as a read-only inspection reports it."""

    server: str
    # None if no migration was applied yet.
    latest_migration: str | None
    pending_migrations: tuple[str, ...]
    size_bytes: int
    # None if the extension is not installed; it may still be available for installation.
    vector_extension_version: str | None = None
    is_vector_extension_available: bool = False
    # Whether the integrity check reached the end of the database.
    is_fully_checked: bool = True
