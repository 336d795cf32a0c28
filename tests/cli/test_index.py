"""`junto index` and `junto search`, run the way a user runs them."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from junto.cli.progress import Progress
from junto.cli.terminal_text import display_width
from tests.clients import clean_environment, junto_command

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a command in an empty home, with embeddings turned off."""
    variables = clean_environment(tmp_path, JUNTO_KNOWLEDGE_EMBEDDINGS="off")

    def run(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            junto_command(*words),
            env=variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            input=stdin,
        )

    return run


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Elephants\n\nThey never forget.\n")
    (folder / "b.txt").write_text("A zebra is striped.\n")
    return folder


def test_files_are_indexed_and_found(run: Run, docs: Path) -> None:
    indexed = run("index", "docs")
    found = run("search", "elephants", "forget")
    no_match = run("search", "unheard")

    assert (indexed.returncode, indexed.stderr) == (0, "")
    assert indexed.stdout == "2 new, 0 changed, 0 unchanged, 0 removed\n"
    assert found.stdout.startswith(f"Elephants\n{(docs / 'a.md').as_uri()}  0.98  [")
    assert "They never forget." in found.stdout
    assert (no_match.returncode, no_match.stdout) == (1, "")
    assert no_match.stderr == "junto: Nothing has these words. Try fewer or other ones.\n"


def test_index_and_search_print_json_on_request(run: Run, docs: Path) -> None:
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7")
    (docs / "x.bin").write_bytes(b"\0\0\0")

    report = json.loads(run("index", "docs", "--json").stdout)
    hits = json.loads(run("search", "zebra", "--json").stdout)["results"]
    sources = json.loads(run("index", "--json").stdout)
    no_match = run("search", "unheard", "--json")

    assert (report["added"], report["failed"], report["skipped"]) == (2, 1, {"binary files": 1})
    assert report["problems"][0]["name"] == "broken.pdf"
    [hit] = hits
    assert (hit["type"], hit["source"], hit["snippet"]) == (
        "text", "documents", "A zebra is striped.",
    )  # fmt: skip
    assert {"source": "documents", "documents": 2, "passages": 2, "characters": 52} in sources
    assert no_match.returncode == 0
    assert json.loads(no_match.stdout) == {
        "results": [],
        "note": "Nothing has these words. Try fewer or other ones.",
    }


def test_unreadable_files_are_reported_and_the_rest_is_indexed(run: Run, docs: Path) -> None:
    (docs / "broken\nname.pdf").write_bytes(b"%PDF-1.7")
    (docs / ".env").write_text("KEY=1")

    folder = run("index", "docs")
    named = run("index", "docs/broken\nname.pdf", "docs/a.md")
    missing = run("index", "nowhere")

    assert folder.returncode == 0
    assert "left out: 1 named like secrets\n" in folder.stderr
    assert "broken name.pdf: " in folder.stderr
    assert (named.returncode, named.stdout) == (1, "0 new, 0 changed, 1 unchanged, 0 removed\n")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "There is no nowhere." in missing.stderr


def test_notes_come_from_an_option_or_from_stdin(run: Run) -> None:
    by_option = run("index", "--note", "The bicycle is in the cellar.")
    piped = run("index", "-", "--title", "Keys", stdin="The keys are under the mat.\n")
    replaced = run("index", "-", "--title", "Keys", stdin="The keys are in the drawer.\n")
    empty = run("index", "-", stdin="  \n")

    assert by_option.stdout.endswith("  The bicycle is in the cellar.\n")
    assert piped.stdout == replaced.stdout
    assert "drawer" in run("search", "keys source:notes").stdout
    assert "mat" not in run("search", "keys").stdout
    assert (empty.returncode, empty.stderr) == (1, "junto: text: there is nothing in it.\n")


@pytest.mark.usefixtures("docs")
def test_indexed_documents_are_removed(run: Run) -> None:
    run("index", "docs")

    removed = run("index", "--remove", "docs")
    again = run("index", "--remove", "docs")

    assert (removed.returncode, removed.stdout) == (0, "2 documents removed\n")
    assert (again.returncode, again.stdout) == (1, "0 documents removed\n")
    assert run("search", "zebra").returncode == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--remove",),
        ("--remove", ""),
        ("docs", "--remove", "--watch"),
        ("--watch",),
        ("--note", "x", "--watch"),
        ("docs", "--title", "x"),
        ("--note", "x", "-"),
        ("docs", "--list"),
    ],
)
@pytest.mark.usefixtures("docs")
def test_invalid_combinations_of_options_are_refused(run: Run, words: tuple[str, ...]) -> None:
    refused = run("index", *words)

    assert refused.returncode == 2
    assert refused.stdout == ""


def test_invalid_utf8_in_arguments_does_not_crash(run: Run) -> None:
    undecodable = os.fsdecode(b"caf\xe9")

    for words in (
        ("search", undecodable),
        ("search", f"type:{undecodable} x"),
        ("search", f"path:{undecodable} x"),
    ):
        assert run(*words).stderr.startswith("junto: Nothing")
    assert run("index", "--remove", undecodable).stdout == "0 documents removed\n"


@pytest.mark.usefixtures("docs")
def test_documents_and_notes_are_listed(run: Run) -> None:
    run("index", "docs", "--note", "A note.")

    lines = run("index", "--list").stdout.splitlines()
    entries = [json.loads(line) for line in run("index", "--list", "--json").stdout.splitlines()]

    assert len(lines) == len(entries) == 3
    assert {entry["source"] for entry in entries} == {"documents", "notes"}
    assert lines[0].startswith(entries[0]["id"])


def test_keyword_search_works_without_numpy(tmp_path: Path, docs: Path) -> None:
    """An installation without the `embedded` extra has none of these packages."""
    script = (
        "import sys; sys.modules |= dict.fromkeys(['numpy', 'onnxruntime', 'tokenizers'])\n"
        "from junto.cli import main; main()"
    )

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", script, *words], env=clean_environment(tmp_path), cwd=tmp_path,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    indexed, found = run("index", str(docs)), run("search", "zebra")

    assert indexed.stdout == "2 new, 0 changed, 0 unchanged, 0 removed\n"
    assert "pip install 'junto[embedded]'" in indexed.stderr
    assert (found.returncode, "zebra" in found.stdout) == (0, True)
    assert "words alone" in found.stderr


def test_a_loopback_url_is_not_fetched(run: Run) -> None:
    refused = run("index", "http://127.0.0.1:1/secret")

    assert refused.returncode == 1
    assert "public" in refused.stderr


@pytest.mark.usefixtures("docs")
def test_index_without_arguments_prints_a_table_of_sources(run: Run) -> None:
    run("index", "docs")

    result = run("index")

    header, documents, *_ = result.stdout.splitlines()
    assert header.split() == ["SOURCE", "DOCUMENTS", "PASSAGES", "CHARACTERS"]
    assert documents.split() == ["documents", "2", "2", "52"]
    assert "junto index PATH" in result.stderr


def test_ctrl_c_keeps_the_files_indexed_so_far(tmp_path: Path, docs: Path) -> None:
    for number in range(3000):
        (docs / f"{number}.md").write_text(f"Number {number}.\n")
    variables = clean_environment(tmp_path, JUNTO_KNOWLEDGE_EMBEDDINGS="off")
    controller_fd, terminal_fd = pty.openpty()
    process = subprocess.Popen(
        junto_command("index", "docs"), env=variables, cwd=tmp_path, stderr=terminal_fd
    )
    os.close(terminal_fd)

    output = b""
    while b"/s" not in output:  # until a progress line with its rate is shown
        output += os.read(controller_fd, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    while b"goes on from here" not in output:
        output += os.read(controller_fd, 4096)
    os.close(controller_fd)

    again = subprocess.run(
        junto_command("index", "docs"),
        env=variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    added = int(again.stdout.split()[0].replace(",", ""))
    assert 0 < added < 3002


def test_watch_indexes_files_that_change(tmp_path: Path, docs: Path) -> None:
    variables = clean_environment(tmp_path, JUNTO_KNOWLEDGE_EMBEDDINGS="off")
    process = subprocess.Popen(
        junto_command("index", "docs", "--watch"), env=variables, cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stderr
    try:
        assert process.stdout.readline().startswith("2 new")
        assert process.stderr.readline() == "Watching; Ctrl-C ends it.\n"
        output, number = "", 0
        while "1 changed" not in output:  # the watcher may not have started yet
            (docs / "a.md").write_text(f"# Okapis\n\nThere are {number}.\n")
            number += 1
            if select.select([process.stdout], [], [], 0.3)[0]:
                output += os.read(process.stdout.fileno(), 4096).decode()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        process.stdout.close()
        process.stderr.close()

    found = subprocess.run(
        junto_command("search", "okapis"),
        env=variables,
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert b"Okapis" in found.stdout


@pytest.mark.parametrize("name", ["some/long\nname/", "天空/蓝色/"])
@pytest.mark.parametrize("width", [30, 80, 200])
def test_a_progress_line_fits_the_terminal(width: int, name: str) -> None:
    progress = Progress("indexing", "files", 12_345, is_interactive=True)

    line = progress.format_line(2_345, 10.0, name * 20, width)

    assert display_width(line) < width
    assert "\n" not in line
    assert line.startswith("indexing")
    if width >= 80:
        assert "2,345/12,345 files, 234/s, 43 s left" in line


def test_progress_without_a_known_total_shows_a_rate() -> None:
    assert Progress("indexing", "files").format_line(30, 2.0, width=80) == "indexing 30 files, 15/s"
