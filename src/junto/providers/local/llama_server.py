"""The engine itself: llama.cpp's server on a private socket, in a process of its own.

It ends as soon as nobody holds the file `users` any more, so it outlives no one.
"""

import fcntl
import os
import secrets
import sys
from pathlib import Path

# Prompts are worked through in pieces of this size; between two of them a hang-up is noticed.
_BATCH = 256
_ERRORS_ONLY = 1
# What the makers of small models advise, where the question says nothing.
_TEMPERATURE, _TOP_P = 0.2, 0.9
# Without it, a small model may say one sentence again and again to the end of its tokens.
_PENALTY = 1.1

ALREADY_RUNNING = 3


def main(folder: Path, weights: str, context: int, threads: int) -> None:
    """Serve until the last user is gone."""
    _be_the_only_one(folder)
    loading, ready, key = folder / "loading.sock", folder / "ready.sock", folder / "key"
    for left_over in (loading, ready, key):
        left_over.unlink(missing_ok=True)
    password = secrets.token_hex(32)
    server = _started(weights, str(loading), password, context, threads)
    os.close(_written(key, password))
    # The server listens before it has read its weights. Under its right name it is ready.
    loading.rename(ready)
    fcntl.flock(os.open(folder / "users", os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX)
    # Taking the server down in order may wait for ever if it has only just begun.
    ready.unlink(missing_ok=True)
    os._exit(0 if server else 1)


def _be_the_only_one(folder: Path) -> None:
    fd = os.open(folder / "engine", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held until this process ends
    except BlockingIOError:
        sys.exit(ALREADY_RUNNING)


def _written(path: Path, text: str) -> int:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(fd, text.encode())
    return fd


def _started(weights: str, address: str, key: str, context: int, threads: int) -> object:
    import xllamacpp

    options = xllamacpp.CommonParams()
    options.model.path = weights
    options.model_alias = {Path(weights).stem}  # where it lies is nobody's business
    options.hostnames = [address]  # a name that ends in .sock is a path
    options.api_keys = [key]
    options.n_ctx = context
    # One after another: answers that are worked out together differ from those worked out alone.
    options.n_parallel = 1
    options.n_batch = options.n_ubatch = _BATCH
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = threads
    options.verbosity = _ERRORS_ONLY
    options.sampling.temp, options.sampling.top_p = _TEMPERATURE, _TOP_P
    options.sampling.penalty_repeat = _PENALTY
    options.cache_ram_mib = 0
    options.ui = options.endpoint_slots = False
    options.offline = True
    return xllamacpp.Server(options)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
