"""Check that the code keeps to the rules of naming and structure, and print the figures.

    python -m scripts.check_structure

Enforced for `src/junto`: function and module names are not participles or gerunds, class names are
unique, functions and files are short, there are no import cycles, and a function imports our own
code only where a reason is listed in `LAZY_IMPORTS`, and a module touches the environment only if
it is listed in `ENVIRONMENT_READERS`.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grimp

SOURCE = Path(__file__).parents[1] / "src"
MAX_PARTICIPLES = 0.03
MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 400

_REGULAR = re.compile(r"[a-z]{2,}(ed|ing)")
_IRREGULAR = frozenset(
    "begun bound broken built caught chosen cut done drawn fallen forgotten found given gone grown "
    "heard held hidden kept known laid left lent lost made meant met paid seen sent shown sold "
    "spent spoken taken thought told understood woken worn written".split()
)
# Words that end like a participle and are none, and nouns of the trade.
_NOUNS = frozenset(
    "bed binding building chunking embed embedding encoding feed logging need paging ping pricing "
    "ranking rating reasoning routing sampling seed setting speed string thing thinking "
    "warning".split()
)

# Modules and packages in which functions import our own code, and why. All of it keeps starts fast.
LAZY_IMPORTS = {
    "junto.__init__": "the command starts without the Python API",
    "junto.api": "nothing is imported before it is opened",
    "junto.app.agent": "the agent SDK takes a second to import, and few calls need it",
    "junto.app.models": "clients, engine and embedding models open with the first question",
    "junto.app.services": "the rate limiter is imported only where a rate is set",
    "junto.app.storage": "one of two databases is used; its driver is an optional extra",
    "junto.app.usage": "Redis is an optional extra",
    "junto.cli.__init__": "garbage collection is switched off before anything is imported",
    "junto.cli.chat": "only exporting needs it",
    "junto.cli.commands": "a command imports its work when it runs, so that --help is instant",
    "junto.cli.completion_values": "completing a word must not import the application",
    "junto.cli.config": "only `config check` builds the application",
    "junto.cli.doctor": "a broken installation must not stop the other checks",
    "junto.cli.http": "only the background server needs it",
    "junto.cli.main": "only shell completion and crashes need it",
    "junto.cli.options": "--help needs no settings",
    "junto.cli.stdio": "standard output is claimed before anything is imported",
    "junto.cli.stdio_proxy": "the application is imported only if no background server answers",
    "junto.knowledge.formats.worker_main": "charset detection is an optional extra",
    "junto.local_tools.attachments": "the HTTP client is imported when a web address is read",
    "junto.providers.embeddings.minilm": "onnxruntime is imported with the first text",
    "junto.providers.factory": "the engine is imported when the embedded model is asked",
    "junto.providers.middleware.guards": "the HTTP client is imported only with moderation",
    "junto.security.paths": "ctypes is imported with the first file, and only on Linux",
    "junto.tools.builtin.web": "the HTTP client is imported with the first call",
}

# Modules that touch the environment. Settings read it once; the others cannot get it from there.
ENVIRONMENT_READERS = {
    "junto.app.agent": "the environment and the login of the agent's child process",
    "junto.app.server": "the tool `get_env`, and the environment of commands",
    "junto.cli.clients.registry": "where other programs keep their configuration",
    "junto.cli.commands.help": "the user's shell, to print its completion script",
    "junto.cli.completion": "the variables with which a shell asks for completions",
    "junto.cli.doctor.protocol": "the environment of a child process",
    "junto.cli.main": "NO_COLOR and TERM, and the request of a shell for completions",
    "junto.cli.terminal_text": "TERM",
    "junto.providers.local.engine": "the environment of a child process",
    "junto.providers.local.weights": "the environment of a child process",
    "junto.runtime.daemon_control": "the environment of a child process",
    "junto.security.vendor_telemetry": "switches off the telemetry of libraries",
    "junto.settings.loader": "the settings",
}


@dataclass(frozen=True, slots=True)
class Module:
    """A source file and its syntax tree."""

    name: str
    path: Path
    lines: int
    tree: ast.Module

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))


def load_modules() -> list[Module]:
    modules = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        modules.append(Module(name, path, text.count("\n"), ast.parse(text)))
    return modules


def is_participle(name: str) -> bool:
    """Return whether the first word of a name is a participle or gerund."""
    word = name.strip("_").split("_")[0]
    if word in _NOUNS or word.rstrip("s") in _NOUNS:
        return False
    return bool(_REGULAR.fullmatch(word)) or word in _IRREGULAR


def find_lazy_imports(module: Module) -> Iterator[str]:
    """Yield the modules of ours that a function of `module` imports."""
    for function in module.functions():
        for node in ast.walk(function):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("junto"):
                yield str(node.module)
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name.startswith("junto"))


def check() -> Iterator[tuple[str, str, list[str]]]:
    """Yield for each rule its figure, its limit and what breaks it."""
    modules = load_modules()
    functions = [(module, node) for module in modules for node in module.functions()]
    bad = [f"{module.name}:{node.name}" for module, node in functions if is_participle(node.name)]
    share = len(bad) / len(functions)
    yield (
        f"{share:.1%} of {len(functions)} functions are named with a participle",
        f"{MAX_PARTICIPLES:.0%}",
        bad if share > MAX_PARTICIPLES else [],
    )
    bad = [module.name for module in modules if is_participle(module.path.stem)]
    share = len(bad) / len(modules)
    yield (
        f"{share:.1%} of {len(modules)} modules are named with a participle",
        f"{MAX_PARTICIPLES:.0%}",
        bad if share > MAX_PARTICIPLES else [],
    )
    names = Counter(node.name for module in modules for node in module.classes())
    twice = [name for name, count in names.items() if count > 1]
    yield f"{len(twice)} class names are used twice", "0", twice
    lengths = {
        f"{module.name}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for module, node in functions
    }
    longest = max(lengths.values())
    yield (
        f"the longest function has {longest} lines",
        str(MAX_FUNCTION_LINES),
        [name for name, length in lengths.items() if length > MAX_FUNCTION_LINES],
    )
    largest = max(module.lines for module in modules)
    yield (
        f"the largest file has {largest} lines",
        str(MAX_FILE_LINES),
        [module.name for module in modules if module.lines > MAX_FILE_LINES],
    )
    cycles = find_cycles()
    yield f"{len(cycles)} import cycles", "0", cycles
    lazy = {module.name: sorted(set(find_lazy_imports(module))) for module in modules}
    lazy = {name: found for name, found in lazy.items() if found}
    unlisted = [
        f"{name} imports {', '.join(found)} in a function"
        for name, found in lazy.items()
        if not any(is_inside(name, listed) for listed in LAZY_IMPORTS)
    ]
    stale = [
        f"{listed} is listed, and no function imports anything"
        for listed in LAZY_IMPORTS
        if not any(is_inside(name, listed) for name in lazy)
    ]
    count = sum(map(len, lazy.values()))
    yield f"{count} function-level imports of our own code", "listed ones", [*unlisted, *stale]
    readers = {module.name for module in modules if reads_environment(module)}
    wrong = sorted(readers ^ set(ENVIRONMENT_READERS))
    yield f"{len(readers)} modules touch the environment", "listed ones", wrong


def is_inside(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def reads_environment(module: Module) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in {("os", "environ"), ("os", "getenv"), ("os", "putenv")}
        for node in ast.walk(module.tree)
    )


def find_cycles() -> list[str]:
    """Return every pair of modules that import each other, directly or through others."""
    graph = grimp.build_graph("junto", cache_dir=None)
    return [
        f"{module} and {imported}"
        for module in sorted(graph.modules)
        for imported in graph.find_modules_directly_imported_by(module)
        if module < imported and graph.chain_exists(importer=imported, imported=module)
    ]


def main() -> int:
    failed = False
    for figure, limit, offenders in check():
        print(f"{'FAILED' if offenders else 'ok':7}{figure} (at most {limit})")
        for offender in offenders:
            print(f"       {offender}")
        failed = failed or bool(offenders)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
