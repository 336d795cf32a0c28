"""The examples, run as the manual says, against a real server."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import HTTP_TOOLS, SECONDS, clean_environment, http_server, junto
from tests.docs.pages import ROOT, Manual
from tests.server_upstream import served_upstream

EXAMPLES = ROOT / "examples"
PAGE = Manual(ROOT / "docs" / "examples.md")

pytestmark = pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("examples")
    with served_upstream() as upstream:
        entry = {"id": "m", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        environment = clean_environment(home, JUNTO_MODELS=json.dumps([entry]))
        with http_server(junto("serve", "--port", "0"), environment, home) as (client, _):
            yield f"http://127.0.0.1:{client.port}/mcp"


def run(home: Path, name: str, *words: str) -> list[str]:
    """Run an example with the Python of the tests, and return the lines that it prints."""
    programs = home / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    environment = clean_environment(home, PATH=f"{programs}:{os.environ['PATH']}")
    done = subprocess.run(
        [EXAMPLES / name, *words],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.feature("F250")
def test_basic_lists_tools_and_asks(tmp_path: Path, address: str) -> None:
    tools, answer, *rest = run(tmp_path, "basic.sh", 'Say "hello".', address)

    assert tools.split() == HTTP_TOOLS
    assert answer.startswith('m heard 1: Say "hello".')
    assert rest[-1].startswith("[conversation ")


@pytest.mark.feature("F250")
def test_streaming_shows_words_before_the_result(tmp_path: Path, address: str) -> None:
    *progress, last = map(json.loads, run(tmp_path, "streaming.sh", "long", address))

    assert {each["method"] for each in progress} == {"notifications/progress"}
    said = "".join(each["params"]["message"] for each in progress)
    assert last["result"]["structuredContent"]["response"] == said


@pytest.mark.feature("F250")
def test_cancellation_stops_what_it_began(tmp_path: Path, address: str) -> None:
    source = (EXAMPLES / "cancellation.py").read_text()
    patient = tmp_path / "cancellation.py"
    patient.write_text(source.replace("Tell me a very long story.", "drip"))
    patient.chmod(0o755)

    begun, so_far, ended = run(tmp_path, str(patient), address)

    assert re.fullmatch(r"job [0-9a-f]{32}", begun)
    assert so_far.startswith("so far: word0")
    assert ended == "state: cancelled"


@pytest.mark.feature("F250")
def test_configuration_shows_what_the_manual_shows(tmp_path: Path) -> None:
    command = tmp_path / "junto"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m junto "$@"\n')
    command.chmod(0o755)

    lines = run(tmp_path, "configuration.sh", str(command))

    [block] = [block for block in PAGE.blocks("console") if "configuration.sh" in block]
    assert lines == block.splitlines()[1:]


def test_the_page_names_every_example() -> None:
    named = set(re.findall(r"^## .*`(.+)`$", PAGE.text, re.MULTILINE))

    assert named == {path.name for path in EXAMPLES.iterdir()}
