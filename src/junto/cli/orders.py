"""What somebody wants of `junto index`, as far as it makes sense together."""

from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be indexed, and how."""

    words: tuple[str, ...] = ()
    note: str | None = None
    title: str | None = None
    shared: bool = False
    remove: bool = False
    watch: bool = False
    words_only: bool = False
    as_json: bool = False
    listed: bool = False

    def check(self) -> None:
        """Refuse what contradicts itself.

        Raises:
            UsageError: it does.
        """
        noting = self.note is not None or "-" in self.words
        for wrong, reason in (
            (
                self.remove and not self.words,
                "--remove needs to know what: a path, an address, an id.",
            ),
            (
                self.remove and (noting or self.watch),
                "--remove goes with nothing but what to remove.",
            ),
            (self.watch and not set(self.words) - {"-"}, "--watch needs files or folders."),
            (self.title and not noting, "--title is for a note: --note TEXT, or - for a pipe."),
            (
                self.note is not None and "-" in self.words,
                "A note comes by --note or by -, not both.",
            ),
            (self.listed and self.words, "--list shows everything; `junto search path:…` less."),
            ("" in self.words, "An empty word names nothing; . is the folder you are in."),
        ):
            if wrong:
                raise click.UsageError(reason)
