"""`junto index` and `junto search`, as somebody at a terminal uses them."""

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
from junto.cli.writing import width as columns
from tests.clients import clean_environment, junto

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return what runs a command in a home of its own, without vectors."""
    variables = clean_environment(tmp_path, JUNTO_KNOWLEDGE_EMBEDDINGS="off")

    def run(*words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            junto(*words), env=variables, cwd=tmp_path, capture_output=True, text=True, check=False,
            timeout=60, input=given,
        )  # fmt: skip

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
    nothing = run("search", "unheard")

    assert (indexed.returncode, indexed.stderr) == (0, "")
    assert indexed.stdout == "2 new, 0 changed, 0 unchanged, 0 removed\n"
    assert found.stdout.startswith(f"Elephants\n{(docs / 'a.md').as_uri()}  1.00  [")
    assert "They never forget." in found.stdout
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert nothing.stderr == "junto: Nothing has these words. Try fewer or other ones.\n"


def test_programs_get_json(run: Run, docs: Path) -> None:
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7")
    (docs / "x.bin").write_bytes(b"\0\0\0")

    report = json.loads(run("index", "docs", "--json").stdout)
    hits = json.loads(run("search", "zebra", "--json").stdout)["results"]
    stock = json.loads(run("index", "--json").stdout)
    none = run("search", "unheard", "--json")

    assert (report["added"], report["failed"], report["skipped"]) == (2, 1, {"binary files": 1})
    assert report["problems"][0]["name"] == "broken.pdf"
    [hit] = hits
    assert (hit["type"], hit["source"], hit["snippet"]) == (
        "text", "documents", "A zebra is striped.",
    )  # fmt: skip
    assert {"source": "documents", "documents": 2, "passages": 2, "characters": 52} in stock
    assert none.returncode == 0
    assert json.loads(none.stdout) == {
        "results": [],
        "note": "Nothing has these words. Try fewer or other ones.",
    }


def test_what_cannot_be_read_is_told_and_the_rest_goes_on(run: Run, docs: Path) -> None:
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


def test_notes_come_as_words_and_through_a_pipe(run: Run) -> None:
    by_word = run("index", "--note", "The bicycle is in the cellar.")
    piped = run("index", "-", "--title", "Keys", given="The keys are under the mat.\n")
    replaced = run("index", "-", "--title", "Keys", given="The keys are in the drawer.\n")
    empty = run("index", "-", given="  \n")

    assert by_word.stdout.endswith("  The bicycle is in the cellar.\n")
    assert piped.stdout == replaced.stdout
    assert "drawer" in run("search", "keys source:notes").stdout
    assert "mat" not in run("search", "keys").stdout
    assert (empty.returncode, empty.stderr) == (1, "junto: text: there is nothing in it.\n")


@pytest.mark.usefixtures("docs")
def test_what_was_indexed_is_removed(run: Run) -> None:
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
def test_options_that_make_no_sense_together_are_refused(run: Run, words: tuple[str, ...]) -> None:
    refused = run("index", *words)

    assert refused.returncode == 2
    assert refused.stdout == ""


def test_odd_bytes_in_words_are_no_crash(run: Run) -> None:
    odd = os.fsdecode(b"caf\xe9")

    for words in (("search", odd), ("search", f"type:{odd} x"), ("search", f"path:{odd} x")):
        assert run(*words).stderr.startswith("junto: Nothing")
    assert run("index", "--remove", odd).stdout == "0 documents removed\n"


@pytest.mark.usefixtures("docs")
def test_documents_and_notes_are_listed(run: Run) -> None:
    run("index", "docs", "--note", "A note.")

    plain = run("index", "--list").stdout.splitlines()
    programs = [json.loads(line) for line in run("index", "--list", "--json").stdout.splitlines()]

    assert len(plain) == len(programs) == 3
    assert {each["source"] for each in programs} == {"documents", "notes"}
    assert plain[0].startswith(programs[0]["id"])


def test_without_numpy_words_are_searched_all_the_same(tmp_path: Path, docs: Path) -> None:
    """On an installation without the extra for it."""
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


def test_a_page_on_this_machine_is_not_fetched(run: Run) -> None:
    refused = run("index", "http://127.0.0.1:1/secret")

    assert refused.returncode == 1
    assert "public" in refused.stderr


@pytest.mark.usefixtures("docs")
def test_the_stock_is_a_table(run: Run) -> None:
    run("index", "docs")

    shown = run("index")

    head, documents, *_ = shown.stdout.splitlines()
    assert head.split() == ["SOURCE", "DOCUMENTS", "PASSAGES", "CHARACTERS"]
    assert documents.split() == ["documents", "2", "2", "52"]
    assert "junto index PATH" in shown.stderr


def test_ctrl_c_keeps_what_was_read(tmp_path: Path, docs: Path) -> None:
    for number in range(3000):
        (docs / f"{number}.md").write_text(f"Number {number}.\n")
    variables = clean_environment(tmp_path, JUNTO_KNOWLEDGE_EMBEDDINGS="off")
    near, far = pty.openpty()
    process = subprocess.Popen(junto("index", "docs"), env=variables, cwd=tmp_path, stderr=far)
    os.close(far)

    said = b""
    while b"/s" not in said:  # the line of progress, with its rate
        said += os.read(near, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    while b"goes on from here" not in said:
        said += os.read(near, 4096)
    os.close(near)

    again = subprocess.run(
        junto("index", "docs"),
        env=variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    new = int(again.stdout.split()[0].replace(",", ""))
    assert 0 < new < 3002


def test_a_watch_indexes_what_changes(tmp_path: Path, docs: Path) -> None:
    variables = clean_environment(tmp_path, JUNTO_KNOWLEDGE_EMBEDDINGS="off")
    process = subprocess.Popen(
        junto("index", "docs", "--watch"), env=variables, cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stderr
    try:
        assert process.stdout.readline().startswith("2 new")
        assert process.stderr.readline() == "Watching; Ctrl-C ends it.\n"
        said, number = "", 0
        while "1 changed" not in said:  # the watch may not have begun yet
            (docs / "a.md").write_text(f"# Okapis\n\nThere are {number}.\n")
            number += 1
            if select.select([process.stdout], [], [], 0.3)[0]:
                said += os.read(process.stdout.fileno(), 4096).decode()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        process.stdout.close()
        process.stderr.close()

    found = subprocess.run(
        junto("search", "okapis"), env=variables, cwd=tmp_path, capture_output=True, check=True
    )
    assert b"Okapis" in found.stdout


@pytest.mark.parametrize("name", ["some/long\nname/", "天空/蓝色/"])
@pytest.mark.parametrize("width", [30, 80, 200])
def test_a_line_of_progress_fits(width: int, name: str) -> None:
    progress = Progress("indexing", "files", 12_345, person=True)

    line = progress.line(2_345, 10.0, name * 20, width)

    assert columns(line) < width
    assert "\n" not in line
    assert line.startswith("indexing")
    if width >= 80:
        assert "2,345/12,345 files, 234/s, 43 s left" in line


def test_progress_without_a_known_end_tells_a_rate() -> None:
    assert Progress("indexing", "files").line(30, 2.0, width=80) == "indexing 30 files, 15/s"
