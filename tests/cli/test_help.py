"""Help of every command: complete, true, and readable at any width."""

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

from junto.cli.commands import connecting, helping, knowing, serving, setting, talking, telling
from junto.cli.options import junto as command
from junto.cli.pages import HEADINGS, Page
from junto.cli.values import CLIENTS
from junto.settings.leaves import leaves
from tests.clients import SECONDS, clean_environment, junto

ROOT = Path(__file__).parents[2]
WIDEST = 100
# They make their commands known when they are imported.
ROOMS = (connecting, helping, knowing, serving, setting, talking, telling)


def _pages(page: click.Command, above: click.Context | None = None) -> Iterator[click.Context]:
    ctx = click.Context(page, info_name=page.name, parent=above, **page.context_settings)
    yield ctx
    if isinstance(page, click.Group):
        for each in page.commands.values():
            yield from _pages(each, ctx)


PAGES = {ctx.command_path: ctx for ctx in _pages(command)}
each_page = pytest.mark.parametrize("ctx", PAGES.values(), ids=PAGES)


def _page(ctx: click.Context) -> Page:
    assert isinstance(ctx.command, Page)
    return ctx.command


def run(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        junto(*words),
        env=clean_environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@each_page
def test_a_page_has_a_summary_examples_and_a_word_about_every_option(ctx: click.Context) -> None:
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
        assert len(line) <= min(columns, WIDEST) or " " not in line.strip(), line


def _commands(line: str) -> Iterator[list[str]]:
    """Yield the words of every `junto` on a line of the shell."""
    inner = re.search(r"\$\((.*)\)", line)
    for part in re.split(r"[|<>]", inner.group(1) if inner else line):
        if part.strip().startswith("junto"):
            yield shlex.split(part)[1:]


@each_page
def test_every_example_is_a_command_line_that_is_understood(
    ctx: click.Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.jsonl").touch()
    for line in _page(ctx).examples:
        found = list(_commands(line))
        assert found, line
        for words in found:
            _parsed(words)


def _parsed(words: list[str]) -> None:
    """Parse words as the program would, and run nothing."""
    with ExitStack() as stack:
        ctx = stack.enter_context(command.make_context("junto", list(words)))
        while isinstance(ctx.command, click.Group):
            name, found, rest = ctx.command.resolve_command(ctx, [*ctx._protected_args, *ctx.args])
            assert found
            ctx = stack.enter_context(found.make_context(name, rest, parent=ctx))


def test_an_example_that_is_wrong_would_be_found() -> None:
    with pytest.raises(click.NoSuchOption):
        _parsed(["chat", "--modle", "x"])
    assert list(_commands('eval "$(junto completion bash)"')) == [["completion", "bash"]]


@each_page
def test_settings_files_and_pages_that_are_named_exist(ctx: click.Context) -> None:
    page = _page(ctx)
    defaults = re.findall(r"\[default: ([a-z]+[._][a-z_.]+)", re.sub(r"\s+", " ", ctx.get_help()))

    assert set(defaults) - {"junto.yaml"} <= set(leaves())
    assert {name for name in page.files if re.fullmatch(r"[a-z]+[._]d[a-z]+", name)} <= set(
        leaves()
    )
    for name in page.see:
        if name.startswith("docs/"):
            assert (ROOT / name).is_file()
        else:
            words = takewhile(lambda word: word.isalpha() and word.islower(), name.split())
            assert " ".join(words) in PAGES


def test_commands_stand_under_their_headings_in_an_order_that_makes_sense(tmp_path: Path) -> None:
    shown = run(tmp_path, "--help").stdout

    places = [shown.index(f"\n{heading}:\n") for heading in HEADINGS[:-1]]
    assert places == sorted(places)
    assert shown.index("\n  chat ") < shown.index("\n  serve ") < shown.index("\n  doctor ")
    assert "Exit codes:" in shown


@pytest.mark.parametrize("words", [(), ("chat",), ("conversations",), ("conversations", "fork")])
def test_help_says_the_same_in_each_of_its_ways(tmp_path: Path, words: tuple[str, ...]) -> None:
    by_command = run(tmp_path, "help", *words)
    by_option = run(tmp_path, *words, "--help")
    by_letter = run(tmp_path, *words, "-h")

    assert by_command.returncode == by_option.returncode == 0
    assert by_command.stdout == by_option.stdout == by_letter.stdout
    assert by_option.stdout.startswith(" ".join(("Usage: junto", *words)))


@pytest.mark.parametrize(
    ("words", "meant", "then"),
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
def test_a_mistake_is_told_with_what_was_meant_and_what_to_do(
    tmp_path: Path, words: tuple[str, ...], meant: str, then: str
) -> None:
    done = run(tmp_path, *words)

    assert (done.returncode, done.stdout) == (2, "")
    told, next_ = done.stderr.splitlines()
    assert told.startswith("junto: ")
    assert meant in told
    assert next_.startswith(then)


def test_no_words_at_all_show_the_help_as_a_mistake(tmp_path: Path) -> None:
    done = run(tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: junto")


@pytest.mark.parametrize("words", [("--help",), ("chat", "-h"), ("help",), ("sevre",)])
def test_neither_help_nor_a_mistake_reads_settings(tmp_path: Path, words: tuple[str, ...]) -> None:
    program = (
        "import atexit, sys;"
        "atexit.register(lambda: print(*sorted(sys.modules), file=open('modules', 'w')));"
        f"sys.argv = ['junto', *{words!r}];"
        "from junto.cli import main; main()"
    )
    environment = clean_environment(tmp_path, JUNTO_HTTP_PORT="many")
    # What measures the tests loads some of that itself.
    unmeasured = {name: value for name, value in environment.items() if "COV" not in name}

    subprocess.run(
        [sys.executable, "-c", program],
        env=unmeasured,
        cwd=tmp_path,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )

    loaded = set((tmp_path / "modules").read_text().split())
    assert "click" in loaded
    assert loaded.isdisjoint({"pydantic", "junto.settings", "asyncio", "sqlite3", "yaml"})


def test_the_clients_that_are_offered_are_those_that_are_known() -> None:
    from junto.cli.clients.known import CLIENTS as KNOWN

    assert [client.name for client in KNOWN] == list(CLIENTS)
