"""What the README shows is what the program prints."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.clients import TIMEOUT_SECONDS, clean_environment, junto_command
from tests.terminal import run_in_terminal

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
CHINESE_README = ROOT / "README.zh-TW.md"
# What differs between runs and machines, and the regular expression that matches it.
VARYING_PARTS = {
    r"/home/me/junto/.venv/bin/junto": r"\S+?(?:junto| -P -m junto)",
    r"/home/me": r"\S+?",
    r"\d+\.\d+\.\d+\b(?!\.)": r"\d+\.\d+\.\d+",
    r"[0-9a-f]{32}": r"[0-9a-f]{32}",
    r"\d+ (?=tokens|out)": r"\d+ ",
    r":32701": r":\d+",
    r"…": r".*",
    r"\s+": r"\s+",
}


def expected_output(command: str) -> str:
    """Return the output that the README shows for a command."""
    block = re.search(rf"```console\n\$ {re.escape(command)}\n(.*?)```", README, re.DOTALL)
    assert block, command
    return block.group(1).strip()


def build_pattern(text: str) -> "re.Pattern[str]":
    """Return a pattern for a text of the README, with any varying parts and line breaks."""
    any_varying_part = re.compile("|".join(f"({each})" for each in VARYING_PARTS))
    pieces, end = [], 0
    for match in any_varying_part.finditer(text):
        assert match.lastindex
        replacement = list(VARYING_PARTS.values())[match.lastindex - 1]
        pieces += [re.escape(text[end : match.start()]), replacement]
        end = match.end()
    return re.compile("".join([*pieces, re.escape(text[end:])]), re.DOTALL)


def terminal_output(home: Path, *words: str) -> str:
    output = run_in_terminal(words, clean_environment(home, TERM="xterm", NO_COLOR="1"), home, 100)
    return re.sub(r"\r\x1b\[K[^\r\n]*(?=\r\x1b\[K)|\r\x1b\[K|\r", "", output).strip()


def test_chat_prints_what_the_readme_shows(tmp_path: Path) -> None:
    command = 'junto chat "Why is the sky blue?"'
    expected = expected_output(f".venv/bin/{command}")
    answer = re.search(r"The sky.*…", expected)
    assert answer

    output = terminal_output(tmp_path, "chat", "Why is the sky blue?")

    # A model words its answer differently each time.
    assert build_pattern(expected.replace(answer.group(), "…")).fullmatch(output), output


def test_install_prints_what_the_readme_shows(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text("{}")

    output = terminal_output(tmp_path, "install", "claude-code")

    assert build_pattern(expected_output(".venv/bin/junto install claude-code")).fullmatch(
        output
    ), output


def test_a_starting_server_prints_what_the_readme_shows(tmp_path: Path) -> None:
    with subprocess.Popen(
        junto_command("serve", "--port", "0"),
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(tmp_path),
        cwd=tmp_path,
    ) as process:
        assert process.stderr
        output = "".join(
            process.stderr.readline() for _ in expected_output("make run").splitlines()
        ).strip()
        process.terminate()
        process.communicate(timeout=TIMEOUT_SECONDS)

    assert build_pattern(expected_output("make run")).fullmatch(output), output


@pytest.mark.parametrize("target", ["install", "run"])
def test_make_prints_what_the_readme_shows(target: str) -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", target],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    printed = re.findall(r'^echo "(.*)"$', done.stdout, re.MULTILINE)
    expected = expected_output("make install").splitlines()
    assert printed[:2] == ["Making .venv with $(python3 --version)", expected[1]]
    assert expected[0].startswith("Making .venv with Python 3.")
    if target == "install":
        assert printed[2].endswith(" is in .venv/bin/junto")
        assert expected[2].startswith("junto ")


def test_the_first_screen_shows_the_commands_that_a_newcomer_needs() -> None:
    first_screen = "\n".join(README.splitlines()[:60])

    for command in ("make install", "junto chat", "junto install", "make run", "make test"):
        assert command in first_screen


def test_the_comparison_detects_a_different_line() -> None:
    assert build_pattern("Junto 0.1.0 serves …").fullmatch("Junto 12.3.4 serves this")
    assert not build_pattern("Junto 0.1.0 serves").fullmatch("Junto 0.1.0 serve")


def language_neutral_parts(text: str) -> dict[str, list[str]]:
    """Return what is the same in every language: commands, code, links, headings, table rows."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {
        "blocks": re.findall(r"```.*?```", text, re.DOTALL),
        "code": sorted(re.findall(r"`[^`\n]+`", prose)),
        "links": sorted(
            set(re.findall(r"\]\(([^)]+)\)", prose)) - {"README.md", CHINESE_README.name}
        ),
        "headings": re.findall(r"^#+", prose, re.MULTILINE),
        "rows": re.findall(r"^\| (`[^|]+`) \|", prose, re.MULTILINE),
    }


@pytest.mark.feature("F260")
def test_the_chinese_readme_matches_the_english_one() -> None:
    chinese = CHINESE_README.read_text()

    assert language_neutral_parts(chinese) == language_neutral_parts(README)
    assert f"]({CHINESE_README.name})" in README
    assert "](README.md)" in chinese
    # All prose is translated: no long English line is left.
    english = {line for line in README.splitlines() if len(line) > 60}
    prose = re.sub(r"```.*?```", "", chinese, flags=re.DOTALL)
    assert not english & set(prose.splitlines())
