"""Commands: what is refused, what the rest may see, and that nothing of them is left."""

import asyncio
import contextlib
import itertools
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from junto.domain.errors import ExecutionError, JuntoError, SecurityError, TimeLimitError
from junto.kit.commands import Limits, Ran, Runner
from junto.security.commands import SAFE, Commands, Rule, Words
from junto.security.paths import Roots
from junto.work import processes
from tests.clients import Remark
from tests.processes import command_lines

ANYTHING = Rule(unchecked=True, writes=True)


def runner(folder: Path, *names: str, **options: object) -> Runner:
    rules = {**SAFE, **dict.fromkeys(names, ANYTHING)}
    return Runner(roots=Roots.of([folder]), commands=Commands(rules), **options)  # type: ignore[arg-type]


async def ran(it: Runner, *words: str, cwd: str | None = None, seconds: float = 20) -> Ran:
    return await it.run(words[0], words[1:], cwd, seconds)


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file.txt").write_text("one\ntwo\n")
    (tmp_path / "secret").write_text("outside")
    for words in (
        ("init", "-q", "."),
        ("add", "."),
        ("-c", "user.email=a@b", "-c", "user.name=x", "commit", "-qm", "first"),
    ):
        subprocess.run(["/usr/bin/git", *words], cwd=folder, check=True, env={"HOME": "/"})
    return folder


@pytest.mark.feature("F152")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("cat", "deep/file.txt"), "one\ntwo\n"),
        (("head", "-n", "1", "deep/file.txt"), "one\n"),
        (("head", "-1", "deep/file.txt"), "one\n"),
        (("tail", "-n1", "deep/file.txt"), "two\n"),
        (("grep", "-rn", "tw", "deep"), "deep/file.txt:2:two\n"),
        (("grep", "-e", "on", "deep/file.txt"), "one\n"),
        (("find", ".", "-name", "*.txt", "-type", "f"), "./deep/file.txt\n"),
        (("wc", "-l", "deep/file.txt"), "2 deep/file.txt\n"),
        (("echo", "$(id)", ";", "a && b", "`x`"), "$(id) ; a && b `x`\n"),
        (("git", "log", "--oneline", "--format=%s"), "first\n"),
        (("git", "status", "--short"), ""),
        (("git", "show", "HEAD:deep/file.txt"), "one\ntwo\n"),
        (("sort", "-r", "deep/file.txt"), "two\none\n"),
        (("ls", "--", "deep"), "file.txt\n"),
    ],
    ids=" ".join,
)
async def test_commands_that_only_look_may_run(
    repository: Path, words: tuple[str, ...], said: str
) -> None:
    result = await ran(runner(repository), *words)

    assert (result.exit_code, result.stdout, result.stderr) == (0, said, "")


async def test_a_command_runs_where_it_is_told_to(repository: Path) -> None:
    result = await ran(runner(repository), "cat", "file.txt", cwd="deep")

    assert result.stdout == "one\ntwo\n"
    for cwd in ("..", "/", "deep/file.txt", "missing"):
        with pytest.raises(JuntoError):
            await ran(runner(repository), "pwd", cwd=cwd)


INJECTIONS = [
    ("git", "-c", "core.pager=id", "log"),
    ("git", "--exec-path=/tmp", "status"),
    ("git", "-C", "/etc", "status"),
    ("git", "--git-dir=/tmp/x", "log"),
    ("git", "diff", "--no-index", "/etc/passwd", "/dev/null"),
    ("git", "diff", "/etc/passwd", "/etc/hosts"),
    ("git", "diff", "--output=x"),
    ("git", "log", "--output=x"),
    ("git", "diff", "--ext-diff"),
    ("git", "show", "--textconv"),
    ("git", "clone", "https://example.org"),
    ("git", "fetch"),
    ("git", "config", "alias.x", "!id"),
    ("git", "log", "-O/etc/passwd"),
    ("git", "branch", "new"),
    ("git", "tag", "new"),
    ("git", "grep", "--open-files-in-pager=id", "x"),
    ("git",),
    ("find", ".", "-exec", "id", ";"),
    ("find", ".", "-execdir", "id", ";"),
    ("find", ".", "-delete"),
    ("find", ".", "-fprintf", "x", "y"),
    ("find", ".", "-ok", "id", ";"),
    ("find", "/etc", "-name", "passwd"),
    ("find", "--", ".", "-exec", "id", ";"),
    ("find", "--", ".", "-delete"),
    ("grep", "/etc/passwd", "-e", "root"),
    ("grep", "../secret", "-e", "out"),
    ("grep", "-R", "x", "."),
    ("cat", "--", "-x"),
    ("sort", "-o", "x", "deep/file.txt"),
    ("sort", "-ox", "deep/file.txt"),
    ("sort", "--output=x", "deep/file.txt"),
    ("sort", "--compress-program=id", "deep/file.txt"),
    ("sort", "-T", "/etc", "deep/file.txt"),
    ("sort", "--files0-from=/etc/passwd"),
    ("uniq", "deep/file.txt", "out"),
    ("wc", "--files0-from=/etc/passwd"),
    ("grep", "-f", "/etc/passwd", "deep/file.txt"),
    ("grep", "-f/etc/passwd", "deep/file.txt"),
    ("grep", "--file=/etc/passwd", "deep/file.txt"),
    ("grep", "x", "/etc/passwd"),
    ("grep", "-e", "x", "../secret"),
    ("date", "-s", "2020-01-01"),
    ("date", "--set=2020-01-01"),
    ("date", "0101000020"),
    ("date", "-f", "/etc/passwd"),
    ("date", "--reference=/etc/passwd"),
    ("file", "-m", "/etc/passwd", "deep/file.txt"),
    ("file", "-f", "/etc/passwd"),
    ("diff", "--from-file=/etc/passwd", "deep"),
    ("diff", "deep/file.txt", "/etc/passwd"),
    ("tail", "-f", "deep/file.txt"),
    ("tail", "--follow", "deep/file.txt"),
    ("cat", "../secret"),
    ("cat", "/etc/passwd"),
    ("cat", "deep/../../secret"),
    ("cat", "--", "/etc/passwd"),
    ("cat", "-"),
    ("ls", "/"),
    ("ls", "--", "-la", "/"),
    ("ls", "--hyperlink=/etc"),
    ("du", "--files0-from=/etc/passwd"),
    ("stat", "/etc/passwd"),
    ("stat", "-c"),
    ("head", "-n", "-c", "deep/file.txt"),
    ("sh", "-c", "id"),
    ("/bin/ls",),
    ("./ls",),
    ("../bin/ls",),
    ("ls\0",),
    ("cat", "deep/file.txt\0/etc/passwd"),
    ("env",),
    ("xargs", "id"),
    ("LS",),
    ("",),
    (" ls",),
    ("pwd", "x"),
    ("echo", *["x"] * 2000),
    ("echo", "x" * 200_000),
]


@pytest.mark.feature("F166")
@pytest.mark.parametrize("words", INJECTIONS, ids=lambda words: " ".join(words)[:40])
async def test_what_is_not_allowed_is_refused_before_it_runs(
    repository: Path, words: tuple[str, ...]
) -> None:
    before = everything(repository)
    if words == ("cat", "-"):  # a dash is a word, and there is nothing on standard input
        assert (await ran(runner(repository), *words)).stdout == ""
        return

    with pytest.raises(SecurityError):
        await ran(runner(repository), *words)

    assert everything(repository) == before


def test_no_argument_that_a_rule_does_not_know_passes(repository: Path, remark: Remark) -> None:
    """Put together thousands of commands; what passes has nothing in it that is not allowed."""
    chance = random.Random(7)  # noqa: S311 - to be repeated
    commands, roots = Commands(SAFE), Roots.of([repository])
    bits = [
        "-", "--", "-c", "-exec", "--output=/tmp/x", "-o", "/etc/passwd", "../secret", "$(id)",
        "deep", "deep/file.txt", "-n", "5", "--help", "--version", "-f", "status", "log", "diff",
        "--no-index", "-rf", "-la", "-delete", ";", "|", "\n", "-i", "+%s", "-e", "x", "-C", "~",
        "-la/etc", "--format=%x", "-l", "-1", "-", "-U", "HEAD", "--since=1", "@/etc/passwd",
    ]  # fmt: skip
    passed = tried = 0
    for _ in range(20_000):
        name = chance.choice(list(SAFE))
        words = chance.choices(bits, k=chance.randint(0, 5))
        tried += 1
        try:
            allowed = commands.check(name, words, roots.holds)
        except SecurityError:
            continue
        passed += 1
        rule = SAFE[name]
        given = list(allowed.arguments[len(rule.before) :])
        if rule.subcommands:
            inner = rule.subcommands[given[0]]
            rule, given = inner, given[1 + len(inner.before) :]
        values = False
        for word in itertools.takewhile(lambda word: word != "--", given):
            if word.startswith("-") and len(word) > 1 and not values:
                known = word in rule.flags or f"{word} " in rule.flags
                known = known or f"{word.partition('=')[0]}=" in rule.flags
                known = known or (rule.numbers and word[1:].isdigit())
                assert known or all(f"-{letter}" in rule.flags for letter in word[1:])
                values = f"{word} " in rule.flags
            else:
                outside = word in ("/etc/passwd", "../secret")
                assert not (outside and rule.words is Words.PATHS and not values)
                values = False
    remark(f"{tried:,} made-up commands, {passed:,} of them allowed")

    assert passed > 500


FILTER = '[filter "f"]\n\tclean = {script}\n'
PROMISE = (
    '[remote "x"]\n\tpromisor = true\n\turl = {script}\n\tuploadpack = {script}\n'
    "[extensions]\n\tpartialClone = x\n[core]\n\trepositoryformatversion = 1\n"
)
PROTOCOL = (
    '[protocol "ext"]\n\tallow = always\n[remote "x"]\n\tpromisor = true\n'
    "\turl = ext::{script}\n[extensions]\n\tpartialClone = x\n"
)
SIGNATURE = '[gpg "ssh"]\n\tprogram = {script}\n[gpg]\n\tformat = ssh\n'
TEXTCONV = '[diff "t"]\n\ttextconv = {script}\n'
# Configuration and attributes of a repository, and the command that would run what they name.
EVIL = {
    "a filter": (FILTER, "*.txt filter=f\n", ("diff",)),
    "a filter by blame": (FILTER, "*.txt filter=f\n", ("blame", "deep/file.txt")),
    "textconv by blame": (TEXTCONV, "*.txt diff=t\n", ("blame", "deep/file.txt")),
    "a signature": (SIGNATURE, "", ("log", "--format=%GG")),
    "a promise": (PROMISE, "", ("show", "1" * 40)),
    "another protocol": (PROTOCOL, "", ("show", "1" * 40)),
}


@pytest.mark.parametrize("way", EVIL)
async def test_no_program_that_a_repository_names_is_run(repository: Path, way: str) -> None:
    config, attributes, words = EVIL[way]
    planted, script = repository / "planted", repository / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {planted}\ncat\n")
    script.chmod(0o755)
    with (repository / ".git" / "config").open("a") as file:
        file.write(config.replace("{script}", str(script)))
    (repository / ".gitattributes").write_text(attributes)
    (repository / "deep/file.txt").write_text("changed\n")
    it = Runner(
        roots=Roots.of([repository]),
        # As if it could write, so that the mark would be seen.
        commands=Commands({"git": replace(SAFE["git"], writes=True)}),
    )

    with contextlib.suppress(SecurityError):
        await ran(it, "git", *words)

    assert not planted.exists()


async def test_links_inside_a_folder_are_not_followed_even_without_the_kernels_help(
    repository: Path,
) -> None:
    (repository / "one").mkdir()
    (repository / "two").mkdir()
    for folder in ("one", "two"):
        (repository / folder / "link").symlink_to(repository.parent / folder)
        (repository.parent / folder).write_text(f"outside {folder}")
    it = runner(repository, confined=False)

    for words in (
        ("diff", "-r", "one", "two"),
        ("grep", "-r", "outside", "."),
        ("cat", "one/link"),
    ):
        with contextlib.suppress(SecurityError):
            assert "outside " not in (await ran(it, *words)).stdout.replace("-r outside", "")


async def test_a_repository_made_of_plain_files_is_none(repository: Path) -> None:
    bare = repository / "e"
    for name, text in {
        "HEAD": "ref: refs/heads/x\n", "config": "[core]\n\tbare = true\n", "objects/x": "",
        "refs/x": "",
    }.items():  # fmt: skip
        (bare / name).parent.mkdir(parents=True, exist_ok=True)
        (bare / name).write_text(text)

    result = await ran(runner(repository), "git", "log", cwd="e")

    assert result.exit_code != 0
    assert "bare repository" in result.stderr


@pytest.mark.timeout(120)
async def test_cancelling_at_any_moment_leaves_no_process_and_no_caller(repository: Path) -> None:
    os.mkfifo(repository / "pipe")
    it = runner(repository)

    async def one(number: int) -> None:
        work = asyncio.create_task(ran(it, "cat", str(repository / "pipe"), seconds=60))
        await asyncio.sleep((number % 30) / 500)  # from before its start until it runs
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work

    for start in range(0, 90, 6):
        await asyncio.gather(*(one(number) for number in range(start, start + 6)))

    assert not [line for line in lines() if str(repository / "pipe") in line]


async def test_nobody_sees_the_environment_of_a_command_from_outside(repository: Path) -> None:
    it = runner(repository, "sleep", environment={"TOKEN": "planted-token"})
    work = asyncio.create_task(ran(it, "sleep", "1"))
    await asyncio.sleep(0.5)

    assert not [line for line in lines() if "planted-token" in line]
    assert (await work).exit_code == 0


async def test_a_program_of_the_operators_sees_its_own_folder_and_not_the_one_around(
    repository: Path, tmp_path: Path
) -> None:
    tool = tmp_path / "home" / "bin" / "tool"
    tool.parent.mkdir(parents=True)
    (tmp_path / "home" / "key").write_text("private")
    tool.write_text(f"#!/bin/sh\ncat {tmp_path}/home/key; echo done\n")
    tool.chmod(0o755)
    it = Runner(
        roots=Roots.of([repository]),
        commands=Commands({"tool": Rule(unchecked=True, program=str(tool))}),
    )

    result = await ran(it, "tool")

    assert result.stdout == "done\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can confine a command")
async def test_even_a_shell_sees_only_the_allowed_folders_and_no_network(
    repository: Path,
) -> None:
    (repository / "link").symlink_to("/etc/passwd")
    script = (
        "cat link /etc/passwd ../secret /proc/self/environ /proc/1/environ; ls / ~root; "
        "echo x > ../planted; echo x > /tmp/junto-planted; ln -s /etc/passwd l2; cat l2; "
        "exec 3<>/dev/tcp/127.0.0.1/9; kill -0 1; cat deep/file.txt; echo y > made"
    )

    result = await ran(runner(repository, "bash"), "bash", "-c", script)

    assert result.stdout == "one\ntwo\n"
    assert result.stderr.count("Permission denied") >= 9  # the last is for what lies in /tmp
    assert (repository / "made").read_text() == "y\n"
    assert not (repository.parent / "planted").exists()


async def test_what_only_looks_cannot_write_whatever_it_tries(repository: Path) -> None:
    rules = {"bash": Rule(unchecked=True)}
    it = Runner(roots=Roots.of([repository]), commands=Commands(rules))

    result = await ran(it, "bash", "-c", "echo x > deep/file.txt; rm deep/file.txt; mkdir y")

    assert (repository / "deep/file.txt").read_text() == "one\ntwo\n"
    assert not (repository / "y").exists()
    assert result.exit_code != 0


async def test_a_repository_cannot_make_git_run_anything(repository: Path) -> None:
    planted = repository / "planted"
    script = repository / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {planted}\ncat\n")
    script.chmod(0o755)
    config = (
        f"[core]\n\tfsmonitor = {script}\n\tpager = {script}\n\thooksPath = {repository}\n"
        f'[diff]\n\texternal = {script}\n[diff "t"]\n\ttextconv = {script}\n'
        f"[alias]\n\tstatus = !{script}\n[gpg]\n\tprogram = {script}\n"
        "[log]\n\tshowSignature = true\n"
    )
    with (repository / ".git" / "config").open("a") as file:
        file.write(config)
    (repository / ".gitattributes").write_text("*.txt diff=t\n")
    (repository / "deep/file.txt").write_text("changed\n")

    for words in (("status",), ("diff",), ("log", "-p"), ("show",), ("blame", "deep/file.txt")):
        await ran(runner(repository), "git", *words)

    assert not planted.exists()


async def test_nothing_of_ours_is_in_the_environment_of_a_command(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted")
    it = runner(repository, "env", environment={"WANTED": "yes"})

    result = await ran(it, "env")

    assert "sk-planted" not in result.stdout
    assert "WANTED=yes" in result.stdout
    names = {line.partition("=")[0] for line in result.stdout.splitlines()}
    assert not any("KEY" in name and "GIT_CONFIG" not in name for name in names)


async def test_a_command_that_fails_says_how(repository: Path) -> None:
    result = await ran(runner(repository), "cat", "missing")

    assert result.exit_code == 1
    assert "No such file" in result.stderr


async def test_output_has_an_end(repository: Path) -> None:
    it = runner(repository, "bash")

    much = await ran(it, "bash", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; echo done >&2")

    assert much.truncated
    assert len(much.stdout) == 200_000
    assert (much.exit_code, much.stderr) == (0, "done\n")
    with pytest.raises(ExecutionError, match="more than 64 MiB"):
        await ran(it, "bash", "-c", "yes")


async def test_memory_and_files_have_an_end(repository: Path) -> None:
    limits = Limits(memory_bytes=200 * 1024**2, file_bytes=100_000)
    it = runner(repository, "python3", "bash", limits=limits)

    hungry = await ran(it, "python3", "-c", "x = bytearray(10**9)")
    large = await ran(it, "bash", "-c", "head -c 1000000 /dev/zero > big")

    assert hungry.exit_code != 0
    assert "MemoryError" in hungry.stderr
    assert large.exit_code != 0
    assert (repository / "big").stat().st_size <= 100_000


# A shell that ignores being asked, with children that do so too, in sessions of their own.
STUBBORN = """
trap '' TERM HUP INT
for i in 1 2; do setsid bash -c "trap '' TERM HUP INT; sleep 1000.$0 & wait; sleep 1000.$0" & done
(setsid bash -c "trap '' TERM; (sleep 1000.$0 &); sleep 1000.$0" &)
echo ready
sleep 1000.$0
"""


def lines() -> list[str]:
    """Return the command lines of all processes."""
    return [" ".join(words) for words in command_lines().values()]


def left(mark: str) -> list[str]:
    """Return the processes whose command line has the mark in it."""
    return [line for line in lines() if f"1000.{mark}" in line or f" {mark} " in f"{line} "]


@pytest.fixture(params=["a world of their own", "a keeper that takes in orphans"])
def keeping(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the kernel end processes as one, or be without its help."""
    if request.param != "a world of their own":
        folder = tmp_path / "keeper"
        shutil.copytree(processes._KEEPER.parent, folder)
        alone = "\n\ndef new_processes(*, confined: bool) -> bool:\n    return False\n"
        module = folder / "confinement.py"
        module.write_text(module.read_text() + alone)
        monkeypatch.setattr(processes, "_KEEPER", folder / "keeper.py")
    return str(request.param)


@pytest.mark.timeout(180)
async def test_a_hundred_stubborn_commands_leave_no_process(repository: Path, keeping: str) -> None:
    it = runner(repository, "bash")
    mark = str(os.getpid() * 1000 + len(keeping))

    async def one(number: int) -> str:
        work = asyncio.create_task(
            ran(it, "bash", "-c", STUBBORN, mark, seconds=0.4 if number % 2 else 60)
        )
        if number % 2 == 0:
            await asyncio.sleep(0.2 + (number % 10) / 20)  # a caller's patience
            work.cancel()
        try:
            await work
        except asyncio.CancelledError:
            return "cancelled"
        except TimeLimitError:
            return "late"
        return "ended"

    ends = []
    for start in range(0, 50, 5):  # and as many in the other way
        ends += await asyncio.gather(*(one(number) for number in range(start, start + 5)))

    assert {end: ends.count(end) for end in set(ends)} == {"cancelled": 25, "late": 25}
    assert left(mark) == []


DIES = """
import asyncio, os, sys
from pathlib import Path
from tests.kit.test_commands import STUBBORN, ran, runner
async def main():
    task = asyncio.create_task(
        ran(runner(Path(sys.argv[1]), "bash"), "bash", "-c", STUBBORN, sys.argv[2], seconds=60))
    await asyncio.sleep(1)
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""


async def test_a_server_that_is_killed_takes_its_commands_with_it(repository: Path) -> None:
    mark = str(os.getpid() * 1000 + 8)
    await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", DIES, str(repository), mark],
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )

    async with asyncio.timeout(20):
        while left(mark):  # noqa: ASYNC110 - the keeper is at it
            await asyncio.sleep(0.05)
