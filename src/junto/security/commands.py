"""Which commands may run, and with which arguments: what is not allowed is refused.

Rules are data. A flag is written as it is typed; `--depth=` takes a value in the same word, and a
flag with a blank at its end takes the next word.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from junto.domain.errors import SecurityError

_MOST_ARGUMENTS = 1000
_MOST_CHARACTERS = 100_000
_NUMBER = re.compile(r"-\d{1,9}")


class Words(StrEnum):
    """What the words that are no flags may be."""

    NONE = "none"
    ANY = "any"
    PATHS = "paths"  # beneath the allowed folders
    PATTERN = "pattern"  # first anything, then paths
    FORMAT = "format"  # beginning with a plus


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How a command, or one of its sub-commands, may be used."""

    flags: frozenset[str] = frozenset()
    words: Words = Words.NONE
    most_words: int = _MOST_ARGUMENTS
    subcommands: Mapping[str, "Rule"] = field(default_factory=dict)
    # Put before the arguments, whatever they are.
    before: tuple[str, ...] = ()
    # Whether -5 stands for a number of lines.
    numbers: bool = False
    # The operator's word: anything goes, and where the program lies.
    unchecked: bool = False
    program: str | None = None
    network: bool = False
    writes: bool = False
    # Whether the repository around it may name programs, and must name none.
    repository: bool = False


def _rule(flags: str = "", words: Words = Words.PATHS, **more: object) -> Rule:
    """Write a rule in short: flags apart by commas, since a blank says something."""
    split = frozenset(flag for flag in flags.split(",") if flag)
    return Rule(flags=split, words=words, **more)  # type: ignore[arg-type]


_LOG = (
    "--oneline,--stat,--graph,--all,--decorate,--name-only,--name-status,--no-merges,--merges,-p,"
    "--patch,-s,-n ,--max-count=,--since=,--until=,--after=,--before=,--author=,--grep=,--format=,"
    "--pretty=,--pretty,--date=,--abbrev-commit,--reverse,--follow,-1"
)
_DIFF = (
    "--stat,--cached,--staged,--name-only,--name-status,--shortstat,-w,-b,-U,--unified=,--numstat"
)
# A repository may name programs for these; none of them is run.
_PLAIN = ("--no-ext-diff", "--no-textconv")
_GIT = Rule(
    repository=True,
    before=(
        "--no-pager",
        "--no-optional-locks",
        "-c", "core.fsmonitor=false",
        "-c", "core.hooksPath=/dev/null",
        "-c", "core.sshCommand=false",
        "-c", "credential.helper=",
        "-c", "protocol.allow=never",
        "-c", "log.showSignature=false",
        "-c", "gpg.program=false",
        "-c", "gpg.ssh.program=false",
        "-c", "gpg.x509.program=false",
        "-c", "safe.bareRepository=explicit",
    ),
    subcommands={
        "status": _rule("-s,--short,--porcelain,-b,--branch,--ignored,-u,--untracked-files="),
        "log": _rule(_LOG, before=_PLAIN, numbers=True),
        "show": _rule(f"{_LOG},{_DIFF}", before=_PLAIN, numbers=True),
        "diff": _rule(_DIFF, before=_PLAIN),
        "blame": _rule("-L ,-w,-e,--date=", before=("--no-textconv",)),
        "branch": _rule("-a,-r,-v,-vv,--all,--list,--show-current", Words.NONE),
        "tag": _rule("-l,--list,-n", Words.NONE),
        "ls-files": _rule("-m,-o,-d,-s,--others,--modified,--deleted,--exclude-standard"),
        "rev-parse": _rule("--abbrev-ref,--short,--verify,--is-inside-work-tree"),
        "describe": _rule("--tags,--always,--dirty,--abbrev=", Words.NONE),
        "shortlog": _rule("-s,-n,-e,--summary,--numbered,--no-merges"),
    },
)  # fmt: skip

# What may run where the operator says nothing: commands that look and change nothing.
SAFE: Mapping[str, Rule] = {
    "cat": _rule("-n,-b,-s,-A,-E,-T"),
    "date": _rule("-u,-R,-I,--utc,--iso-8601,--iso-8601=,--rfc-3339=", Words.FORMAT),
    # Of its own accord it would follow the links that it finds in a folder.
    "diff": _rule(
        "-u,-r,-q,-N,-w,-b,-B,-i,--brief,--unified,--recursive,-U ", before=("--no-dereference",)
    ),
    "du": _rule("-s,-h,-a,-c,-k,-m,--max-depth=,-d "),
    "echo": _rule("-n", Words.ANY),
    "file": _rule("-b,-i,--brief,--mime,--mime-type"),
    "find": _rule(
        "-name ,-iname ,-path ,-ipath ,-type ,-maxdepth ,-mindepth ,-size ,-mtime ,-mmin ,-not,-o,"
        "-a,-or,-and,-empty,-print,-print0,-newermt "
    ),
    "git": _GIT,
    "grep": _rule(
        "-r,-n,-i,-l,-L,-c,-w,-x,-v,-E,-F,-P,-o,-h,-H,-s,-q,-e ,-m ,-A ,-B ,-C ,--include=,"
        "--exclude=,--exclude-dir=,--color=never",
        Words.PATTERN,
        numbers=True,
    ),
    "head": _rule("-n ,-c ,-q,-v", numbers=True),
    "ls": _rule("-l,-a,-A,-h,-1,-R,-t,-r,-S,-d,-F,-i,-s,--full-time,--time-style=long-iso"),
    "pwd": _rule("", Words.NONE),
    "sort": _rule("-n,-r,-u,-f,-h,-V,-b,-g,-M,-k ,-t ,--reverse,--unique"),
    "stat": _rule("-c ,--format=,-L,-t"),
    "tail": _rule("-n ,-c ,-q,-v", numbers=True),
    "uniq": _rule("-c,-d,-u,-i,-f ,-s ,-w ", most_words=1),
    "wc": _rule("-l,-w,-c,-m,-L"),
}


@dataclass(frozen=True, slots=True)
class Allowed:
    """A command that may run."""

    name: str
    arguments: tuple[str, ...]
    rule: Rule


@dataclass(frozen=True, slots=True)
class Commands:
    """Every command that may run, by its name."""

    rules: Mapping[str, Rule]

    def check(self, name: str, arguments: Sequence[str], holds: Callable[[str], bool]) -> Allowed:
        """Return a command with its arguments, if its rule allows all of them.

        Raises:
            SecurityError: it does not; the message says which word, and what would be allowed.
        """
        rule = self.rules.get(name)
        if rule is None:
            raise SecurityError(
                f"{name[:80]} may not be run here. Allowed: {', '.join(sorted(self.rules))}. The "
                "operator allows more in tools.commands."
            )
        total = sum(len(argument) for argument in arguments)
        if len(arguments) > _MOST_ARGUMENTS or total > _MOST_CHARACTERS:
            raise SecurityError("Those are too many arguments.")
        if any("\0" in argument for argument in arguments):
            raise SecurityError("An argument has no NUL in it.")
        if rule.unchecked:
            return Allowed(name, tuple(arguments), rule)
        given, leading = list(arguments), list(rule.before)
        inner = rule
        if rule.subcommands:
            inner = _subcommand(name, rule, given)
            leading += [given.pop(0), *inner.before]
        _Check(name, inner, holds).all(given)
        return Allowed(name, (*leading, *given), rule)


def _subcommand(name: str, rule: Rule, given: Sequence[str]) -> Rule:
    found = rule.subcommands.get(given[0]) if given else None
    if found is None:
        raise SecurityError(
            f"{name} takes one of these first: {', '.join(sorted(rule.subcommands))}."
        )
    return found


@dataclass(slots=True)
class _Check:
    """Looks at the arguments one after the other."""

    name: str
    rule: Rule
    holds: Callable[[str], bool]
    words: int = 0
    has_pattern: bool = False

    def all(self, given: Sequence[str]) -> None:
        rest = iter(given)
        only_words = False
        # Whoever names the pattern by a flag names only paths besides, in whatever order.
        self.has_pattern = "-e" in given
        for argument in rest:
            if argument == "--" and not only_words:
                only_words = True
            elif only_words and argument.startswith("-"):
                # Some commands take it for a flag all the same.
                raise SecurityError(f"{argument[:80]} begins with a dash; write ./ before it.")
            elif argument.startswith("-") and len(argument) > 1 and not only_words:
                if self._flag(argument):
                    self._value(argument, next(rest, None))
            else:
                self._word(argument)

    def _flag(self, flag: str) -> bool:
        """Let a flag pass; return whether the next word belongs to it."""
        flags = self.rule.flags
        if flag in flags:
            return False
        if f"{flag} " in flags:
            return True
        if "=" in flag and f"{flag.partition('=')[0]}=" in flags:
            return False
        if self.rule.numbers and _NUMBER.fullmatch(flag):
            return False
        together = not flag.startswith("--") and all(f"-{letter}" in flags for letter in flag[1:])
        # -n5 is -n 5, where the value is a plain number.
        value = f"{flag[:2]} " in flags and flag[2:].isdecimal()
        if together or value:
            return False
        raise SecurityError(f"{self.name} may not be used with {flag[:80]} here.")

    def _value(self, flag: str, value: str | None) -> None:
        if value is None or value.startswith("-"):
            raise SecurityError(f"{flag} wants a value, which does not begin with a dash.")

    def _word(self, word: str) -> None:
        self.words += 1
        if self.words > self.rule.most_words or self.rule.words is Words.NONE:
            raise SecurityError(f"{self.name} takes no {word[:80]!r} here.")
        match self.rule.words:
            case Words.FORMAT if not word.startswith("+"):
                raise SecurityError(f"{self.name} takes a format, which begins with a plus.")
            case Words.PATTERN if not self.has_pattern:
                self.has_pattern = True
            case Words.PATHS | Words.PATTERN if not self.holds(word):
                raise SecurityError(f"{word[:200]} lies outside the allowed folders.")
