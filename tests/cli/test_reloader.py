"""`junto serve --reload`, for developers."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.clients import TIMEOUT_SECONDS, HttpClient, clean_environment, junto_command


@pytest.mark.feature("F241")
def test_a_server_with_reload_restarts_when_its_settings_file_changes(tmp_path: Path) -> None:
    pytest.importorskip("watchfiles")
    config = tmp_path / "junto.yaml"
    config.write_text("http:\n  port: 0\n")
    with subprocess.Popen(
        junto_command("serve", "--reload", "--config", str(config)),
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(tmp_path),
        cwd=tmp_path,
    ) as process:
        assert process.stderr
        lines = iter(process.stderr.readline, "")
        first = next(line for line in lines if "serves MCP at" in line)
        noticed = threading.Event()
        threading.Thread(target=_change_until, args=(config, noticed), daemon=True).start()
        changed = next(line for line in lines if line.startswith("Changed:"))
        noticed.set()
        second = next(line for line in lines if "serves MCP at" in line)
        port = int(second.strip().removesuffix("/mcp").rpartition(":")[2])
        health = HttpClient(port).get("/health")
        process.terminate()
        process.communicate(timeout=TIMEOUT_SECONDS)

    assert first != second
    assert changed == "Changed: junto.yaml. Junto begins anew.\n"
    assert health.status == 200
    assert process.returncode == 0


def _change_until(config: Path, noticed: threading.Event) -> None:
    """Change the file until that is noticed, because nothing reports when watching starts."""
    while not noticed.wait(1):
        config.write_text(config.read_text() + "# changed\n")


def test_reload_without_watchfiles_says_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['watchfiles'] = None; sys.argv[1:] = ['serve', '--reload']\n"
        "from junto.cli import main; main()"
    )

    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=clean_environment(tmp_path),
        cwd=tmp_path,
        check=False,
    )

    assert result.returncode == 2
    assert result.stderr == "junto: --reload needs watchfiles: pip install 'junto[documents]'.\n"
