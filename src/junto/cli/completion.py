"""Shell completion: the scripts for each shell, and the answers to their requests."""

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

_ENV_VAR = "_JUNTO_COMPLETE"
# How to install the script permanently in each shell.
SETUP_HINTS = {
    "bash": 'Into ~/.bashrc goes:  eval "$(junto completion bash)"',
    "zsh": 'Into ~/.zshrc, after compinit, goes:  eval "$(junto completion zsh)"',
    "fish": "It goes into a file:  junto completion fish > ~/.config/fish/completions/junto.fish",
}

# Click's template passes the words as split by bash, which also splits at = and :. Model names
# contain colons, so this one passes the whole line.
_BASH_TEMPLATE = """\
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

# Click's template cuts descriptions at the first comma and sorts the completions.
_FISH_TEMPLATE = """\
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


class _FishCompletion(FishComplete):
    """Fish completion with full descriptions, in the given order."""

    source_template = _FISH_TEMPLATE


class _BashCompletion(BashComplete):
    """Bash completion of whole words, including those that contain = or :."""

    source_template = _BASH_TEMPLATE

    @override
    def source(self) -> str:
        return ShellComplete.source(self)

    @override
    def get_completion_args(self) -> tuple[list[str], str]:
        # The added letter makes the last word the one being typed, even if it is still empty.
        *words, last = split_arg_string(os.environ["COMP_WORDS"] + "x")
        return words[1:], last[:-1]

    @override
    def complete(self) -> str:
        args, typed = self.get_completion_args()
        # Bash only replaces the part after the last word break, so completions must omit the rest.
        breaks = [typed.rfind(char) for char in ":=" if char in os.environ["COMP_WORDBREAKS"]]
        offset = max(breaks, default=-1) + 1
        is_option = typed.startswith("--") and "=" in typed
        option = typed[: typed.index("=") + 1] if is_option else ""

        def strip_prefix(item: CompletionItem[str]) -> CompletionItem[str]:
            return CompletionItem((option + item.value)[offset:], item.type)

        items = self.get_completions(args, typed)
        return "\n".join(self.format_completion(strip_prefix(item)) for item in items)


SHELLS: dict[str, type[ShellComplete]] = {
    "bash": _BashCompletion,
    "zsh": ZshComplete,
    "fish": _FishCompletion,
}


def build_script(command: click.Command, shell: str) -> str:
    """Return the completion script of `command` for a shell."""
    return SHELLS[shell](command, {}, "junto", _ENV_VAR).source()


def run_completion(command: click.Command) -> NoReturn:
    """Answer a completion request from a shell, suppressing all errors."""
    for completion_class in SHELLS.values():
        add_completion_class(completion_class)
    with (
        suppress(Exception),
        open(os.devnull, "w") as devnull,  # noqa: PTH123 - a device
        redirect_stderr(devnull),
    ):
        command.main([], "junto", _ENV_VAR, standalone_mode=False)
    sys.exit(0)
