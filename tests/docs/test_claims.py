"""What the manual names exists: commands, options, settings, variables, tools, metrics, pages."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote

import click
import pytest
import yaml

from junto.cli.options import junto
from junto.domain.jobs import State
from junto.settings import choices, load
from junto.settings.aliases import ALIASES
from junto.settings.leaves import leaves
from junto.settings.tree import Settings
from junto.tools.prompts import house_prompts
from tests.clients import SECONDS, clean_environment
from tests.clients import junto as started
from tests.docs.commands_page import helps
from tests.docs.metrics_page import numbers
from tests.docs.pages import ROOT, Manual, manual
from tests.docs.tools_page import tools

# Names in snake_case that are other programs' own.
_FOREIGN = frozenset(
    [
        "env_vars",
        "startup_timeout_sec",
        "mcp_servers",
        "tool_use",
        "tool_result",
        "total_cost_usd",
        "claude_code_message",
        "proxy_buffering",
        "ts_rank",
        "id_rsa",
    ]
)

every_page = pytest.mark.parametrize("page", manual(), ids=lambda page: page.name)


def spoken(text: str) -> Iterator[list[str]]:
    """Yield the words of each `junto` in a command line, whatever stands around it."""
    if not re.search(r"(?:^|[ /])junto (?!:)", text + " "):
        return
    for part in re.split(r" [|<>]+ |&&|;|\$\(|\)$", text):
        try:
            words = shlex.split(part)
        except ValueError:
            continue
        names = [place for place, word in enumerate(words) if word.rpartition("/")[2] == "junto"]
        if names and all("=" in word for word in words[: names[0]]):
            yield words[names[0] + 1 :]


def misunderstood(words: list[str]) -> str | None:
    """Return what the program would say against these words, unless only something is missing."""
    command: click.Command = junto
    context = click.Context(junto, info_name="junto", **junto.context_settings)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            return f"there is no command {words[0]}"
        context = click.Context(found, info_name=words[0], parent=context)
        command, words = found, words[1:]
    try:
        command.make_context(context.info_name, words, parent=context.parent)
    except (click.exceptions.Exit, click.MissingParameter, click.exceptions.NoArgsIsHelpError):
        return None
    except click.UsageError as error:
        reads_a_file = isinstance(getattr(getattr(error, "param", None), "type", None), click.File)
        return None if reads_a_file else error.format_message()
    return None


def test_the_checker_knows_a_wrong_command_when_it_sees_one() -> None:
    lines = [
        "junto mcp --shard",
        "junto servo",
        "a | junto chat -x",
        "X=1 .venv/bin/junto serve --prot 1",
    ]

    faults = [misunderstood(words) for line in lines for words in spoken(line)]

    assert len(faults) == 4
    assert None not in faults


@every_page
def test_every_command_line_is_one_that_the_program_takes(page: Manual) -> None:
    faults = {
        line: fault
        for line in page.commands()
        for words in spoken(line)
        if (fault := misunderstood([word for word in words if word != "…"]))
    }

    assert faults == {}


@every_page
def test_every_help_is_the_one_that_the_program_gives(page: Manual) -> None:
    known = dict(helps())

    for block in page.blocks("console"):
        for command, shown in re.findall(
            r"^\$ (junto.*?) --help\n(.*?)(?=^\$ |\Z)", block, re.MULTILINE | re.DOTALL
        ):
            assert shown.strip() == known[command].strip()


@pytest.mark.parametrize("words", [(), ("serve",), ("conversations", "export")])
def test_the_help_that_is_compared_is_the_one_on_a_terminal(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = subprocess.run(
        started(*words, "--help"),
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )

    assert done.stdout.strip() == dict(helps())[" ".join(("junto", *words))].strip()


@every_page
def test_every_setting_exists(page: Manual) -> None:
    branches = {path.rpartition(".")[0] for path in leaves()} | set(Settings.model_fields)
    known = set(leaves()) | branches
    tops = set(Settings.model_fields)
    named = (re.match(r"([a-z_]+(?:\.[a-z_]+)+)(?::|$)", span) for span in page.spans())
    paths = {match[1] for match in named if match}

    strangers = {
        path
        for path in paths
        if path.partition(".")[0] in tops and path.rpartition(".")[2] not in {"md", "log", "py"}
    } - known

    assert strangers == set()


@every_page
def test_every_variable_exists(page: Manual) -> None:
    known = {leaf.variable for leaf in leaves().values()} | {"JUNTO_CONFIG"}
    old = {alias.variable for alias in ALIASES} | {
        "POLYBRAIN_BASE_URL", "POLYBRAIN_API_KEY", "POLYBRAIN_MODEL_NAME", "POLYBRAIN_CONFIG_PATH",
        "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN",
    }  # fmt: skip
    text = page.text

    assert set(re.findall(r"\bJUNTO_[A-Z_]*[A-Z]\b", text)) <= known
    prefixes = r"\b(?:POLYBRAIN|TELEMETRYFLOW|CLAUDE)_[A-Z_]*[A-Z]\b"
    assert set(re.findall(prefixes, text)) <= old


@every_page
def test_every_name_in_backticks_is_known(page: Manual) -> None:
    values = {
        value
        for kind in vars(choices).values()
        if isinstance(kind, type) and issubclass(kind, StrEnum)
        for value in kind
    }
    known = (
        {tool.name for tool in tools()}
        | {number.name for number in numbers()}
        | {part for path in leaves() for part in path.split(".")}
        | {prompt.name for prompt in house_prompts()}
        | set(State)
        | values
        | _FOREIGN
    )
    named = {span for span in page.spans() if re.fullmatch(r"[a-z]+(?:_[a-z0-9]+)+", span)}

    assert named - known == set()


@every_page
def test_every_number_that_is_asked_for_exists(page: Manual) -> None:
    endings = {"histogram": ("_bucket", "_sum", "_count")}
    known = {
        number.name + ending for number in numbers() for ending in endings.get(number.kind, ("",))
    }
    asked = {
        name
        for block in page.blocks("promql")
        for name in re.findall(r"([a-z]+(?:_[a-z]+)+)[{\[]", block)
    }

    assert asked <= known


@every_page
def test_every_configuration_that_is_shown_is_accepted(page: Manual, tmp_path: Path) -> None:
    for block in page.blocks("yaml"):
        if set(yaml.safe_load(block)) <= set(Settings.model_fields):
            file = tmp_path / "shown.yaml"
            file.write_text(block, encoding="utf-8")
            environment = dict.fromkeys(re.findall(r"\$\{(\w+)\}", block), "x")
            loaded = load(config=file, environment=environment, home=tmp_path, directory=tmp_path)
            assert loaded.warnings == ()


@every_page
def test_every_link_leads_somewhere(page: Manual) -> None:
    for link in page.links():
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in slugs(target), link


def slugs(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}
