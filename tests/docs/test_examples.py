"""The examples of the manual, run against a real server."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import TIMEOUT_SECONDS, clean_environment, http_server, junto_command, tool_names
from tests.docs.pages import ROOT, ManualPage
from tests.fake_model_server import fake_model_server

EXAMPLES = ROOT / "examples"
PAGE = ManualPage(ROOT / "docs" / "how-to" / "examples.md")

pytestmark = pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("examples")
    with fake_model_server() as upstream:
        entry = {"id": "m", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        environment = clean_environment(home, JUNTO_MODELS=json.dumps([entry]))
        with http_server(junto_command("serve", "--port", "0"), environment, home) as (client, _):
            yield f"http://127.0.0.1:{client.port}/mcp"


def run_example(home: Path, name: str, *words: str) -> list[str]:
    """Run an example with the Python of the tests, and return the lines that it prints."""
    bin_dir = home / "bin"
    bin_dir.mkdir()
    (bin_dir / "python3").symlink_to(sys.executable)
    environment = clean_environment(home, PATH=f"{bin_dir}:{os.environ['PATH']}")
    done = subprocess.run(
        [EXAMPLES / name, *words],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.feature("F250")
def test_basic_lists_tools_and_asks(tmp_path: Path, server_url: str) -> None:
    tools, answer, *rest = run_example(tmp_path, "basic.sh", 'Say "hello".', server_url)

    assert tools.split() == tool_names(over_http=True)
    assert answer.startswith('m heard 1: Say "hello".')
    assert rest[-1].startswith("[conversation ")


@pytest.mark.feature("F250")
def test_streaming_shows_text_before_the_result(tmp_path: Path, server_url: str) -> None:
    *progress, response = map(json.loads, run_example(tmp_path, "streaming.sh", "long", server_url))

    assert {each["method"] for each in progress} == {"notifications/progress"}
    streamed_text = "".join(each["params"]["message"] for each in progress)
    assert response["result"]["structuredContent"]["response"] == streamed_text


@pytest.mark.feature("F250")
def test_cancellation_stops_its_job(tmp_path: Path, server_url: str) -> None:
    source = (EXAMPLES / "cancellation.py").read_text()
    example = tmp_path / "cancellation.py"
    example.write_text(source.replace("Tell me a very long story.", "drip"))
    example.chmod(0o755)

    job, progress, state = run_example(tmp_path, str(example), server_url)

    assert re.fullmatch(r"job [0-9a-f]{32}", job)
    assert progress.startswith("so far: word0")
    assert state == "state: cancelled"


@pytest.mark.feature("F250")
def test_configuration_prints_what_the_manual_shows(tmp_path: Path) -> None:
    command = tmp_path / "junto"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m junto "$@"\n')
    command.chmod(0o755)

    lines = run_example(tmp_path, "configuration.sh", str(command))

    [block] = [block for block in PAGE.blocks("console") if "configuration.sh" in block]
    assert lines == block.splitlines()[1:]


def test_the_page_names_every_example() -> None:
    named = set(re.findall(r"^## .*`(.+)`$", PAGE.text, re.MULTILINE))

    assert named == {path.name for path in EXAMPLES.iterdir()}
