"""What the README shows is what the program prints."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.clients import SECONDS, clean_environment, junto
from tests.terminals import seen

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
ZH = ROOT / "README.zh-TW.md"
# What is another time, place or version, each time.
VARIES = {
    r"/home/me/junto/.venv/bin/junto": r"\S+?(?:junto| -P -m junto)",
    r"/home/me": r"\S+?",
    r"\d+\.\d+\.\d+\b(?!\.)": r"\d+\.\d+\.\d+",
    r"[0-9a-f]{32}": r"[0-9a-f]{32}",
    r"\d+ (?=tokens|out)": r"\d+ ",
    r":32701": r":\d+",
    r"…": r".*",
    r"\s+": r"\s+",
}


def shown(command: str) -> str:
    """Return what the README says that a command prints."""
    block = re.search(rf"```console\n\$ {re.escape(command)}\n(.*?)```", README, re.DOTALL)
    assert block, command
    return block.group(1).strip()


def pattern(text: str) -> "re.Pattern[str]":
    """Return what fits a text of the README, whatever varies in it and wherever lines end."""
    varying = re.compile("|".join(f"({each})" for each in VARIES))
    pieces, end = [], 0
    for match in varying.finditer(text):
        assert match.lastindex
        varied = list(VARIES.values())[match.lastindex - 1]
        pieces += [re.escape(text[end : match.start()]), varied]
        end = match.end()
    return re.compile("".join([*pieces, re.escape(text[end:])]), re.DOTALL)


def in_a_terminal(home: Path, *words: str) -> str:
    shown = seen(words, clean_environment(home, TERM="xterm", NO_COLOR="1"), home, 100)
    return re.sub(r"\r\x1b\[K[^\r\n]*(?=\r\x1b\[K)|\r\x1b\[K|\r", "", shown).strip()


def test_a_first_answer_looks_as_the_readme_shows(tmp_path: Path) -> None:
    words = 'junto chat "Why is the sky blue?"'
    promised = shown(f".venv/bin/{words}")
    answer = re.search(r"The sky.*…", promised)
    assert answer

    told_us = in_a_terminal(tmp_path, "chat", "Why is the sky blue?")

    # A model says it in other words each time.
    assert pattern(promised.replace(answer.group(), "…")).fullmatch(told_us), told_us


def test_a_client_is_connected_as_the_readme_shows(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text("{}")

    told_us = in_a_terminal(tmp_path, "install", "claude-code")

    assert pattern(shown(".venv/bin/junto install claude-code")).fullmatch(told_us), told_us


def test_a_server_begins_as_the_readme_shows(tmp_path: Path) -> None:
    with subprocess.Popen(
        junto("serve", "--port", "0"),
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(tmp_path),
        cwd=tmp_path,
    ) as process:
        assert process.stderr
        told_us = "".join(process.stderr.readline() for _ in shown("make run").splitlines()).strip()
        process.terminate()
        process.communicate(timeout=SECONDS)

    assert pattern(shown("make run")).fullmatch(told_us), told_us


@pytest.mark.parametrize("target", ["install", "run"])
def test_make_says_what_the_readme_shows(target: str) -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", target],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    said = re.findall(r'^echo "(.*)"$', done.stdout, re.MULTILINE)
    promised = shown("make install").splitlines()
    assert said[:2] == ["Making .venv with $(python3 --version)", promised[1]]
    assert promised[0].startswith("Making .venv with Python 3.")
    if target == "install":
        assert said[2].endswith(" is in .venv/bin/junto")
        assert promised[2].startswith("junto ")


def test_the_first_screen_has_all_that_a_stranger_needs() -> None:
    first = "\n".join(README.splitlines()[:60])

    for words in ("make install", "junto chat", "junto install", "make run", "make test"):
        assert words in first


def test_a_line_that_is_not_printed_would_be_found() -> None:
    assert pattern("Junto 0.1.0 serves …").fullmatch("Junto 12.3.4 serves this")
    assert not pattern("Junto 0.1.0 serves").fullmatch("Junto 0.1.0 serve")


def told(text: str) -> dict[str, list[str]]:
    """Return what a README says whatever its language: commands, code, addresses, headings."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {
        "blocks": re.findall(r"```.*?```", text, re.DOTALL),
        "code": sorted(re.findall(r"`[^`\n]+`", prose)),
        "links": sorted(set(re.findall(r"\]\(([^)]+)\)", prose)) - {"README.md", ZH.name}),
        "headings": re.findall(r"^#+", prose, re.MULTILINE),
        "rows": re.findall(r"^\| (`[^|]+`) \|", prose, re.MULTILINE),
    }


@pytest.mark.feature("F260")
def test_the_readme_in_chinese_says_the_same() -> None:
    chinese = ZH.read_text()

    assert told(chinese) == told(README)
    assert f"]({ZH.name})" in README
    assert "](README.md)" in chinese
    # All that is told in words is in the other language: no line of prose is left as it was.
    english = {line for line in README.splitlines() if len(line) > 60}
    prose = re.sub(r"```.*?```", "", chinese, flags=re.DOTALL)
    assert not english & set(prose.splitlines())
