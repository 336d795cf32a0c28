import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from junto.knowledge.ingest.ignore_rules import IgnoreRules, is_secret
from junto.knowledge.ingest.walk import DirectoryTree

NAMES = st.sampled_from(["a", "b", "ab", "x.log", "build", "a.txt"])
PATTERNS = st.sampled_from(
    [
        "*.log", "!x.log", "build/", "/a", "a/b", "**/b", "a/**", "a/*", "!a/b/", "*", "!*/", "ab",
        "\\!a", "# note", "", "a/**/b", "?", "[ab]", "x.*", "/build", "!a.txt", "b/", "!", "a\\",
        "[z-a]", "*a*t*t*", "*a*.*x*", "[[:alpha:]]",
    ]
)  # fmt: skip


def list_files(root: Path) -> set[str]:
    return {
        listing.join(file.name)
        for listing in DirectoryTree.from_path(root).walk()
        for file in listing.files
    }


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    paths=st.lists(st.lists(NAMES, min_size=1, max_size=4), min_size=1, max_size=8),
    outer=st.lists(PATTERNS, max_size=4),
    inner=st.lists(PATTERNS, max_size=3),
)
def test_files_that_git_ignores_are_left_out(
    tmp_path_factory: pytest.TempPathFactory,
    paths: list[list[str]],
    outer: list[str],
    inner: list[str],
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for parts in paths:
        path = root.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
        except OSError:  # the path is a folder already, or its parent is a file
            continue
    (root / ".gitignore").write_text("\n".join(outer) + "\n")
    if (root / "a").is_dir():
        (root / "a" / ".gitignore").write_text("\n".join(inner) + "\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    args = ["git", "-c", "core.excludesFile=", "ls-files", "-z", "--others", "--exclude-standard"]
    listed = subprocess.run(args, cwd=root, check=True, capture_output=True, text=True)

    assert list_files(root) == set(listed.stdout.split("\0")) - {""}


def test_the_ignore_rules_of_a_repository_apply_to_its_folders(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\ndocs/private/\n")
    docs = tmp_path / "docs"
    (docs / "private").mkdir(parents=True)
    (docs / ".gitignore").write_text("!keep.log\n")
    for name in ("a.md", "b.log", "keep.log", "private/c.md"):
        (docs / name).write_text("x")

    assert list_files(docs) == {".gitignore", "a.md", "keep.log"}


def test_no_pattern_takes_forever() -> None:
    rules = IgnoreRules().with_ignore_file(
        "", b"*a*a*a*a*a*a*a*a*a*a*a*a*b\n" + b"**/a/" * 30 + b"z\n*.log\n"
    )

    assert not rules.is_ignored("a" * 255, is_dir=False)
    assert rules.is_ignored("a" * 254 + "b", is_dir=False)
    assert not rules.is_ignored("a/" * 199 + "a", is_dir=False)
    assert rules.is_ignored("x.log", is_dir=False)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".env", True),
        (".env.production", True),
        (".env.example", False),
        ("server.KEY", True),
        ("id_ed25519", True),
        ("id_rsa.pub", True),
        ("environment.md", False),
        ("prod.env", True),
        ("terraform.tfvars", True),
        ("monkey.md", False),
        (".netrc", True),
    ],
)
def test_files_named_like_secrets_are_detected(name: str, *, expected: bool) -> None:
    assert is_secret(name) is expected


def test_links_are_not_followed_and_only_regular_files_are_listed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("x")
    (inside / "file.txt").write_text("x")
    (inside / "link.txt").symlink_to(outside / "secret.txt")
    (inside / "folder").symlink_to(outside)
    (inside / "self").symlink_to(inside)
    os.mkfifo(inside / "pipe")
    (inside / ".env").write_text("x")
    (inside / ".git").mkdir()
    (inside / ".git" / "config").write_text("x")

    [listing] = DirectoryTree.from_path(inside).walk()

    assert [file.name for file in listing.files] == ["file.txt"]
    assert dict(listing.skipped) == {
        "links": 3,
        "no ordinary files": 1,
        "named like secrets": 1,
        "ignored": 1,
    }


def test_a_folder_replaced_by_a_link_during_the_walk_is_not_entered(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("x")
    root = tmp_path / "root"
    (root / "later").mkdir(parents=True)
    walk = DirectoryTree.from_path(root).walk()
    next(walk)
    (root / "later").rmdir()
    (root / "later").symlink_to(outside)

    [listing] = walk

    assert listing.files == []
    assert listing.problem


def test_a_folder_that_is_too_deep_is_reported(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(205):
        deep /= "d"
    deep.mkdir(parents=True)

    problems = [
        listing.problem for listing in DirectoryTree.from_path(tmp_path).walk() if listing.problem
    ]

    assert problems == ["A path is not as deep as that."]
