"""Definitions of `junto chat`, `models` and `usage`."""

from pathlib import Path
from typing import Any

import click

from junto.cli.completion_values import complete_conversation, complete_model
from junto.cli.options import (
    CONVERSATION_FILES,
    json_option,
    junto,
    load_command_settings,
    with_settings,
)
from junto.domain.errors import InvalidInputError


@junto.command(
    short_help="Talk with a model in the terminal.",
    heading="Talk",
    examples={
        "junto chat": "Talk for as long as you like; /help shows what else there is:",
        'junto chat "Why is the sky blue?"': "Ask once; the answer is printed as it comes:",
        'git diff | junto chat "Review this."': "What comes through a pipe is added:",
        'junto chat --continue "And at night?"': "Go on with the latest conversation:",
    },
    files={**CONVERSATION_FILES, "chat_history": "beside it, has the lines you typed"},
    see=("junto models", "junto conversations"),
)
@click.argument("message", nargs=-1, help="What to ask. Without it, you talk line by line.")
@click.option(
    "-m",
    "--model",
    metavar="ID",
    help="The model to ask.  [default: default_model]",
    shell_complete=complete_model,
)
@click.option(
    "-c",
    "--conversation",
    metavar="ID",
    help="Go on with this conversation.",
    shell_complete=complete_conversation,
)
@click.option("--continue", "latest", is_flag=True, help="Go on with the latest conversation.")
@click.option(
    "--system", metavar="TEXT", help="Who the model should be.  [default: answers.system]"
)
@click.option(
    "--max-tokens",
    metavar="N",
    type=click.IntRange(1),
    help="The longest answer, in tokens.  [default: answers.max_tokens]",
)
@click.option(
    "--temperature",
    metavar="X",
    type=click.FloatRange(0, 2),
    help="How freely it chooses words.  [default: answers.temperature]",
)
@click.option(
    "--reasoning",
    type=click.Choice(["low", "medium", "high"]),
    help="How long it thinks before it answers.  [default: as the model likes]",
)
@click.option(
    "--seed", metavar="N", type=int, help="The same seed gives the same answer, where supported."
)
@with_settings
def chat(
    message: tuple[str, ...], config: Path | None, log_level: str | None, **options: Any
) -> None:
    """Talk with a model in the terminal.

    With MESSAGE or a pipe it asks once and prints the answer as it comes; otherwise it talks until
    Ctrl-D. The answer goes to standard output; in a terminal, what it cost and its id go to
    standard error. All is kept as a conversation, which any client of yours can go on with.
    """
    from junto.cli.chat import ChatOptions, run_chat
    from junto.domain.completions import Effort

    effort = options.pop("reasoning")
    chat_options = ChatOptions(**options, reasoning=Effort(effort) if effort else None)
    run_chat(load_command_settings(config, log_level), " ".join(message), chat_options)


@junto.command(
    short_help="List the models that can be asked.",
    heading="Talk",
    examples={
        "junto models": "Every model that can be asked:",
        "junto models haiku": "Those with a word in their names:",
        "junto models --refresh --json": "What the providers list now, for a program:",
    },
    files={"state_directory": "has models/, the providers' lists as they were last read"},
    exits={"1": "no model fits"},
    see=("junto chat", "junto config show"),
)
@click.argument("text", required=False, help="Only those with this in their names.")
@click.option("--refresh", is_flag=True, help="Ask the providers for their lists first.")
@json_option
@with_settings
def models(
    text: str | None, config: Path | None, log_level: str | None, *, refresh: bool, as_json: bool
) -> None:
    """List the models that can be asked, with windows and prices; * marks the default.

    WINDOW is how many tokens a question and its answer may have together; prices are for a million
    tokens, and ? is a price that is not known. A provider whose key is set is listed by itself;
    its own list is kept for a day, and without a network.
    """
    from junto.cli.models import print_models

    print_models(load_command_settings(config, log_level), text, refresh=refresh, as_json=as_json)


@junto.command(
    short_help="Show what was used, and what it cost.",
    heading="Talk",
    examples={
        "junto usage": "The last thirty days, by day, model and tool:",
        "junto usage --since today --by model": "Which models were asked today:",
        "junto usage --since 2026-11-01 --csv > usage.csv": "For a spreadsheet:",
    },
    files=CONVERSATION_FILES,
    see=("junto models",),
)
@click.option(
    "--by",
    type=click.Choice(["day", "model", "tool", "caller"]),
    help="One table instead of all.",
)
@click.option(
    "--since",
    "window",
    metavar="WINDOW",
    default="30d",
    show_default=True,
    help="From when on: today, a stretch such as 24h, 7d or 4w, or a day such as 2026-11-01.",
)
@click.option("--json", "form", flag_value="json", help="Print JSON, for programs.")
@click.option("--csv", "form", flag_value="csv", help="For spreadsheets; by day unless --by says.")
@with_settings
def usage(
    config: Path | None, log_level: str | None, window: str, by: str | None, form: str | None
) -> None:
    """Show calls, tokens and cost by day, model, tool and caller, and what is left of budgets.

    Calls are those of tools, and of `junto chat`; a model's are the questions that it got. A +
    after a cost says that some questions have no known price.
    """
    from junto.cli.usage import print_usage
    from junto.telemetry.usage_reports import parse_window_start

    try:
        parse_window_start(window, 0)
    except InvalidInputError as error:
        raise click.BadParameter(error.message, param_hint="--since") from None
    print_usage(load_command_settings(config, log_level), window, by, form)
