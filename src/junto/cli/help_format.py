"""Help that reads like a page of a manual: what it does, options, examples, files, exit codes."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import click
from typing_extensions import override

# In this order they stand in `junto --help`; the last is for those that have none.
HEADINGS = ("Talk", "Know", "Serve", "Connect", "Set up", "Help", "Commands")
# Options that every command has stand apart from those that are its own.
_COMMON = ("config", "log_level", "_click_default_help")
_COLUMN = 26


class Page(click.Command):
    """A command with a heading to stand under, and examples and more in its help."""

    def __init__(
        self,
        *arguments: Any,
        heading: str = "",
        examples: Mapping[str, str] | None = None,
        files: Mapping[str, str] | None = None,
        exits: Mapping[str, str] | None = None,
        see: Sequence[str] = (),
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.heading = heading
        self.examples = examples or {}
        self.files = files or {}
        self.exits = exits or {}
        self.see = see

    @override
    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params = self.get_params(ctx)
        records = [each.get_help_record(ctx) for each in params if isinstance(each, click.Argument)]
        if records:
            with formatter.section("Arguments"):
                formatter.write_dl(records, col_max=_COLUMN)

    @override
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record and not isinstance(param, click.Argument):
                (common if param.name in _COMMON else own).append(record)
        if len(common) == 1:
            own, common = own + common, []
        for title, records in (("Options", own), ("Common options", common)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=_COLUMN)

    @override
    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for command, meaning in self.examples.items():
                    formatter.write_text(meaning)
                    formatter.write(f"{'':>{formatter.current_indent + 2}}{command}\n")
        for title, told in (("Files", self.files), ("Exit codes", self.exits)):
            if told:
                with formatter.section(title):
                    formatter.write_dl(list(told.items()), col_max=_COLUMN)
        if self.see:
            with formatter.section("See also"):
                formatter.write_text(", ".join(self.see))


class Pages(Page, click.Group):
    """A command with commands of its own, which its help lists under their headings."""

    command_class = Page
    group_class = type

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names by their headings, in the order in which they were made known."""
        return sorted(self.commands, key=lambda name: HEADINGS.index(self._heading(name)))

    def _heading(self, name: str) -> str:
        heading: str = getattr(self.commands[name], "heading", "")
        return heading if heading in HEADINGS else HEADINGS[-1]

    @override
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        Page.format_options(self, ctx, formatter)

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        widest = max(map(len, names))
        for heading, under in groupby(names, self._heading):
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name.ljust(widest), self.commands[name].get_short_help_str(limit=100))
                        for name in under
                    ]
                )
