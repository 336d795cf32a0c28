"""The help of every command is complete, correct and readable at any width."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path

import click
import pytest

from junto.cli.commands import chat, config, conversations, install, knowledge, server
from junto.cli.commands import help as help_
from junto.cli.completion_values import CLIENT_NAMES
from junto.cli.help_format import HEADINGS, DocumentedCommand
from junto.cli.options import junto as command
from junto.settings.fields import collect_fields
from tests.clients import TIMEOUT_SECONDS, clean_environment, junto_command

ROOT = Path(__file__).parents[2]
MAX_WIDTH = 100
# Importing these modules registers their commands.
COMMAND_MODULES = (chat, config, conversations, help_, install, knowledge, server)


def _walk_pages(
    page: click.Command, parent: click.Context | None = None
) -> Iterator[click.Context]:
    ctx = click.Context(page, info_name=page.name, parent=parent, **page.context_settings)
    yield ctx
    if isinstance(page, click.Group):
        for subcommand in page.commands.values():
            yield from _walk_pages(subcommand, ctx)


PAGES = {ctx.command_path: ctx for ctx in _walk_pages(command)}
each_page = pytest.mark.parametrize("ctx", PAGES.values(), ids=PAGES)


def _page(ctx: click.Context) -> DocumentedCommand:
    assert isinstance(ctx.command, DocumentedCommand)
    return ctx.command


def run(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        junto_command(*words),
        env=clean_environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


@each_page
def test_a_page_has_a_summary_examples_and_help_for_every_option(ctx: click.Context) -> None:
    page = _page(ctx)

    if ctx.parent:
        assert page.short_help
        assert page.short_help.endswith(".")
        assert len(page.short_help) <= 60
    if ctx.parent and ctx.parent.command is command:
        assert page.heading in HEADINGS[:-1]
    assert page.help
    assert page.examples
    assert page.see
    for param in page.get_params(ctx):
        assert isinstance(param, click.Option | click.Argument)
        if not getattr(param, "hidden", False):
            assert param.help, param.name


@each_page
@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(
    ctx: click.Context, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    for line in ctx.get_help().splitlines():
        assert len(line) <= min(columns, MAX_WIDTH) or " " not in line.strip(), line


def _split_commands(line: str) -> Iterator[list[str]]:
    """Yield the arguments of every `junto` command on a shell command line."""
    inner = re.search(r"\$\((.*)\)", line)
    for part in re.split(r"[|<>]", inner.group(1) if inner else line):
        if part.strip().startswith("junto"):
            yield shlex.split(part)[1:]


@each_page
def test_every_example_is_a_valid_command_line(
    ctx: click.Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.jsonl").touch()
    for line in _page(ctx).examples:
        commands = list(_split_commands(line))
        assert commands, line
        for words in commands:
            _parse(words)


def _parse(words: list[str]) -> None:
    """Parse the words as the program does, without running the command."""
    with ExitStack() as stack:
        ctx = stack.enter_context(command.make_context("junto", list(words)))
        while isinstance(ctx.command, click.Group):
            name, subcommand, rest = ctx.command.resolve_command(
                ctx, [*ctx._protected_args, *ctx.args]
            )
            assert subcommand
            ctx = stack.enter_context(subcommand.make_context(name, rest, parent=ctx))


def test_an_invalid_example_is_detected() -> None:
    with pytest.raises(click.NoSuchOption):
        _parse(["chat", "--modle", "x"])
    assert list(_split_commands('eval "$(junto completion bash)"')) == [["completion", "bash"]]


@each_page
def test_settings_files_and_pages_that_help_mentions_exist(ctx: click.Context) -> None:
    page = _page(ctx)
    defaults = re.findall(r"\[default: ([a-z]+[._][a-z_.]+)", re.sub(r"\s+", " ", ctx.get_help()))

    assert set(defaults) - {"junto.yaml"} <= set(collect_fields())
    assert {name for name in page.files if re.fullmatch(r"[a-z]+[._]d[a-z]+", name)} <= set(
        collect_fields()
    )
    for name in page.see:
        if name.startswith("docs/"):
            assert (ROOT / name).is_file()
        else:
            words = takewhile(lambda word: word.isalpha() and word.islower(), name.split())
            assert " ".join(words) in PAGES


def test_commands_are_listed_under_their_headings_in_order(tmp_path: Path) -> None:
    help_text = run(tmp_path, "--help").stdout

    positions = [help_text.index(f"\n{heading}:\n") for heading in HEADINGS[:-1]]
    assert positions == sorted(positions)
    assert (
        help_text.index("\n  chat ")
        < help_text.index("\n  serve ")
        < help_text.index("\n  doctor ")
    )
    assert "Exit codes:" in help_text


@pytest.mark.parametrize("words", [(), ("chat",), ("conversations",), ("conversations", "fork")])
def test_the_help_command_and_both_help_options_print_the_same(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    by_command = run(tmp_path, "help", *words)
    by_option = run(tmp_path, *words, "--help")
    by_letter = run(tmp_path, *words, "-h")

    assert by_command.returncode == by_option.returncode == 0
    assert by_command.stdout == by_option.stdout == by_letter.stdout
    assert by_option.stdout.startswith(" ".join(("Usage: junto", *words)))


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        (("sevre",), "'serve'", "`junto --help` lists the commands."),
        (("conversations", "shw"), "'show'", "`junto conversations --help` lists the commands."),
        (("help", "conversations", "frk"), "'fork'", "`junto conversations --help` lists the"),
        (("serve", "--prot", "1"), "'--port'", "`junto serve --help` tells more."),
        (("chat", "--seed", "x"), "'--seed': 'x' is not", "`junto chat --help` tells more."),
        (("conversations", "show"), "Missing argument 'ID'", "`junto conversations show --help`"),
        (("help", "chat", "x"), "no commands of its own", "`junto chat --help` tells more."),
    ],
)
def test_a_usage_error_prints_the_problem_and_a_hint(
    tmp_path: Path, words: tuple[str, ...], problem: str, hint: str
) -> None:
    result = run(tmp_path, *words)

    assert (result.returncode, result.stdout) == (2, "")
    first_line, second_line = result.stderr.splitlines()
    assert first_line.startswith("junto: ")
    assert problem in first_line
    assert second_line.startswith(hint)


def test_running_without_arguments_prints_help_as_a_usage_error(tmp_path: Path) -> None:
    result = run(tmp_path)

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: junto")


@pytest.mark.parametrize("words", [("--help",), ("chat", "-h"), ("help",), ("sevre",)])
def test_neither_help_nor_a_usage_error_loads_settings(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    program = (
        "import atexit, sys;"
        "atexit.register(lambda: print(*sorted(sys.modules), file=open('modules', 'w')));"
        f"sys.argv = ['junto', *{words!r}];"
        "from junto.cli import main; main()"
    )
    environment = clean_environment(tmp_path, JUNTO_HTTP_PORT="many")
    # Measuring coverage imports some of these modules itself.
    without_coverage = {name: value for name, value in environment.items() if "COV" not in name}

    subprocess.run(
        [sys.executable, "-c", program],
        env=without_coverage,
        cwd=tmp_path,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    loaded = set((tmp_path / "modules").read_text().split())
    assert "click" in loaded
    assert loaded.isdisjoint({"pydantic", "junto.settings", "asyncio", "sqlite3", "yaml"})


def test_completion_offers_every_registered_client() -> None:
    from junto.cli.clients.registry import CLIENTS

    assert [client.name for client in CLIENTS] == list(CLIENT_NAMES)
