"""Run every benchmark and print one table."""

import compileall
import contextlib
import io
import sysconfig
from pathlib import Path

from bench import serving

# The most that each ratio may be; a benchmark is no test, so going over is only marked.
LIMITS = {
    "cold start, ms CPU": 1.10,
    "idle memory, MiB": 1.25,
    "stdio call, µs CPU": 0.60,
    "HTTP call 2026-07-28, µs CPU": 1.25,
    "HTTP call 2025-11-25, µs CPU": 1.25,
}


def main() -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        for folder in (sysconfig.get_path("purelib"), str(Path(__file__).parents[1] / "src")):
            compileall.compile_dir(folder, quiet=2)
    print(f"{'':32}{'bare':>10}{'Junto':>10}{'ratio':>8}{'limit':>8}")
    for name, bare, ours, ratio, _ in serving.rows():
        limit = LIMITS[name]
        mark = "" if ratio <= limit else "  over"
        print(f"{name:32}{bare:10.1f}{ours:10.1f}{ratio:8.2f}{limit:8.2f}{mark}", flush=True)


if __name__ == "__main__":
    main()
