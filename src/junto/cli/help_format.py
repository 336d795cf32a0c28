"""Click commands whose help has sections like a man page: examples, files and exit codes."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import click
from typing_extensions import override

# Section order in `junto --help`; commands without a heading are listed under the last one.
HEADINGS = ("Talk", "Know", "Serve", "Connect", "Set up", "Help", "Commands")
# Options shared by all commands are listed apart from those specific to one.
_COMMON_OPTIONS = ("config", "log_level", "_click_default_help")
_MAX_TERM_COLUMNS = 26


class DocumentedCommand(click.Command):
    """A command with a heading in the command list, and more sections in its help."""

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
                formatter.write_dl(records, col_max=_MAX_TERM_COLUMNS)

    @override
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record and not isinstance(param, click.Argument):
                (common if param.name in _COMMON_OPTIONS else own).append(record)
        if len(common) == 1:
            own, common = own + common, []
        for title, records in (("Options", own), ("Common options", common)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=_MAX_TERM_COLUMNS)

    @override
    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for command, description in self.examples.items():
                    formatter.write_text(description)
                    formatter.write(f"{'':>{formatter.current_indent + 2}}{command}\n")
        for title, entries in (("Files", self.files), ("Exit codes", self.exits)):
            if entries:
                with formatter.section(title):
                    formatter.write_dl(list(entries.items()), col_max=_MAX_TERM_COLUMNS)
        if self.see:
            with formatter.section("See also"):
                formatter.write_text(", ".join(self.see))


class DocumentedGroup(DocumentedCommand, click.Group):
    """A command group whose help lists its commands under their headings."""

    command_class = DocumentedCommand
    group_class = type

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return command names sorted by heading, then in the order they were registered."""
        return sorted(self.commands, key=lambda name: HEADINGS.index(self._get_heading(name)))

    def _get_heading(self, name: str) -> str:
        heading: str = getattr(self.commands[name], "heading", "")
        return heading if heading in HEADINGS else HEADINGS[-1]

    @override
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        DocumentedCommand.format_options(self, ctx, formatter)

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        width = max(map(len, names))
        for heading, section in groupby(names, self._get_heading):
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name.ljust(width), self.commands[name].get_short_help_str(limit=100))
                        for name in section
                    ]
                )
