"""What `junto doctor` says of databases, providers, ports and clients, with real ones."""

import asyncio
import contextlib
import json
import os
import re
import shlex
import signal
import socket
import socketserver
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from typing_extensions import override

from junto import __version__
from junto.app.trying import models_at
from junto.cli.clients.known import CLIENTS, Client
from junto.cli.clients.machine import Machine
from junto.cli.doctor import clients, disk, embedded, models, protocol, serving, store, tools
from junto.cli.doctor.findings import Case, Finding
from junto.domain.errors import AuthenticationError
from junto.providers.catalog.catalog import Route
from junto.providers.catalog.known import Dialect
from junto.settings import load
from junto.storage.migrations import migrations
from junto.storage.postgres.database import Database as Postgres
from junto.storage.sqlite.database import Database as Sqlite
from junto.storage.sqlite.looking import look
from tests.cli.test_doctor import Look, case, worst
from tests.clients import SECONDS, HttpClient, clean_environment, junto
from tests.households import household
from tests.upstream import Reply, Upstream

LIST = Reply(body={"data": [{"id": "gpt-6.1-sol"}, {"id": "m"}]})

LATEST = migrations("junto.storage.sqlite")[-1].name


async def looked(check: Look, subject: Case) -> list[Finding]:
    """Look in a thread, as doctor does, since there is a loop here already."""
    return await asyncio.to_thread(lambda: list(check(subject)))


def online(subject: Case) -> Case:
    return replace(subject, online=True)


async def made(home: Path) -> Path:
    path = home / "state" / "junto.db"
    async with Sqlite.opened(path):
        return path


def changed(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def memory(home: Path, **variables: str) -> Finding:
    return worst(list(store.database(case(home, **variables))))


def without_last_change(path: Path) -> None:
    """Make a file that an older Junto has made."""
    scripts = migrations("junto.storage.sqlite")[:-1]
    path.parent.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("".join(each.script for each in scripts))
        connection.execute("CREATE TABLE migrations (name TEXT PRIMARY KEY) STRICT")
        connection.executemany("INSERT INTO migrations VALUES (?)", [(s.name,) for s in scripts])
        connection.commit()


def test_a_file_that_is_up_to_date_is_fine(tmp_path: Path) -> None:
    asyncio.run(made(tmp_path))

    found = memory(tmp_path)

    assert found.state == "ok"
    assert f"up to date ({LATEST})" in found.detail


def test_a_file_of_an_older_junto_is_tried_as_a_copy_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "state" / "junto.db"
    without_last_change(path)
    before = path.read_bytes()

    found = memory(tmp_path)

    assert found.state == "warning"
    assert "the next start makes 1 change (tried with a copy)" in found.detail
    assert path.read_bytes() == before
    asyncio.run(made(tmp_path))
    assert memory(tmp_path).state == "ok"


def test_a_file_that_cannot_be_brought_up_to_date_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "state" / "junto.db"
    without_last_change(path)
    changed(path, "DROP TABLE vectors")
    changed(path, "DROP TABLE embedders")

    found = memory(tmp_path)

    assert found.state == "broken"
    assert "bringing it up to date fails" in found.detail


@pytest.mark.parametrize("damage", ["garbage", "a hole", "another program's", "a newer Junto's"])
def test_a_file_that_cannot_be_used_is_broken_until_the_fix_is_followed(
    damage: str, tmp_path: Path
) -> None:
    path = asyncio.run(made(tmp_path))
    match damage:
        case "garbage":
            path.write_bytes(b"this is no database at all" * 100)
        case "a hole":
            content = path.read_bytes()
            path.write_bytes(content[:4096] + bytes(len(content) - 8192) + content[-4096:])
        case "another program's":
            path.unlink()
            changed(path, "CREATE TABLE music (album)")
        case _:
            changed(path, "INSERT INTO migrations VALUES ('9999_wonders')")

    found = memory(tmp_path)

    assert found.state == "broken"
    if damage == "a newer Junto's":
        assert "9999_wonders" in found.detail
        assert "Update Junto" in found.detail
    else:
        subprocess.run(shlex.split(found.fix.split("`")[1]), check=True)
        assert memory(tmp_path).state == "ok"


@contextlib.contextmanager
def shut_out(folder: Path) -> Iterator[None]:
    """Be somebody who may not enter a folder; root may enter any, and has to be somebody else."""
    before = os.geteuid()
    folder.chmod(0o700 if before == 0 else 0)
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)
        folder.chmod(0o700)


def test_a_file_of_somebody_else_is_said_to_be_so(tmp_path: Path) -> None:
    asyncio.run(made(tmp_path))
    assert memory(tmp_path).state == "ok"
    assert worst(list(disk.state(case(tmp_path)))).state == "ok"
    assert worst(list(serving.background(case(tmp_path)))).state == "ok"

    with shut_out(tmp_path / "state"):
        database = memory(tmp_path)
        folder = worst(list(disk.state(case(tmp_path))))
        [server] = serving.background(case(tmp_path))
        assert not list(disk.leftovers(case(tmp_path)))

    assert server.state == "ok"
    assert (database.state, folder.state) == ("broken", "broken")
    assert "is not yours to read and to write" in database.detail
    assert "Permission denied" in folder.detail


def test_a_large_file_is_not_looked_through_for_ever(tmp_path: Path) -> None:
    path = asyncio.run(made(tmp_path))
    changed(
        path,
        "CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
        "WHERE i < 300000) SELECT i FROM n",
    )

    sight = look(path, seconds=0)

    assert sight
    assert not sight.whole


def test_an_empty_server_is_tried_and_left_empty(postgres_url: str, tmp_path: Path) -> None:
    found = {
        each.check: each for each in store.database(case(tmp_path, JUNTO_DATABASE_URL=postgres_url))
    }

    assert found["database"].state == "ok"
    assert "will be made at the first use; tried" in found["database"].detail
    assert "can be had" in found["pgvector"].detail
    with psycopg.connect(postgres_url) as connection:
        count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        assert connection.execute(count).fetchone() == (0,)


def test_a_server_that_is_up_to_date_is_fine_and_one_that_is_not_is_not_changed(
    postgres_url: str, tmp_path: Path
) -> None:
    async def opened() -> None:
        async with Postgres.opened(postgres_url):
            pass

    asyncio.run(opened())
    subject = case(tmp_path, JUNTO_DATABASE_URL=postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        fine = {each.check: each for each in store.database(subject)}
        connection.execute("DELETE FROM migrations WHERE name = %s", (LATEST,))
        behind = worst(list(store.database(subject)))
        [round_trip] = protocol.stdio(subject)
        names = connection.execute("SELECT name FROM migrations").fetchall()

    assert re.search(rf"PostgreSQL \d.*up to date \({LATEST}\)", fine["database"].detail)
    assert fine["pgvector"].detail[0].isdigit()
    assert "the next start makes 1 change (not tried)" in behind.detail
    assert round_trip.state == "warning"
    assert LATEST not in {name for (name,) in names}


def test_a_server_of_a_newer_junto_is_broken(postgres_url: str, tmp_path: Path) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE migrations AS SELECT '9999_wonders'::text AS name")

    found = memory(tmp_path, JUNTO_DATABASE_URL=postgres_url)

    assert found.state == "broken"
    assert "9999_wonders" in found.detail


def test_a_user_who_may_not_make_tables_is_told(postgres_url: str, tmp_path: Path) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        connection.execute("CREATE ROLE guest LOGIN")
    guest = re.sub(r"//[^@]*@", "//guest@", postgres_url)

    found = memory(tmp_path, JUNTO_DATABASE_URL=guest)

    assert found.state == "broken"
    assert "may not make tables" in found.detail


class _Refuses(socketserver.BaseRequestHandler):
    """A PostgreSQL server, as far as it says no."""

    @override
    def handle(self) -> None:
        while b"user" not in self.request.recv(1000):
            self.request.sendall(b"N")  # no encryption
        said = b'SFATAL\0C28P01\0Mpassword authentication failed for user "me"\0\0'
        self.request.sendall(b"E" + (len(said) + 4).to_bytes(4, "big") + said)


def test_a_wrong_password_is_told_apart_and_never_shown(tmp_path: Path) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), _Refuses) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"postgresql://me:hunter22@127.0.0.1:{server.server_address[1]}/x"

        found = memory(tmp_path, JUNTO_DATABASE_URL=url)
        server.shutdown()

    assert "refuses the user or the password" in found.detail
    assert "hunter22" not in f"{found}"


def test_redis_tells_its_version_or_refuses(redis_socket: Path, tmp_path: Path) -> None:
    [fine] = store.redis(case(tmp_path, JUNTO_REDIS_URL=f"unix://{redis_socket}"))
    [refused] = store.redis(case(tmp_path, JUNTO_REDIS_URL=f"unix://me:hunter22@{redis_socket}"))

    assert re.fullmatch(r"\d+\.\d+\.\d+", fine.detail)
    assert refused.state == "broken"
    assert "refuses the user or the password" in refused.detail
    assert "hunter22" not in f"{refused}"


REPLIES = {
    "accepted": (LIST, "ok", "key accepted, 2 models; key from OPENAI_API_KEY"),
    "refused": (Reply(status=401, body={}), "broken", "refused: openai answered 401."),
    "refused as Gemini does": (
        Reply(status=400, body={}),
        "broken",
        "refused: openai answered 400.",
    ),
    "out of order": (Reply(status=500, body={}), "broken", "not reached: openai answered 500."),
    "silent": (Reply(hang_before=True), "broken", "not reached: openai did not answer in time."),
    "busy": (Reply(status=429, body={}), "warning", "reached, but openai answered 429."),
}


@pytest.mark.parametrize("how", REPLIES)
async def test_a_provider_is_asked_whether_it_accepts_the_key(how: str, tmp_path: Path) -> None:
    reply, state, says = REPLIES[how]
    async with Upstream.started() as upstream:
        upstream.will(reply)
        variables = {"OPENAI_API_KEY": "sk-a-secret", "OPENAI_BASE_URL": upstream.url}
        subject = online(case(tmp_path, **variables))

        [found] = await looked(models.keys, subject)

    assert found.state == state
    assert says in found.detail
    assert [request.path for request in upstream.requests] == ["/models"]
    assert "sk-a-secret" not in f"{found}"


async def test_without_leave_no_provider_is_asked(tmp_path: Path) -> None:
    async with Upstream.started() as upstream:
        entry = [{"id": "m", "baseUrl": upstream.url}]
        subject = case(
            tmp_path,
            OPENAI_API_KEY="sk-1",
            OPENAI_BASE_URL=upstream.url,
            JUNTO_MODELS=json.dumps(entry),
            JUNTO_KNOWLEDGE_EMBEDDINGS="openai/e",
        )

        for check in (models.keys, models.addresses, embedded.vectors):
            [found] = await looked(check, subject)
            assert found.state == "ok"
            assert "not tried; --online asks" in found.detail

    assert upstream.requests == []


async def test_openrouter_is_asked_about_the_key_itself_since_its_list_is_public() -> None:
    async with Upstream.started() as upstream:
        upstream.will(Reply(status=401, body={}), LIST)
        route = Route(
            provider="openrouter",
            dialect=Dialect.OPENAI,
            model="",
            base_url=upstream.url,
            api_key="k",
        )

        with pytest.raises(AuthenticationError):
            await models_at(route)

    assert [request.path for request in upstream.requests] == ["/key"]


async def test_models_with_an_address_are_looked_for_there(tmp_path: Path) -> None:
    async with Upstream.started() as upstream:
        upstream.will(LIST)
        entries = [
            {"id": "m", "baseUrl": upstream.url},
            {"id": "n", "baseUrl": upstream.url},
            {"id": "gone", "baseUrl": "http://127.0.0.1:9"},
            {"id": "cloud", "provider": "bedrock"},
            {"id": "quoted", "provider": "anthropic", "apiKey": "'k'"},
        ]
        subject = online(case(tmp_path, JUNTO_MODELS=json.dumps(entries)))

        found = await looked(models.addresses, subject)

    assert [(each.check, each.state) for each in found] == [
        ("m", "ok"),
        ("n", "warning"),
        ("gone", "warning"),
        ("cloud", "ok"),
        ("quoted", "broken"),
    ]
    assert "n is not among its 2 models" in found[1].detail
    assert "Connection refused" in found[2].detail
    assert "http://127.0.0.1:9 is right" in found[2].fix
    assert found[4].fix == "Set apiKey of quoted in models right."


async def test_embeddings_of_a_provider_are_tried(tmp_path: Path) -> None:
    async with Upstream.started() as upstream:
        upstream.will(Reply(body={"data": [{"index": 0, "embedding": [0.6, 0.8]}]}))
        variables = {"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": upstream.url}
        subject = online(case(tmp_path, JUNTO_KNOWLEDGE_EMBEDDINGS="openai/e", **variables))

        [fine] = await looked(embedded.vectors, subject)

    [gone] = await looked(embedded.vectors, subject)
    assert (fine.state, gone.state) == ("ok", "broken")
    assert "vectors of 2 numbers" in fine.detail


def test_a_junto_that_does_not_start_is_quoted_over_both_ways(tmp_path: Path) -> None:
    config = tmp_path / "named.yaml"
    config.write_text("tools: {disabled: [kits]}")
    subject = Case(load(config=config), config)

    found = [*protocol.stdio(subject), *protocol.over_http(subject)]
    config.write_text("tools: {disabled: [kit]}")
    mended = [*protocol.stdio(subject), *protocol.over_http(subject)]

    assert [each.state for each in (*found, *mended)] == ["broken", "broken", "ok", "ok"]
    for each in found:
        assert "no tool or group called kits" in each.detail
    assert "lists 14 tools" in mended[0].detail  # none of which is current_time


def test_a_port_is_free_or_somebody_holds_it(tmp_path: Path, served: HttpClient) -> None:
    listen = (
        "import socket, sys; s = socket.create_server(('127.0.0.1', 0)); "
        "print(s.getsockname()[1], flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", listen], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as stranger:
        assert stranger.stdout
        port = stranger.stdout.readline().decode().strip()
        [held] = serving.port(case(tmp_path, JUNTO_HTTP_PORT=port))
    [free] = serving.port(case(tmp_path, JUNTO_HTTP_PORT=port))
    [ours] = serving.port(case(tmp_path, JUNTO_HTTP_PORT=str(served.port)))
    [nowhere] = serving.port(case(tmp_path, JUNTO_HTTP_HOST="192.0.2.5", JUNTO_HTTP_PORT=port))

    assert held.state == "warning"
    assert re.search(rf":{port} is held by python\S*, pid {stranger.pid}$", held.detail)
    assert "JUNTO_HTTP_PORT" in held.fix
    assert (free.state, free.detail) == ("ok", f"127.0.0.1:{port} is free")
    assert f"is held by a Junto {__version__} (python" in ours.detail
    assert (nowhere.state, "cannot be had" in nowhere.detail) == ("broken", True)


@pytest.mark.timeout(180)
def test_the_background_server_is_recognised_and_told_when_it_is_another(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    state = str(tmp_path / "data" / "junto")
    with household(tmp_path, JUNTO_HTTP_PORT=port, JUNTO_STATE_DIRECTORY=state) as home:

        def found(**variables: str) -> dict[str, Finding]:
            loaded = case(tmp_path, JUNTO_HTTP_PORT=port, JUNTO_STATE_DIRECTORY=state, **variables)
            looks = (serving.port, serving.background)
            return {each.check: each for look in looks for each in look(loaded)}

        before = found()
        home.run("start")
        during = json.loads(home.run("doctor", "--json").stdout)
        other = json.loads(home.run("doctor", "--json", JUNTO_ANSWERS_MAX_TOKENS="5").stdout)
        held = found()
        [pid] = home.servers()
        os.kill(pid, signal.SIGSTOP)
        stopped = found()
        os.kill(pid, signal.SIGCONT)

    assert "does not run" in before["background"].detail
    same = {each["check"]: each for each in during["findings"]}
    assert (same["background"]["state"], same["port"]["state"]) == ("ok", "ok")
    assert "is held by the background server" in held["port"].detail
    assert (stopped["background"].state, stopped["background"].fix) == ("broken", "`junto restart`")
    changed_now = next(each for each in other["findings"] if each["check"] == "background")
    assert (changed_now["state"], changed_now["fix"]) == ("warning", "`junto restart`")


def test_other_servers_are_reached_or_not(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        entry = {"name": "x", "url": f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"}
        subject = online(case(tmp_path, JUNTO_SERVERS=json.dumps([entry])))
        [there] = tools.servers(subject)
    [gone] = tools.servers(subject)

    assert (there.state, gone.state) == ("ok", "broken")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return Machine.here()


def wrote(client: Client, machine: Machine, entry: object, *, name: str = "junto") -> Path:
    file = client.user(machine)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(client.form.put("", (client.section, name), entry))
    return file


def follow(fix: str, home: Path) -> None:
    """Run the command that a fix names."""
    _, *words = shlex.split(re.findall(r"`(junto install [^`]*)`", fix)[0])
    environment = clean_environment(home)
    subprocess.run(junto(*words), env=environment, cwd=home, timeout=SECONDS, check=True)


def clients_of(home: Path) -> list[Finding]:
    return list(clients.configured(case(home)))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_that_starts_nothing_is_mended_by_its_fix(
    client: Client, machine: Machine, tmp_path: Path
) -> None:
    [nobody] = clients_of(tmp_path)
    client.home(machine).mkdir(parents=True)
    [without] = clients_of(tmp_path)
    wrote(client, machine, {"command": "/opt/gone/bin/junto", "args": ["mcp"]})
    [deleted] = clients_of(tmp_path)
    follow(deleted.fix, tmp_path)
    [mended] = clients_of(tmp_path)

    assert (nobody.check, nobody.state) == ("clients", "ok")
    assert (without.state, f"junto install {client.name}" in without.fix) == ("ok", True)
    assert deleted.state == "broken"
    assert "/opt/gone/bin/junto, which is not there" in deleted.detail
    assert (mended.check, mended.state) == (client.title, "ok")
    assert mended.detail.endswith("starts this Junto")


def _cursor() -> Client:
    return next(client for client in CLIENTS if client.name == "cursor")


ENTRIES: dict[str, tuple[dict[str, object], str, str]] = {
    "another Junto": ({"command": "ELSEWHERE", "args": ["mcp"]}, "warning", "starts another Junto"),
    "a lost configuration": (
        {"command": sys.executable, "args": ["-m", "junto", "mcp", "--config", "/gone.yaml"]},
        "broken",
        "configuration that is not there: /gone.yaml",
    ),
    "a server that does not run": (
        {"url": "http://127.0.0.1:9/mcp"},
        "warning",
        "where no Junto answers now",
    ),
}


@pytest.mark.parametrize("what", ENTRIES)
def test_an_entry_that_leads_elsewhere_is_told_and_mended(
    what: str, machine: Machine, tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere" / "junto"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    entry, state, says = ENTRIES[what]
    entry = {name: str(other) if value == "ELSEWHERE" else value for name, value in entry.items()}
    wrote(_cursor(), machine, entry, name="council")

    [found] = clients_of(tmp_path)
    follow(found.fix, tmp_path)
    [mended] = clients_of(tmp_path)

    assert (found.state, mended.state) == (state, "ok")
    assert says in found.detail


def test_entries_of_every_kind_are_understood(
    machine: Machine, tmp_path: Path, served: HttpClient
) -> None:
    cursor = _cursor()
    wrote(cursor, machine, {"url": f"http://127.0.0.1:{served.port}/mcp"})
    [connected] = clients_of(tmp_path)
    wrote(cursor, machine, {"command": sys.executable, "args": ["-m", "junto", "mcp"]})
    [module] = clients_of(tmp_path)
    wrote(cursor, machine, {"command": "junto", "args": ["mcp"], "disabled": True})
    [off] = clients_of(tmp_path)
    file = wrote(cursor, machine, {})
    file.write_text('{"mcpServers": {"junto": {')
    [torn] = clients_of(tmp_path)

    assert (connected.state, "where Junto answers" in connected.detail) == ("ok", True)
    assert (module.state, "starts this Junto" in module.detail) == ("ok", True)
    assert (off.state, "switched off" in off.detail) == ("warning", True)
    assert (torn.state, "is broken at line 1, column" in torn.detail) == ("broken", True)


def test_a_project_in_the_current_folder_is_looked_at_too(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / ".cursor").mkdir(parents=True)
    (tmp_path / ".cursor").mkdir()
    entry = {"mcpServers": {"junto": {"command": "/opt/gone/junto", "args": ["mcp"]}}}
    (project / ".cursor" / "mcp.json").write_text(json.dumps(entry))
    monkeypatch.chdir(project)

    [found] = clients_of(machine.home)

    assert found.state == "broken"
    assert "`junto install cursor --scope project`" in found.fix


def test_free_room_is_told_also_of_a_folder_that_is_yet_to_be_made(tmp_path: Path) -> None:
    [found] = disk.state(case(tmp_path))

    assert "(made at the first use)" in found.detail
    assert not (tmp_path / "state").exists()
