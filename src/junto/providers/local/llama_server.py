"""The engine process: llama.cpp's server on a private socket.

It exits as soon as no process holds a lock on the file `users`.
"""

import fcntl
import os
import secrets
import sys
from pathlib import Path

# Prompts are processed in batches of this size; a disconnect is noticed between two batches.
_BATCH_TOKENS = 256
_ERRORS_ONLY_VERBOSITY = 1
# A small model is right most often with its first choice. A question can ask for more variety.
_TEMPERATURE = 0.0
# Stops a model that repeats itself word by word (the DRY sampler). A penalty for single words would
# also keep it from repeating a name or a number that the answer needs.
_DRY_MULTIPLIER, _DRY_ALLOWED_TOKENS = 0.8, 6

EXIT_ALREADY_RUNNING = 3


def main(directory: Path, weights_path: str, context_tokens: int, threads: int) -> None:
    """Serve until no process uses the engine."""
    _acquire_engine_lock(directory)
    loading_socket, ready_socket, key_path = (
        directory / "loading.sock",
        directory / "ready.sock",
        directory / "key",
    )
    for path in (loading_socket, ready_socket, key_path):
        path.unlink(missing_ok=True)
    api_key = secrets.token_hex(32)
    server = _start_server(weights_path, str(loading_socket), api_key, context_tokens, threads)
    os.close(_write_private_file(key_path, api_key))
    # The server listens before its weights are loaded; the rename marks it as ready.
    loading_socket.rename(ready_socket)
    fcntl.flock(os.open(directory / "users", os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX)
    # A regular shutdown may hang if the server has only just started.
    ready_socket.unlink(missing_ok=True)
    os._exit(0 if server else 1)


def _acquire_engine_lock(directory: Path) -> None:
    fd = os.open(directory / "engine", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held until this process ends
    except BlockingIOError:
        sys.exit(EXIT_ALREADY_RUNNING)


def _write_private_file(path: Path, text: str) -> int:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(fd, text.encode())
    return fd


def _start_server(
    weights_path: str, socket_path: str, api_key: str, context_tokens: int, threads: int
) -> object:
    import xllamacpp

    options = xllamacpp.CommonParams()
    options.model.path = weights_path
    options.model_alias = {Path(weights_path).stem}  # hides the path
    options.hostnames = [socket_path]  # a hostname that ends in .sock is a socket path
    options.api_keys = [api_key]
    options.n_ctx = context_tokens
    # One at a time: an answer that is computed in parallel with others differs.
    options.n_parallel = 1
    options.n_batch = options.n_ubatch = _BATCH_TOKENS
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = threads
    options.verbosity = _ERRORS_ONLY_VERBOSITY
    options.sampling.temp = _TEMPERATURE
    options.sampling.dry_multiplier = _DRY_MULTIPLIER
    options.sampling.dry_allowed_length = _DRY_ALLOWED_TOKENS
    options.cache_ram_mib = 0
    options.ui = options.endpoint_slots = False
    options.offline = True
    return xllamacpp.Server(options)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
