"""Completion in the shell: the scripts that ask for words, and the answers that they get."""

import os
import sys
from contextlib import redirect_stderr, suppress
from typing import NoReturn

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)
from typing_extensions import override

VARIABLE = "_JUNTO_COMPLETE"
# Where each shell looks by itself, or what to write into the file that it reads.
PLACES = {
    "bash": 'Into ~/.bashrc goes:  eval "$(junto completion bash)"',
    "zsh": 'Into ~/.zshrc, after compinit, goes:  eval "$(junto completion zsh)"',
    "fish": "It goes into a file:  junto completion fish > ~/.config/fish/completions/junto.fish",
}

# Click's own passes on the words as bash has cut them, which is also at = and :, and models have
# colons in their names.
_BASH = """\
%(complete_func)s() {
    local type value
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            plain) COMPREPLY+=("$value") ;;
            file) compopt -o default ;;
            dir) compopt -o dirnames ;;
        esac
    done < <(COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS=$COMP_WORDBREAKS \\
        %(complete_var)s=bash_complete "${1/#\\~/$HOME}" 2>/dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


# Click's own cuts what is told of a word at the first comma, and has the words sorted.
_FISH = """\
function %(complete_func)s
    set -l response (env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp) \\
        COMP_CWORD=(commandline -t) %(prog_name)s 2>/dev/null)
    for completion in $response
        set -l parts (string split --max 1 "," -- $completion)
        switch $parts[1]
            case dir
                __fish_complete_directories $parts[2]
            case file
                __fish_complete_path $parts[2]
            case plain
                echo $parts[2]
        end
    end
end
complete --keep-order --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


class _Fish(FishComplete):
    """Completion in fish, with what is told of each word."""

    source_template = _FISH


class _Bash(BashComplete):
    """Completion in bash, of whole words."""

    source_template = _BASH

    @override
    def source(self) -> str:
        return ShellComplete.source(self)

    @override
    def get_completion_args(self) -> tuple[list[str], str]:
        # With a letter at its end, the line ends with the word that is being typed, begun or not.
        *words, last = split_arg_string(os.environ["COMP_WORDS"] + "x")
        return words[1:], last[:-1]

    @override
    def complete(self) -> str:
        args, typed = self.get_completion_args()
        # What bash takes for the beginning of the word is put before the answer again by bash.
        breaks = [typed.rfind(mark) for mark in ":=" if mark in os.environ["COMP_WORDBREAKS"]]
        begun = max(breaks, default=-1) + 1
        option = typed.startswith("--") and "=" in typed
        before = typed[: typed.index("=") + 1] if option else ""

        def shown(item: CompletionItem[str]) -> CompletionItem[str]:
            return CompletionItem((before + item.value)[begun:], item.type)

        items = self.get_completions(args, typed)
        return "\n".join(self.format_completion(shown(item)) for item in items)


SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": ZshComplete, "fish": _Fish}


def script(command: click.Command, shell: str) -> str:
    """Return what makes a shell complete the words of `command`."""
    return SHELLS[shell](command, {}, "junto", VARIABLE).source()


def answer(command: click.Command) -> NoReturn:
    """Answer a shell that asks, and say nothing else whatever happens."""
    for made in SHELLS.values():
        add_completion_class(made)
    with (
        suppress(Exception),
        open(os.devnull, "w") as nowhere,  # noqa: PTH123 - a device
        redirect_stderr(nowhere),
    ):
        command.main([], "junto", VARIABLE, standalone_mode=False)
    sys.exit(0)
