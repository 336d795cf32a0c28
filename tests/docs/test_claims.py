"""What the manual names exists: commands, options, settings, variables, tools, metrics, pages."""

import dataclasses
import inspect
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
from scripts.docs.commands_page import helps
from scripts.docs.metrics_page import numbers
from scripts.docs.tools_page import tools

from junto import api
from junto.cli.options import junto
from junto.domain.jobs import JobState
from junto.settings import enums, load_settings
from junto.settings.aliases import ALIASES
from junto.settings.fields import collect_fields
from junto.settings.schema import Settings
from junto.tools.prompts import build_default_prompts
from tests.clients import TIMEOUT_SECONDS, clean_environment, junto_command
from tests.docs.pages import ROOT, ManualPage, load_manual

# Names in snake_case that belong to other programs.
_FOREIGN_NAMES = frozenset(
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
        "pg_dump",
    ]
)

every_page = pytest.mark.parametrize("page", load_manual(), ids=lambda page: page.name)


def find_junto_calls(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each `junto` call in a command line."""
    if not re.search(r"(?:^|[ /])junto (?!:)", text + " "):
        return
    for part in re.split(r" [|<>]+ |&&|;|\$\(|\)$", text):
        try:
            words = shlex.split(part)
        except ValueError:
            continue
        positions = [
            position for position, word in enumerate(words) if word.rpartition("/")[2] == "junto"
        ]
        if positions and all("=" in word for word in words[: positions[0]]):
            yield words[positions[0] + 1 :]


def usage_error(words: list[str]) -> str | None:
    """Return the usage error for these arguments, or None; a missing argument is not an error."""
    command: click.Command = junto
    context = click.Context(junto, info_name="junto", **junto.context_settings)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        subcommand = command.get_command(context, words[0])
        if subcommand is None:
            return f"there is no command {words[0]}"
        context = click.Context(subcommand, info_name=words[0], parent=context)
        command, words = subcommand, words[1:]
    try:
        command.make_context(context.info_name, words, parent=context.parent)
    except (click.exceptions.Exit, click.MissingParameter, click.exceptions.NoArgsIsHelpError):
        return None
    except click.UsageError as error:
        is_file_error = isinstance(getattr(getattr(error, "param", None), "type", None), click.File)
        return None if is_file_error else error.format_message()
    return None


def test_the_checker_detects_wrong_commands() -> None:
    lines = [
        "junto mcp --shard",
        "junto servo",
        "a | junto chat -x",
        "X=1 .venv/bin/junto serve --prot 1",
    ]

    errors = [usage_error(words) for line in lines for words in find_junto_calls(line)]

    assert len(errors) == 4
    assert None not in errors


@every_page
def test_every_command_line_is_accepted_by_the_program(page: ManualPage) -> None:
    errors = {
        line: error
        for line in page.commands()
        for words in find_junto_calls(line)
        if (error := usage_error([word for word in words if word != "…"]))
    }

    assert errors == {}


@every_page
def test_every_help_text_is_what_the_program_prints(page: ManualPage) -> None:
    known = dict(helps())

    for block in page.blocks("console"):
        for command, shown in re.findall(
            r"^\$ (junto.*?) --help\n(.*?)(?=^\$ |\Z)", block, re.MULTILINE | re.DOTALL
        ):
            assert shown.strip() == known[command].strip()


@pytest.mark.parametrize("words", [(), ("serve",), ("conversations", "export")])
def test_the_compared_help_text_is_what_the_command_prints(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = subprocess.run(
        junto_command(*words, "--help"),
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )

    assert done.stdout.strip() == dict(helps())[" ".join(("junto", *words))].strip()


@every_page
def test_every_setting_exists(page: ManualPage) -> None:
    branches = {path.rpartition(".")[0] for path in collect_fields()} | set(Settings.model_fields)
    known = set(collect_fields()) | branches
    sections = set(Settings.model_fields)
    matches = (re.match(r"([a-z_]+(?:\.[a-z_]+)+)(?::|$)", span) for span in page.spans())
    paths = {match[1] for match in matches if match}

    unknown = {
        path
        for path in paths
        if path.partition(".")[0] in sections and path.rpartition(".")[2] not in {"md", "log", "py"}
    } - known

    assert unknown == set()


@every_page
def test_every_variable_exists(page: ManualPage) -> None:
    known = {field.variable for field in collect_fields().values()} | {"JUNTO_CONFIG"}
    known_aliases = {alias.variable for alias in ALIASES} | {
        "POLYBRAIN_BASE_URL", "POLYBRAIN_API_KEY", "POLYBRAIN_MODEL_NAME", "POLYBRAIN_CONFIG_PATH",
        "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN",
    }  # fmt: skip
    text = page.text

    assert set(re.findall(r"\bJUNTO_[A-Z_]*[A-Z]\b", text)) <= known
    prefixes = r"\b(?:POLYBRAIN|TELEMETRYFLOW|CLAUDE)_[A-Z_]*[A-Z]\b"
    assert set(re.findall(prefixes, text)) <= known_aliases


def api_names() -> set[str]:
    """Return the parameters and fields of the Python API."""
    functions = [api.open, *(each for each in vars(api.Junto).values() if callable(each))]
    parameters = {name for each in functions for name in inspect.signature(each).parameters}
    fields = {field.name for field in dataclasses.fields(api.ChatReply)}
    return parameters | fields | set(api.MessageOptions.__annotations__)


@every_page
def test_every_name_in_backticks_is_known(page: ManualPage) -> None:
    values = {
        value
        for kind in vars(enums).values()
        if isinstance(kind, type) and issubclass(kind, StrEnum)
        for value in kind
    }
    known = (
        {tool.name for tool in tools()}
        | {metric.name for metric in numbers()}
        | {part for path in collect_fields() for part in path.split(".")}
        | {prompt.name for prompt in build_default_prompts()}
        | set(JobState)
        | values
        | api_names()
        | _FOREIGN_NAMES
    )
    named = {span for span in page.spans() if re.fullmatch(r"[a-z]+(?:_[a-z0-9]+)+", span)}

    assert named - known == set()


@every_page
def test_every_metric_in_a_query_exists(page: ManualPage) -> None:
    suffixes = {"histogram": ("_bucket", "_sum", "_count")}
    known = {
        metric.name + suffix for metric in numbers() for suffix in suffixes.get(metric.kind, ("",))
    }
    queried = {
        name
        for block in page.blocks("promql")
        for name in re.findall(r"([a-z]+(?:_[a-z]+)+)[{\[]", block)
    }

    assert queried <= known


@every_page
def test_every_configuration_example_is_accepted(page: ManualPage, tmp_path: Path) -> None:
    for block in page.blocks("yaml"):
        if set(yaml.safe_load(block)) <= set(Settings.model_fields):
            file = tmp_path / "shown.yaml"
            file.write_text(block, encoding="utf-8")
            environment = dict.fromkeys(re.findall(r"\$\{(\w+)\}", block), "x")
            loaded = load_settings(
                config=file, environment=environment, home_dir=tmp_path, working_dir=tmp_path
            )
            assert loaded.warnings == ()


@every_page
def test_every_link_has_a_target(page: ManualPage) -> None:
    for link in page.links():
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in heading_anchors(target), link


def heading_anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub generates them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}
