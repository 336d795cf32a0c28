import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from junto.knowledge.ingest.rules import Rules, is_secret
from junto.knowledge.ingest.walking import Tree

NAMES = st.sampled_from(["a", "b", "ab", "x.log", "build", "a.txt"])
PATTERNS = st.sampled_from(
    [
        "*.log", "!x.log", "build/", "/a", "a/b", "**/b", "a/**", "a/*", "!a/b/", "*", "!*/", "ab",
        "\\!a", "# note", "", "a/**/b", "?", "[ab]", "x.*", "/build", "!a.txt", "b/", "!", "a\\",
        "[z-a]", "*a*t*t*", "*a*.*x*", "[[:alpha:]]",
    ]
)  # fmt: skip


def seen(root: Path) -> set[str]:
    return {listing.within(spot.name) for listing in Tree.at(root).walk() for spot in listing.files}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    paths=st.lists(st.lists(NAMES, min_size=1, max_size=4), min_size=1, max_size=8),
    outer=st.lists(PATTERNS, max_size=4),
    inner=st.lists(PATTERNS, max_size=3),
)
def test_what_git_ignores_is_left_out(
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
        except OSError:  # it is a folder already, or within a file
            continue
    (root / ".gitignore").write_text("\n".join(outer) + "\n")
    if (root / "a").is_dir():
        (root / "a" / ".gitignore").write_text("\n".join(inner) + "\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    words = ["git", "-c", "core.excludesFile=", "ls-files", "-z", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=root, check=True, capture_output=True, text=True)

    assert seen(root) == set(listed.stdout.split("\0")) - {""}


def test_the_rules_of_the_repository_count_for_a_folder_in_it(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\ndocs/private/\n")
    docs = tmp_path / "docs"
    (docs / "private").mkdir(parents=True)
    (docs / ".gitignore").write_text("!keep.log\n")
    for name in ("a.md", "b.log", "keep.log", "private/c.md"):
        (docs / name).write_text("x")

    assert seen(docs) == {".gitignore", "a.md", "keep.log"}


def test_no_pattern_takes_for_ever() -> None:
    rules = Rules().within("", b"*a*a*a*a*a*a*a*a*a*a*a*a*b\n" + b"**/a/" * 30 + b"z\n*.log\n")

    assert not rules.leave_out("a" * 255, folder=False)
    assert rules.leave_out("a" * 254 + "b", folder=False)
    assert not rules.leave_out("a/" * 199 + "a", folder=False)
    assert rules.leave_out("x.log", folder=False)


@pytest.mark.parametrize(
    ("name", "secret"),
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
def test_files_that_are_named_like_secrets_are_known(name: str, *, secret: bool) -> None:
    assert is_secret(name) is secret


def test_no_link_is_followed_and_nothing_but_files_is_read(tmp_path: Path) -> None:
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

    [listing] = Tree.at(inside).walk()

    assert [spot.name for spot in listing.files] == ["file.txt"]
    assert dict(listing.skipped) == {
        "links": 3,
        "no ordinary files": 1,
        "named like secrets": 1,
        "ignored": 1,
    }


def test_a_folder_that_is_swapped_for_a_link_is_not_entered(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("x")
    root = tmp_path / "root"
    (root / "later").mkdir(parents=True)
    walk = Tree.at(root).walk()
    next(walk)
    (root / "later").rmdir()
    (root / "later").symlink_to(outside)

    [later] = walk

    assert later.files == []
    assert later.problem


def test_a_folder_that_is_too_deep_is_told(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(205):
        deep /= "d"
    deep.mkdir(parents=True)

    problems = [listing.problem for listing in Tree.at(tmp_path).walk() if listing.problem]

    assert problems == ["A path is not as deep as that."]
