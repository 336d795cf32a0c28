"""Run every benchmark, or those that are named, and print one table."""

import compileall
import contextlib
import io
import sys
import sysconfig
from pathlib import Path

from bench import agent, answers, engine, files, knowledge, memory, serving, streaming
from bench.rows import Row

BENCHMARKS = {
    "serving": serving.rows,
    "answers": answers.rows,
    "engine": engine.rows,
    "memory": memory.rows,
    "streaming": streaming.rows,
    "files": files.rows,
    "agent": agent.rows,
    "knowledge": knowledge.rows,
}


def main(names: list[str]) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        for folder in (sysconfig.get_path("purelib"), str(Path(__file__).parents[1] / "src")):
            compileall.compile_dir(folder, quiet=2)
    print(Row.HEAD)
    for name in names or BENCHMARKS:
        for row in BENCHMARKS[name]():
            print(row.line(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
