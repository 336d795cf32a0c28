"""An allowlist of commands and their arguments.

Rules are data. A flag is written as it is typed; `--depth=` takes a value in the same argument, and
a flag with a trailing space takes the next argument as its value.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from junto.domain.errors import SecurityError

_MAX_ARGUMENTS = 1000
_MAX_ARGUMENT_CHARS = 100_000
_NUMBER_FLAG = re.compile(r"-\d{1,9}")


class PositionalKind(StrEnum):
    """What a command's positional arguments may be."""

    NONE = "none"
    ANY = "any"
    PATHS = "paths"  # beneath the allowed roots
    PATTERN = "pattern"  # a search pattern, then paths
    FORMAT = "format"  # starts with a plus sign


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRule:
    """How a command or one of its subcommands may be used."""

    flags: frozenset[str] = frozenset()
    positionals: PositionalKind = PositionalKind.NONE
    max_positionals: int = _MAX_ARGUMENTS
    subcommands: Mapping[str, "CommandRule"] = field(default_factory=dict)
    # Always inserted before the caller's arguments.
    fixed_arguments: tuple[str, ...] = ()
    # Whether a flag such as -5 (a number of lines) is accepted.
    allows_number_flag: bool = False
    # Set by the operator: accept any arguments, and the path of the program.
    unchecked: bool = False
    program: str | None = None
    network: bool = False
    writes: bool = False
    # Whether it may start other programs. None of the default commands needs to.
    spawns: bool = False
    # Whether files that it reads name programs that it would start (the config of a repository). It
    # runs only where the kernel keeps it from starting any.
    runs_configured_programs: bool = False


def _build_rule(
    flags: str = "", positionals: PositionalKind = PositionalKind.PATHS, **options: object
) -> CommandRule:
    """Build a rule from comma-separated flags; a trailing space in a flag is significant."""
    parsed_flags = frozenset(flag for flag in flags.split(",") if flag)
    return CommandRule(flags=parsed_flags, positionals=positionals, **options)  # type: ignore[arg-type]


_GIT_LOG_FLAGS = (
    "--oneline,--stat,--graph,--all,--decorate,--name-only,--name-status,--no-merges,--merges,-p,"
    "--patch,-s,-n ,--max-count=,--since=,--until=,--after=,--before=,--author=,--grep=,"
    "--format=,--pretty=,--pretty,--date=,--abbrev-commit,--reverse,--follow,-1"
)
_GIT_DIFF_FLAGS = (
    "--stat,--cached,--staged,--name-only,--name-status,--shortstat,-w,-b,-U,--unified=,--numstat"
)
# The kernel keeps git from starting programs. These options keep it from trying, which would fail:
# the diff and textconv programs that a repository configures, and git itself in each submodule.
_NO_SUBMODULES = "--ignore-submodules=all"
_NO_EXTERNAL_DIFF = ("--no-ext-diff", "--no-textconv", _NO_SUBMODULES)
_GIT_RULE = CommandRule(
    runs_configured_programs=True,
    fixed_arguments=(
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
        "-c", "diff.submodule=short",
        "-c", "status.submoduleSummary=false",
        "-c", "submodule.recurse=false",
    ),
    subcommands={
        "status": _build_rule(
            "-s,--short,--porcelain,-b,--branch,--ignored,-u,--untracked-files=",
            fixed_arguments=(_NO_SUBMODULES,),
        ),
        "log": _build_rule(
            _GIT_LOG_FLAGS, fixed_arguments=_NO_EXTERNAL_DIFF, allows_number_flag=True
        ),
        "show": _build_rule(
            f"{_GIT_LOG_FLAGS},{_GIT_DIFF_FLAGS}",
            fixed_arguments=_NO_EXTERNAL_DIFF,
            allows_number_flag=True,
        ),
        "diff": _build_rule(_GIT_DIFF_FLAGS, fixed_arguments=_NO_EXTERNAL_DIFF),
        "blame": _build_rule("-L ,-w,-e,--date=", fixed_arguments=("--no-textconv",)),
        "branch": _build_rule("-a,-r,-v,-vv,--all,--list,--show-current", PositionalKind.NONE),
        "tag": _build_rule("-l,--list,-n", PositionalKind.NONE),
        "ls-files": _build_rule("-m,-o,-d,-s,--others,--modified,--deleted,--exclude-standard"),
        "rev-parse": _build_rule("--abbrev-ref,--short,--verify,--is-inside-work-tree"),
        "describe": _build_rule("--tags,--always,--dirty,--abbrev=", PositionalKind.NONE),
        "shortlog": _build_rule("-s,-n,-e,--summary,--numbered,--no-merges"),
    },
)  # fmt: skip

# Allowed by default: read-only commands.
SAFE_COMMANDS: Mapping[str, CommandRule] = {
    "cat": _build_rule("-n,-b,-s,-A,-E,-T"),
    "date": _build_rule("-u,-R,-I,--utc,--iso-8601,--iso-8601=,--rfc-3339=", PositionalKind.FORMAT),
    # By default, diff follows symlinks that it finds in a directory.
    "diff": _build_rule(
        "-u,-r,-q,-N,-w,-b,-B,-i,--brief,--unified,--recursive,-U ",
        fixed_arguments=("--no-dereference",),
    ),
    "du": _build_rule("-s,-h,-a,-c,-k,-m,--max-depth=,-d "),
    "echo": _build_rule("-n", PositionalKind.ANY),
    "file": _build_rule("-b,-i,--brief,--mime,--mime-type"),
    "find": _build_rule(
        "-name ,-iname ,-path ,-ipath ,-type ,-maxdepth ,-mindepth ,-size ,-mtime ,-mmin ,-not,-o,"
        "-a,-or,-and,-empty,-print,-print0,-newermt "
    ),
    "git": _GIT_RULE,
    "grep": _build_rule(
        "-r,-n,-i,-l,-L,-c,-w,-x,-v,-E,-F,-P,-o,-h,-H,-s,-q,-e ,-m ,-A ,-B ,-C ,--include=,"
        "--exclude=,--exclude-dir=,--color=never",
        PositionalKind.PATTERN,
        allows_number_flag=True,
    ),
    "head": _build_rule("-n ,-c ,-q,-v", allows_number_flag=True),
    "ls": _build_rule("-l,-a,-A,-h,-1,-R,-t,-r,-S,-d,-F,-i,-s,--full-time,--time-style=long-iso"),
    "pwd": _build_rule("", PositionalKind.NONE),
    "sort": _build_rule("-n,-r,-u,-f,-h,-V,-b,-g,-M,-k ,-t ,--reverse,--unique"),
    "stat": _build_rule("-c ,--format=,-L,-t"),
    "tail": _build_rule("-n ,-c ,-q,-v", allows_number_flag=True),
    "uniq": _build_rule("-c,-d,-u,-i,-f ,-s ,-w ", max_positionals=1),
    "wc": _build_rule("-l,-w,-c,-m,-L"),
}


@dataclass(frozen=True, slots=True)
class AllowedCommand:
    """A command whose arguments passed its rule."""

    name: str
    arguments: tuple[str, ...]
    rule: CommandRule


@dataclass(frozen=True, slots=True)
class CommandPolicy:
    """The rules of all allowed commands, by name."""

    rules: Mapping[str, CommandRule]

    def check(
        self, name: str, arguments: Sequence[str], is_allowed_path: Callable[[str], bool]
    ) -> AllowedCommand:
        """Return the command with its final arguments if its rule allows all of them.

        Raises:
            SecurityError: the rule does not; the message names the argument and, where possible,
                what is allowed.
        """
        rule = self.rules.get(name)
        if rule is None:
            raise SecurityError(
                f"{name[:80]} may not be run here. Allowed: {', '.join(sorted(self.rules))}. The "
                "operator allows more in tools.commands."
            )
        total = sum(len(argument) for argument in arguments)
        if len(arguments) > _MAX_ARGUMENTS or total > _MAX_ARGUMENT_CHARS:
            raise SecurityError("Those are too many arguments.")
        if any("\0" in argument for argument in arguments):
            raise SecurityError("An argument has no NUL in it.")
        if rule.unchecked:
            return AllowedCommand(name, tuple(arguments), rule)
        remaining, leading = list(arguments), list(rule.fixed_arguments)
        effective_rule = rule
        if rule.subcommands:
            effective_rule = _find_subcommand(name, rule, remaining)
            leading += [remaining.pop(0), *effective_rule.fixed_arguments]
        _ArgumentChecker(name, effective_rule, is_allowed_path).check_all(remaining)
        return AllowedCommand(name, (*leading, *remaining), rule)


def _find_subcommand(name: str, rule: CommandRule, arguments: Sequence[str]) -> CommandRule:
    subrule = rule.subcommands.get(arguments[0]) if arguments else None
    if subrule is None:
        raise SecurityError(
            f"{name} takes one of these first: {', '.join(sorted(rule.subcommands))}."
        )
    return subrule


@dataclass(slots=True)
class _ArgumentChecker:
    """A checker for the arguments of one command."""

    name: str
    rule: CommandRule
    is_allowed_path: Callable[[str], bool]
    positional_count: int = 0
    has_pattern: bool = False

    def check_all(self, arguments: Sequence[str]) -> None:
        remaining = iter(arguments)
        after_double_dash = False
        # With -e giving the pattern, all positionals are paths, wherever -e appears.
        self.has_pattern = "-e" in arguments
        for argument in remaining:
            if argument == "--" and not after_double_dash:
                after_double_dash = True
            elif after_double_dash and argument.startswith("-"):
                # Some commands treat it as a flag even after `--`.
                raise SecurityError(f"{argument[:80]} begins with a dash; write ./ before it.")
            elif argument.startswith("-") and len(argument) > 1 and not after_double_dash:
                if self._check_flag(argument):
                    self._check_value(argument, next(remaining, None))
            else:
                self._check_positional(argument)

    def _check_flag(self, flag: str) -> bool:
        """Reject a flag that is not allowed; return whether the next argument is its value."""
        flags = self.rule.flags
        if flag in flags:
            return False
        if f"{flag} " in flags:
            return True
        if "=" in flag and f"{flag.partition('=')[0]}=" in flags:
            return False
        if self.rule.allows_number_flag and _NUMBER_FLAG.fullmatch(flag):
            return False
        is_combined = not flag.startswith("--") and all(
            f"-{letter}" in flags for letter in flag[1:]
        )
        # -n5 means -n 5; accepted only for plain numbers.
        has_attached_number = f"{flag[:2]} " in flags and flag[2:].isdecimal()
        if is_combined or has_attached_number:
            return False
        raise SecurityError(f"{self.name} may not be used with {flag[:80]} here.")

    def _check_value(self, flag: str, value: str | None) -> None:
        if value is None or value.startswith("-"):
            raise SecurityError(f"{flag} wants a value, which does not begin with a dash.")

    def _check_positional(self, argument: str) -> None:
        self.positional_count += 1
        if (
            self.positional_count > self.rule.max_positionals
            or self.rule.positionals is PositionalKind.NONE
        ):
            raise SecurityError(f"{self.name} takes no {argument[:80]!r} here.")
        match self.rule.positionals:
            case PositionalKind.FORMAT if not argument.startswith("+"):
                raise SecurityError(f"{self.name} takes a format, which begins with a plus.")
            case PositionalKind.PATTERN if not self.has_pattern:
                self.has_pattern = True
            case PositionalKind.PATHS | PositionalKind.PATTERN if not self.is_allowed_path(
                argument
            ):
                raise SecurityError(f"{argument[:200]} lies outside the allowed folders.")
