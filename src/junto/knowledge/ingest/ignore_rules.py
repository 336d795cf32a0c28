"""Which files are left out: what `.gitignore` says, what others made, and what may hold secrets."""

import contextlib
import fnmatch
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from junto.domain.errors import JuntoError
from junto.security.paths import Roots

NAMES = (".gitignore", ".juntoignore")
MOST_BYTES = 4 * 1024 * 1024

_FOLDERS = frozenset(
    {
        ".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".nox",
        ".mypy_cache", ".ruff_cache", ".pytest_cache", ".import_linter_cache",
        ".gradle", ".idea", ".terraform",
    }
)  # fmt: skip
_SECRETS = (
    ".env", ".env.*", "*.env", ".envrc", "*.tfvars", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks",
    "*.ppk", "*.keystore", "*.kdbx", "id_rsa*", "id_dsa*",
    "id_ecdsa*", "id_ed25519*", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd",
    "credentials", "credentials.json", ".git-credentials",
)  # fmt: skip
_EXAMPLES = ("*.example", "*.sample", "*.template", "*.dist")
# What the library calls the slash behind a folder.
_WITHIN = "ps_d"
# A pattern becomes a regular expression, and with more of these one name could take for ever.
_STAR, _MOST_STARS, _MOST_DEEP = "[^/]*", 2, 3
_MOST_LINES = 50_000
# Git knows these names within brackets; the library does not.
_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z",
    "xdigit": "0-9a-fA-F", "space": " \t", "blank": " \t",
}  # fmt: skip
_CLASS = re.compile(rf"\[:({'|'.join(_CLASSES)}):\]")

# An expression, and whether what fits it is left out or let in again.
Pattern = tuple[re.Pattern[str], bool]


def is_secret(name: str) -> bool:
    """Tell whether a file goes by a name that keys and passwords go by."""
    lowered = name.lower()
    fits = any(fnmatch.fnmatchcase(lowered, pattern) for pattern in _SECRETS)
    return fits and not any(fnmatch.fnmatchcase(lowered, pattern) for pattern in _EXAMPLES)


@dataclass(frozen=True, slots=True)
class Rules:
    """What the files of rules say, from the outermost folder to the innermost."""

    # Each with the folder that it lies in, as a path that ends in a slash, or nothing.
    specs: tuple[tuple[str, tuple[Pattern, ...]], ...] = ()
    # What a path has to begin with to be seen from where the rules begin.
    above: str = ""

    @classmethod
    def around(cls, folder: Path) -> "Rules":
        """Return the rules of the repository that a folder is in, down to but not in the folder."""
        outer = next((each for each in folder.parents if (each / ".git").exists()), None)
        if outer is None or (folder / ".git").exists():
            return cls()
        rules = cls(above=f"{folder.relative_to(outer).as_posix()}/")
        for each in (outer, *reversed([p for p in folder.parents if p.is_relative_to(outer)][:-1])):
            place = "" if each == outer else f"{each.relative_to(outer).as_posix()}/"
            for name in NAMES:
                with contextlib.suppress(JuntoError):
                    spec = _spec(Roots.of([each]).read(name, MOST_BYTES, links=False))
                    rules = Rules((*rules.specs, (place, spec)), rules.above)
        return rules

    def within(self, folder: str, content: bytes) -> "Rules":
        """Return these rules and those of a file of them in a folder."""
        place = f"{self.above}{folder}/" if folder else self.above
        return Rules((*self.specs, (place, _spec(content))), self.above)

    def leave_out(self, path: str, *, folder: bool) -> bool:
        """Tell whether the rules leave something out; the innermost that says anything counts."""
        if folder and path.rpartition("/")[2] in _FOLDERS:
            return True
        whole = f"{self.above}{path}{'/' if folder else ''}"
        for place, spec in reversed(self.specs):
            said = _said(spec, whole.removeprefix(place))
            if said is not None:
                return said
        return False


def _said(patterns: tuple[Pattern, ...], path: str) -> bool | None:
    """Return whether the last pattern that fits a path leaves it out."""
    for regex, leaves_out in reversed(patterns):
        if _fits(regex, path):
            return leaves_out
    return None


def _fits(regex: re.Pattern[str], path: str) -> bool:
    """Tell whether a pattern means a path itself.

    The library's patterns also fit what lies beneath a folder that they mean. Whoever walks from
    the outside in has asked about the folder already, and an inner rule may have let it in again.
    """
    ends = [found.end() for found in regex.finditer(path)]
    if not ends:
        return False
    if _WITHIN in regex.groupindex:
        return ends[-1] == len(path)
    return not regex.pattern.endswith("/") or ends[-1] < len(path)


def _spec(content: bytes) -> tuple[Pattern, ...]:
    lines = content.decode("utf-8", "replace").splitlines()[:_MOST_LINES]
    return tuple(pattern for line in lines if (pattern := _pattern(line)))


def _pattern(line: str) -> Pattern | None:
    """Return what a line says; git, too, takes no notice of one that makes no sense."""
    if sum(segment == "**" for segment in line.split("/")) > _MOST_DEEP:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = GitIgnoreSpecPattern(_CLASS.sub(lambda found: _CLASSES[found[1]], line))
            if made.regex is None or made.include is None:
                return None
            return re.compile(_quick(made.regex.pattern)), bool(made.include)
    except (ValueError, re.error):
        return None


def _quick(regex: str) -> str:
    """Return an expression that takes time in proportion to what it looks at.

    What stands between two stars may be taken where it comes first, without ever going back: if
    the rest fits after a later place, it fits after the first one, too.
    """
    first, *parts = regex.split(_STAR)
    if len(parts) <= _MOST_STARS or any("(?" in part for part in parts[:-1]):
        return regex
    middle = "".join(f"(?>{_STAR}?{part})" for part in parts[:-1])
    return f"{first}{middle}{_STAR}{parts[-1]}"
