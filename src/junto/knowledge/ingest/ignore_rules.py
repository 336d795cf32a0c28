"""Rules for files that are not indexed: `.gitignore`, tool directories, likely secrets."""

import contextlib
import fnmatch
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from junto.domain.errors import JuntoError
from junto.security.paths import Roots

IGNORE_FILE_NAMES = (".gitignore", ".juntoignore")
MAX_IGNORE_FILE_BYTES = 4 * 1024 * 1024

_IGNORED_DIRS = frozenset(
    {
        ".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".nox",
        ".mypy_cache", ".ruff_cache", ".pytest_cache", ".import_linter_cache",
        ".gradle", ".idea", ".terraform",
    }
)  # fmt: skip
_SECRET_PATTERNS = (
    ".env", ".env.*", "*.env", ".envrc", "*.tfvars", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks",
    "*.ppk", "*.keystore", "*.kdbx", "id_rsa*", "id_dsa*",
    "id_ecdsa*", "id_ed25519*", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd",
    "credentials", "credentials.json", ".git-credentials",
)  # fmt: skip
_EXAMPLE_PATTERNS = ("*.example", "*.sample", "*.template", "*.dist")
# pathspec's name for the group that matches the slash after a directory.
_DIRECTORY_GROUP = "ps_d"
# A pattern becomes a regular expression, which backtracks too much with more stars than these.
_STAR, _MAX_STARS, _MAX_DOUBLE_STARS = "[^/]*", 2, 3
_MAX_LINES = 50_000
# Character classes that git supports within brackets, and pathspec does not.
_CHARACTER_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z",
    "xdigit": "0-9a-fA-F", "space": " \t", "blank": " \t",
}  # fmt: skip
_CHARACTER_CLASS = re.compile(rf"\[:({'|'.join(_CHARACTER_CLASSES)}):\]")

# An expression, and whether a path that matches it is ignored or included again.
_IgnorePattern = tuple[re.Pattern[str], bool]


def is_secret(name: str) -> bool:
    """Return whether a file has a name that is common for keys and passwords."""
    lowered = name.lower()
    looks_secret = any(fnmatch.fnmatchcase(lowered, pattern) for pattern in _SECRET_PATTERNS)
    return looks_secret and not any(
        fnmatch.fnmatchcase(lowered, pattern) for pattern in _EXAMPLE_PATTERNS
    )


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The patterns of ignore files, from the outermost directory to the innermost."""

    # The directory of each ignore file, empty or ending in a slash, and its patterns.
    pattern_sets: tuple[tuple[str, tuple[_IgnorePattern, ...]], ...] = ()
    # Path of the walked directory within the repository, empty or ending in a slash.
    root_prefix: str = ""

    @classmethod
    def from_repository(cls, directory: Path) -> "IgnoreRules":
        """Return the rules of the repository around `directory`, without its own ignore files."""
        repository = next(
            (parent for parent in directory.parents if (parent / ".git").exists()), None
        )
        if repository is None or (directory / ".git").exists():
            return cls()
        rules = cls(root_prefix=f"{directory.relative_to(repository).as_posix()}/")
        for parent in (
            repository,
            *reversed([path for path in directory.parents if path.is_relative_to(repository)][:-1]),
        ):
            prefix = "" if parent == repository else f"{parent.relative_to(repository).as_posix()}/"
            for name in IGNORE_FILE_NAMES:
                with contextlib.suppress(JuntoError):
                    patterns = _parse_patterns(
                        Roots.from_paths([parent]).read(
                            name, MAX_IGNORE_FILE_BYTES, follow_links=False
                        )
                    )
                    rules = IgnoreRules(
                        (*rules.pattern_sets, (prefix, patterns)), rules.root_prefix
                    )
        return rules

    def with_ignore_file(self, directory: str, content: bytes) -> "IgnoreRules":
        """Return these rules, and those of an ignore file in `directory`."""
        prefix = f"{self.root_prefix}{directory}/" if directory else self.root_prefix
        return IgnoreRules(
            (*self.pattern_sets, (prefix, _parse_patterns(content))), self.root_prefix
        )

    def is_ignored(self, path: str, *, is_dir: bool) -> bool:
        """Return whether a path is ignored; the innermost file with a matching pattern decides."""
        if is_dir and path.rpartition("/")[2] in _IGNORED_DIRS:
            return True
        full_path = f"{self.root_prefix}{path}{'/' if is_dir else ''}"
        for prefix, patterns in reversed(self.pattern_sets):
            ignored = _match_patterns(patterns, full_path.removeprefix(prefix))
            if ignored is not None:
                return ignored
        return False


def _match_patterns(patterns: tuple[_IgnorePattern, ...], path: str) -> bool | None:
    """Return whether the last matching pattern ignores a path, or None if there is none."""
    for regex, ignores in reversed(patterns):
        if _matches(regex, path):
            return ignores
    return None


def _matches(regex: re.Pattern[str], path: str) -> bool:
    """Return whether a pattern matches a path itself.

    pathspec's expressions also match everything below a matching directory. Here, the walk from the
    outside in has already checked that directory, and an inner rule may have included it again.
    """
    ends = [match.end() for match in regex.finditer(path)]
    if not ends:
        return False
    if _DIRECTORY_GROUP in regex.groupindex:
        return ends[-1] == len(path)
    return not regex.pattern.endswith("/") or ends[-1] < len(path)


def _parse_patterns(content: bytes) -> tuple[_IgnorePattern, ...]:
    lines = content.decode("utf-8", "replace").splitlines()[:_MAX_LINES]
    return tuple(pattern for line in lines if (pattern := _parse_pattern(line)))


def _parse_pattern(line: str) -> _IgnorePattern | None:
    """Parse a line of an ignore file; like git, ignore one that is invalid."""
    if sum(segment == "**" for segment in line.split("/")) > _MAX_DOUBLE_STARS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pattern = GitIgnoreSpecPattern(
                _CHARACTER_CLASS.sub(lambda match: _CHARACTER_CLASSES[match[1]], line)
            )
            if pattern.regex is None or pattern.include is None:
                return None
            return re.compile(_limit_backtracking(pattern.regex.pattern)), bool(pattern.include)
    except (ValueError, re.error):
        return None


def _limit_backtracking(regex: str) -> str:
    """Return an equivalent expression that takes linear time.

    What stands between two stars may match at its first occurrence, without backtracking: if the
    rest matches after a later occurrence, it also matches after the first.
    """
    head, *parts = regex.split(_STAR)
    if len(parts) <= _MAX_STARS or any("(?" in part for part in parts[:-1]):
        return regex
    middle = "".join(f"(?>{_STAR}?{part})" for part in parts[:-1])
    return f"{head}{middle}{_STAR}{parts[-1]}"
