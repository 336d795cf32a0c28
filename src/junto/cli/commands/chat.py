"""`junto chat`, the `models` that it asks, and the `usage` that comes of it."""

from pathlib import Path
from typing import Any

import click

from junto.cli.options import KEPT, as_json, junto, loaded_with, with_settings
from junto.cli.values import conversation_ids, model_ids
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
    files={**KEPT, "chat_history": "beside it, has the lines you typed"},
    see=("junto models", "junto conversations"),
)
@click.argument("message", nargs=-1, help="What to ask. Without it, you talk line by line.")
@click.option(
    "-m",
    "--model",
    metavar="ID",
    help="The model to ask.  [default: default_model]",
    shell_complete=model_ids,
)
@click.option(
    "-c",
    "--conversation",
    metavar="ID",
    help="Go on with this conversation.",
    shell_complete=conversation_ids,
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
    message: tuple[str, ...], config: Path | None, log_level: str | None, **wishes: Any
) -> None:
    """Talk with a model in the terminal.

    With MESSAGE or a pipe it asks once and prints the answer as it comes; otherwise it talks until
    Ctrl-D. The answer goes to standard output; in a terminal, what it cost and its id go to
    standard error. All is kept as a conversation, which any client of yours can go on with.
    """
    from junto.cli.chat import Wishes
    from junto.cli.chat import chat as answer
    from junto.domain.questions import Effort

    effort = wishes.pop("reasoning")
    chosen = Wishes(**wishes, reasoning=Effort(effort) if effort else None)
    answer(loaded_with(config, log_level), " ".join(message), chosen)


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
@as_json
@with_settings
def models(
    text: str | None, config: Path | None, log_level: str | None, *, refresh: bool, as_json: bool
) -> None:
    """List the models that can be asked, with windows and prices; * marks the default.

    WINDOW is how many tokens a question and its answer may have together; prices are for a million
    tokens, and ? is a price that is not known. A provider whose key is set is listed by itself;
    its own list is kept for a day, and without a network.
    """
    from junto.cli.models import models as listed

    listed(loaded_with(config, log_level), text, refresh=refresh, as_json=as_json)


@junto.command(
    short_help="Show what was used, and what it cost.",
    heading="Talk",
    examples={
        "junto usage": "The last thirty days, by day, model and tool:",
        "junto usage --since today --by model": "Which models were asked today:",
        "junto usage --since 2026-11-01 --csv > usage.csv": "For a spreadsheet:",
    },
    files=KEPT,
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
    from junto.cli.usage import usage as told
    from junto.telemetry.reports import beginning

    try:
        beginning(window, 0)
    except InvalidInputError as error:
        raise click.BadParameter(error.message, param_hint="--since") from None
    told(loaded_with(config, log_level), window, by, form)
