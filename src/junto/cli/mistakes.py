"""A mistake on the command line: what it is, what was probably meant, and what to do next."""

import click
from click.exceptions import NoArgsIsHelpError


def told(error: click.ClickException) -> str:
    """Return what to say about a mistake."""
    if isinstance(error, NoArgsIsHelpError):
        return error.format_message()
    lines = [f"junto: {error.format_message()}"]
    if isinstance(error, click.UsageError) and error.ctx:
        what = "lists the commands" if isinstance(error.ctx.command, click.Group) else "tells more"
        lines.append(f"`{error.ctx.command_path} --help` {what}.")
    return "\n".join(lines)
