"""Commands: which are refused, what the others can access, and that no process is left."""

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
from junto.local_tools.commands import CommandLimits, CommandOutput, CommandRunner
from junto.security.commands import SAFE_COMMANDS, CommandPolicy, CommandRule, PositionalKind
from junto.security.paths import Roots
from tests.clients import Remark
from tests.event_loop import poll_until
from tests.processes import command_lines

ANY_ARGUMENTS = CommandRule(unchecked=True, writes=True, spawns=True)


def build_runner(folder: Path, *names: str, **options: object) -> CommandRunner:
    rules = {**SAFE_COMMANDS, **dict.fromkeys(names, ANY_ARGUMENTS)}
    return CommandRunner(roots=Roots.from_paths([folder]), commands=CommandPolicy(rules), **options)  # type: ignore[arg-type]


async def run(
    runner: CommandRunner, *words: str, cwd: str | None = None, seconds: float = 20
) -> CommandOutput:
    return await runner.run(words[0], words[1:], cwd, seconds)


def list_tree(folder: Path) -> list[Path]:
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
    ("words", "expected"),
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
async def test_read_only_commands_run(
    repository: Path, words: tuple[str, ...], expected: str
) -> None:
    result = await run(build_runner(repository), *words)

    assert (result.exit_code, result.stdout, result.stderr) == (0, expected, "")


async def test_a_command_runs_in_the_given_directory(repository: Path) -> None:
    result = await run(build_runner(repository), "cat", "file.txt", cwd="deep")

    assert result.stdout == "one\ntwo\n"
    for cwd in ("..", "/", "deep/file.txt", "missing"):
        with pytest.raises(JuntoError):
            await run(build_runner(repository), "pwd", cwd=cwd)


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
async def test_a_disallowed_command_is_refused_before_it_runs(
    repository: Path, words: tuple[str, ...]
) -> None:
    before = list_tree(repository)
    if words == ("cat", "-"):  # a dash is an ordinary argument, and standard input is empty
        assert (await run(build_runner(repository), *words)).stdout == ""
        return

    with pytest.raises(SecurityError):
        await run(build_runner(repository), *words)

    assert list_tree(repository) == before


def test_no_argument_that_a_rule_does_not_list_is_accepted(
    repository: Path, remark: Remark
) -> None:
    """Build thousands of random commands; those that pass contain only allowed arguments."""
    rng = random.Random(7)  # noqa: S311 - must be reproducible
    commands, roots = CommandPolicy(SAFE_COMMANDS), Roots.from_paths([repository])
    fragments = [
        "-", "--", "-c", "-exec", "--output=/tmp/x", "-o", "/etc/passwd", "../secret", "$(id)",
        "deep", "deep/file.txt", "-n", "5", "--help", "--version", "-f", "status", "log", "diff",
        "--no-index", "-rf", "-la", "-delete", ";", "|", "\n", "-i", "+%s", "-e", "x", "-C", "~",
        "-la/etc", "--format=%x", "-l", "-1", "-", "-U", "HEAD", "--since=1", "@/etc/passwd",
    ]  # fmt: skip
    accepted = attempts = 0
    for _ in range(20_000):
        name = rng.choice(list(SAFE_COMMANDS))
        words = rng.choices(fragments, k=rng.randint(0, 5))
        attempts += 1
        try:
            allowed = commands.check(name, words, roots.contains)
        except SecurityError:
            continue
        accepted += 1
        rule = SAFE_COMMANDS[name]
        arguments = list(allowed.arguments[len(rule.fixed_arguments) :])
        if rule.subcommands:
            inner = rule.subcommands[arguments[0]]
            rule, arguments = inner, arguments[1 + len(inner.fixed_arguments) :]
        expects_value = False
        for word in itertools.takewhile(lambda word: word != "--", arguments):
            if word.startswith("-") and len(word) > 1 and not expects_value:
                is_known = word in rule.flags or f"{word} " in rule.flags
                is_known = is_known or f"{word.partition('=')[0]}=" in rule.flags
                is_known = is_known or (rule.allows_number_flag and word[1:].isdigit())
                assert is_known or all(f"-{letter}" in rule.flags for letter in word[1:])
                expects_value = f"{word} " in rule.flags
            else:
                is_outside = word in ("/etc/passwd", "../secret")
                assert not (
                    is_outside and rule.positionals is PositionalKind.PATHS and not expects_value
                )
                expects_value = False
    remark(f"{attempts:,} made-up commands, {accepted:,} of them allowed")

    assert accepted > 500


FILTER = '[filter "{name}"]\n\tclean = {script}\n\trequired = true\n'
PROMISOR = (
    '[remote "x"]\n\tpromisor = true\n\turl = {script}\n\tuploadpack = {script}\n'
    "[extensions]\n\tpartialClone = x\n[core]\n\trepositoryformatversion = 1\n"
)
PROTOCOL = (
    '[protocol "ext"]\n\tallow = always\n[remote "x"]\n\tpromisor = true\n'
    "\turl = ext::{script}\n[extensions]\n\tpartialClone = x\n"
)
SIGNATURE = '[gpg "ssh"]\n\tprogram = {script}\n[gpg]\n\tformat = ssh\n'
TEXTCONV = '[diff "t"]\n\ttextconv = {script}\n'
EVERYTHING = (
    "[core]\n\tfsmonitor = {script}\n\tpager = {script}\n\thooksPath = {folder}\n"
    "\teditor = {script}\n\tsshCommand = {script}\n\talternateRefsCommand = {script}\n"
    "[diff]\n\texternal = {script}\n\tsubmodule = diff\n"
    "[alias]\n\tstatus = !{script}\n[gpg]\n\tprogram = {script}\n"
    "[log]\n\tshowSignature = true\n[credential]\n\thelper = {script}\n"
    '[merge "t"]\n\tdriver = {script}\n[trailer "t"]\n\tcmd = {script}\n'
)
# Characters that `str.splitlines` takes for the end of a line, and git does not.
ODD_LINE_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
# Config and attributes of a repository, and the git command that would run their program.
HOSTILE_CONFIGS = {
    "a filter": (FILTER, "*.txt filter={name}\n", ("diff",)),
    "a filter by status": (FILTER, "*.txt filter={name}\n", ("status",)),
    "a filter by blame": (FILTER, "*.txt filter={name}\n", ("blame", "deep/file.txt")),
    "textconv by blame": (TEXTCONV, "*.txt diff=t\n", ("blame", "deep/file.txt")),
    "a signature": (SIGNATURE, "", ("log", "--format=%GG")),
    "a trailer": (EVERYTHING, "", ("log", "--format=%(trailers:key=t)")),
    "a promisor remote": (PROMISOR, "", ("show", "1" * 40)),
    "the ext protocol": (PROTOCOL, "", ("show", "1" * 40)),
    **{
        f"all by {words[0]}": (EVERYTHING + TEXTCONV, "*.txt diff=t merge=t\n", words)
        for words in (
            ("status",), ("diff",), ("log", "-p"), ("show",), ("blame", "deep/file.txt"),
            ("describe", "--always", "--dirty"), ("branch", "-vv"), ("ls-files", "-m"),
            ("shortlog", "HEAD"), ("tag", "-l"), ("rev-parse", "HEAD"),
        )
    },
}  # fmt: skip


class HostileRepository:
    """A repository that tries to make git run a script, which leaves a file where it was run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.planted = folder / "planted"
        self.script = folder / "evil.sh"
        self.script.write_text(f"#!/bin/sh\ntouch {self.planted}\ncat\n")
        self.script.chmod(0o755)

    def configure(self, git_dir: Path, config: str, name: str = "f") -> None:
        with (git_dir / "config").open("a") as file:
            file.write(
                config.replace("{script}", str(self.script))
                .replace("{folder}", str(self.folder))
                .replace("{name}", name)
            )

    async def run_git(self, *words: str, sandboxed: bool) -> CommandOutput:
        # May write, so that the script could leave its file.
        rules = {"git": replace(SAFE_COMMANDS["git"], writes=True)}
        runner = CommandRunner(
            roots=Roots.from_paths([self.folder]),
            commands=CommandPolicy(rules),
            sandboxed=sandboxed,
        )
        return await run(runner, "git", *words)


@pytest.fixture
def hostile(repository: Path) -> HostileRepository:
    return HostileRepository(repository)


def add_submodule(folder: Path, other: Path) -> None:
    """Add a new repository as the submodule `sub`."""

    def run_git(cwd: Path, *words: str) -> None:
        options = ("protocol.file.allow=always", "user.email=a", "user.name=x")
        flags = [flag for option in options for flag in ("-c", option)]
        subprocess.run(["/usr/bin/git", *flags, *words], cwd=cwd, check=True, env={"HOME": "/"})

    other.mkdir()
    (other / "inner.txt").write_text("one\n")
    run_git(other, "init", "-q")
    run_git(other, "add", ".")
    run_git(other, "commit", "-qm", "first")
    run_git(folder, "submodule", "--quiet", "add", str(other), "sub")
    run_git(folder, "commit", "-qm", "sub")


both_modes = pytest.mark.parametrize("sandboxed", [True, False], ids=["sandboxed", "unconfined"])


@both_modes
@pytest.mark.parametrize("attack", HOSTILE_CONFIGS)
async def test_no_program_from_the_config_of_a_repository_is_run(
    hostile: HostileRepository, attack: str, *, sandboxed: bool
) -> None:
    config, attributes, words = HOSTILE_CONFIGS[attack]
    hostile.configure(hostile.folder / ".git", config)
    (hostile.folder / ".gitattributes").write_text(attributes.replace("{name}", "f"))
    (hostile.folder / "deep/file.txt").write_text("changed\n")

    await hostile.run_git(*words, sandboxed=sandboxed)

    assert not hostile.planted.exists()


@pytest.mark.parametrize("char", ODD_LINE_ENDS, ids=lambda char: f"U+{ord(char):04X}")
async def test_a_filter_with_an_odd_name_is_not_run(hostile: HostileRepository, char: str) -> None:
    hostile.configure(hostile.folder / ".git", FILTER, f"a{char}b")
    (hostile.folder / ".gitattributes").write_text(f"*.txt filter=a{char}b\n")
    (hostile.folder / "deep/file.txt").write_text("changed\n")

    await hostile.run_git("diff", sandboxed=False)

    assert not hostile.planted.exists()


@both_modes
async def test_nothing_is_run_in_a_submodule(
    hostile: HostileRepository, tmp_path: Path, *, sandboxed: bool
) -> None:
    """A submodule has its own config and attributes, and git starts itself in it."""
    add_submodule(hostile.folder, tmp_path / "other")
    module = hostile.folder / ".git" / "modules" / "sub"
    hostile.configure(module, EVERYTHING + FILTER + TEXTCONV)
    (module / "info").mkdir(exist_ok=True)
    (module / "info" / "attributes").write_text("*.txt filter=f diff=t\n")
    hostile.configure(hostile.folder / ".git", "[diff]\n\tsubmodule = diff\n")
    with (hostile.folder / ".gitmodules").open("a") as file:
        file.write("\tignore = none\n")
    (hostile.folder / "sub" / "inner.txt").write_text("changed\n")

    for words in (
        ("status",), ("status", "--short"), ("diff",), ("show",), ("log", "-p"),
        ("describe", "--always", "--dirty"), ("ls-files", "-m"),
    ):  # fmt: skip
        result = await hostile.run_git(*words, sandboxed=sandboxed)
        assert (words, result.exit_code, result.stderr) == (words, 0, "")

    assert not hostile.planted.exists()


async def test_links_inside_a_folder_are_not_followed_even_without_the_sandbox(
    repository: Path,
) -> None:
    (repository / "one").mkdir()
    (repository / "two").mkdir()
    for folder in ("one", "two"):
        (repository / folder / "link").symlink_to(repository.parent / folder)
        (repository.parent / folder).write_text(f"outside {folder}")
    runner = build_runner(repository, sandboxed=False)

    for words in (
        ("diff", "-r", "one", "two"),
        ("grep", "-r", "outside", "."),
        ("cat", "one/link"),
    ):
        with contextlib.suppress(SecurityError):
            assert "outside " not in (await run(runner, *words)).stdout.replace("-r outside", "")


def write_repository_that_names_another(tmp_path: Path, way: str) -> Path:
    """Return a folder whose repository leads to one outside of it."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
        subprocess.run(["git", "init", "-q", folder], check=True)
    (outside / "private").write_text("hidden text")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", outside, "add", "."], check=True)
    subprocess.run(["git", "-C", outside, *identity, "commit", "-qm", "private"], check=True)
    head = subprocess.run(
        ["git", "-C", outside, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    if way == "work tree":
        subprocess.run(["git", "-C", root, "config", "core.worktree", outside], check=True)
    elif way == "gitdir file":
        shutil.rmtree(root / ".git")
        (root / ".git").write_text(f"gitdir: {outside}/.git\n")
    else:
        alternates = root / ".git" / "objects" / "info" / "alternates"
        alternates.write_text(f"{outside}/.git/objects\n")
        (root / ".git" / "refs" / "heads" / "main").write_text(f"{head}\n")
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return root


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can confine a command")
@pytest.mark.parametrize("sandboxed", [True, False])
@pytest.mark.parametrize("way", ["work tree", "gitdir file", "objects"])
async def test_git_shows_no_file_outside_the_roots_that_a_repository_names(
    tmp_path: Path, way: str, *, sandboxed: bool
) -> None:
    root = write_repository_that_names_another(tmp_path, way)
    runner = build_runner(root, sandboxed=sandboxed)

    outputs = [
        await runner.run("git", words, None, None)
        for words in (["status", "--short"], ["ls-files", "-o"], ["log", "-p"], ["show"])
    ]

    shown = "".join(output.stdout for output in outputs)
    assert "private" not in shown
    assert "hidden" not in shown


async def test_a_bare_repository_made_of_plain_files_is_refused(repository: Path) -> None:
    bare = repository / "e"
    for name, text in {
        "HEAD": "ref: refs/heads/x\n", "config": "[core]\n\tbare = true\n", "objects/x": "",
        "refs/x": "",
    }.items():  # fmt: skip
        (bare / name).parent.mkdir(parents=True, exist_ok=True)
        (bare / name).write_text(text)

    result = await run(build_runner(repository), "git", "log", cwd="e")

    assert result.exit_code != 0
    assert "bare repository" in result.stderr


@pytest.mark.timeout(120)
async def test_cancelling_at_any_moment_leaves_no_process(repository: Path) -> None:
    os.mkfifo(repository / "pipe")
    runner = build_runner(repository)

    async def start_and_cancel(number: int) -> None:
        task = asyncio.create_task(run(runner, "cat", str(repository / "pipe"), seconds=60))
        await asyncio.sleep((number % 30) / 500)  # before, during and after its start
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    for start in range(0, 90, 6):
        await asyncio.gather(*(start_and_cancel(number) for number in range(start, start + 6)))

    assert not [line for line in list_command_lines() if str(repository / "pipe") in line]


async def test_the_environment_of_a_command_is_not_visible_in_command_lines(
    repository: Path,
) -> None:
    pipe = repository / "pipe"
    os.mkfifo(pipe)
    runner = build_runner(repository, environment={"TOKEN": "planted-token"})
    task = asyncio.create_task(run(runner, "cat", str(pipe)))
    await poll_until(lambda: any(str(pipe) in line for line in list_command_lines()))

    assert not [line for line in list_command_lines() if "planted-token" in line]
    await asyncio.to_thread(pipe.write_text, "end")
    assert (await task).stdout == "end"


async def test_a_configured_program_sees_its_own_folder_but_not_the_parent(
    repository: Path, tmp_path: Path
) -> None:
    tool = tmp_path / "home" / "bin" / "tool"
    tool.parent.mkdir(parents=True)
    (tmp_path / "home" / "key").write_text("private")
    tool.write_text(f"#!/bin/sh\ncat {tmp_path}/home/key; echo done\n")
    tool.chmod(0o755)
    runner = CommandRunner(
        roots=Roots.from_paths([repository]),
        commands=CommandPolicy(
            {"tool": CommandRule(unchecked=True, program=str(tool), spawns=True)}
        ),
    )

    result = await run(runner, "tool")

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

    result = await run(build_runner(repository, "bash"), "bash", "-c", script)

    assert result.stdout == "one\ntwo\n"
    refusals = ("denied", "Read-only file system", "not permitted", "No such file", "cannot access")
    assert sum(result.stderr.count(refusal) for refusal in refusals) >= 11
    assert (repository / "made").read_text() == "y\n"
    assert not (repository.parent / "planted").exists()


async def test_a_read_only_command_cannot_write(repository: Path) -> None:
    rules = {"bash": CommandRule(unchecked=True, spawns=True)}
    runner = CommandRunner(roots=Roots.from_paths([repository]), commands=CommandPolicy(rules))

    result = await run(runner, "bash", "-c", "echo x > deep/file.txt; rm deep/file.txt; mkdir y")

    assert (repository / "deep/file.txt").read_text() == "one\ntwo\n"
    assert not (repository / "y").exists()
    assert result.exit_code != 0


async def test_the_environment_of_the_server_is_not_passed_to_a_command(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted")
    runner = build_runner(repository, "env", environment={"WANTED": "yes"})

    result = await run(runner, "env")

    assert "sk-planted" not in result.stdout
    assert "WANTED=yes" in result.stdout
    names = {line.partition("=")[0] for line in result.stdout.splitlines()}
    assert not any("KEY" in name and "GIT_CONFIG" not in name for name in names)


async def test_a_failed_command_returns_its_exit_code_and_stderr(repository: Path) -> None:
    result = await run(build_runner(repository), "cat", "missing")

    assert result.exit_code == 1
    assert "No such file" in result.stderr


async def test_output_is_limited(repository: Path) -> None:
    runner = build_runner(repository, "bash")

    long_output = await run(
        runner, "bash", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; echo done >&2"
    )

    assert long_output.truncated
    assert len(long_output.stdout) == 200_000
    assert (long_output.exit_code, long_output.stderr) == (0, "done\n")
    with pytest.raises(ExecutionError, match="more than 64 MiB"):
        await run(runner, "bash", "-c", "yes")


async def test_memory_and_file_sizes_are_limited(repository: Path) -> None:
    limits = CommandLimits(memory_bytes=200 * 1024**2, file_bytes=100_000)
    runner = build_runner(repository, "python3", "bash", limits=limits)

    out_of_memory = await run(runner, "python3", "-c", "x = bytearray(10**9)")
    too_large = await run(runner, "bash", "-c", "head -c 1000000 /dev/zero > big")

    assert out_of_memory.exit_code != 0
    assert "MemoryError" in out_of_memory.stderr
    assert too_large.exit_code != 0
    assert (repository / "big").stat().st_size <= 100_000


async def test_limits_hold_for_everything_that_a_command_starts(repository: Path) -> None:
    limits = CommandLimits(processes=10, memory_bytes=150 * 1024**2, scratch_bytes=2**20)
    runner = build_runner(repository, "bash", "python3", limits=limits)
    greedy = "import time; x = bytearray(b'x') * (40 * 2**20); time.sleep(20)"
    bomb = (
        "import os, time\nfor _ in range(30):\n    if os.fork() == 0: time.sleep(20)\ntime.sleep(1)"
    )

    forks = await _run_to_end(runner, "python3", "-c", bomb)
    memory = await _run_to_end(
        runner, "bash", "-c", f'for i in $(seq 8); do python3 -c "{greedy}" & done; wait'
    )
    scratch = await _run_to_end(
        runner, "bash", "-c", "for i in $(seq 9); do head -c 300000 /dev/zero > $TMPDIR/$i; done"
    )

    assert "Resource temporarily unavailable" in forks or "too many processes" in forks
    assert "too much memory" in memory or "Killed" in memory
    assert "No space left" in scratch or "temporary files" in scratch


async def _run_to_end(runner: CommandRunner, *words: str) -> str:
    try:
        return (await run(runner, *words, seconds=8)).stderr
    except JuntoError as error:
        return error.message


# A shell that ignores signals, with children in their own sessions that do so too.
STUBBORN_SCRIPT = """
trap '' TERM HUP INT
for i in 1 2; do setsid bash -c "trap '' TERM HUP INT; sleep 1000.$0 & wait; sleep 1000.$0" & done
(setsid bash -c "trap '' TERM; (sleep 1000.$0 &); sleep 1000.$0" &)
echo ready
sleep 1000.$0
"""


def list_command_lines() -> list[str]:
    """Return the command lines of all processes."""
    return [" ".join(words) for words in command_lines().values()]


def find_processes(mark: str) -> list[str]:
    """Return the command lines that contain the mark."""
    return [
        line for line in list_command_lines() if f"1000.{mark}" in line or f" {mark} " in f"{line} "
    ]


# Only a sandboxed command gets a PID namespace, where the kernel permits.
@pytest.mark.timeout(180)
@pytest.mark.parametrize("sandboxed", [True, False], ids=["pid namespace", "subreaper"])
async def test_a_hundred_stubborn_commands_leave_no_process(
    repository: Path, *, sandboxed: bool
) -> None:
    runner = build_runner(repository, "bash", sandboxed=sandboxed)
    mark = str(os.getpid() * 1000 + sandboxed)

    async def run_stubborn_command(number: int) -> str:
        task = asyncio.create_task(
            run(runner, "bash", "-c", STUBBORN_SCRIPT, mark, seconds=0.4 if number % 2 else 60)
        )
        if number % 2 == 0:
            await asyncio.sleep(0.2 + (number % 10) / 20)  # the caller gives up
            task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
        except TimeLimitError:
            return "late"
        return "ended"

    outcomes = []
    for start in range(0, 50, 5):  # and as many with the other isolation
        outcomes += await asyncio.gather(
            *(run_stubborn_command(number) for number in range(start, start + 5))
        )

    assert {outcome: outcomes.count(outcome) for outcome in set(outcomes)} == {
        "cancelled": 25,
        "late": 25,
    }
    assert find_processes(mark) == []


def has_started_all(mark: str) -> bool:
    """Return whether every process of `STUBBORN_SCRIPT` has started."""
    return sum(line.startswith("sleep ") for line in find_processes(mark)) == 5


KILLED_SERVER_SCRIPT = """
import asyncio, os, sys
from pathlib import Path
from tests.event_loop import poll_until
from tests.local_tools.test_commands import STUBBORN_SCRIPT, build_runner, has_started_all, run
async def main():
    task = asyncio.create_task(
        run(build_runner(Path(sys.argv[1]), "bash"),
            "bash", "-c", STUBBORN_SCRIPT, sys.argv[2], seconds=60))
    await poll_until(lambda: has_started_all(sys.argv[2]))
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""


async def test_the_commands_of_a_killed_server_are_killed(repository: Path) -> None:
    mark = str(os.getpid() * 1000 + 8)
    await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", KILLED_SERVER_SCRIPT, str(repository), mark],
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )

    await poll_until(lambda: not find_processes(mark))  # the supervisor kills them
