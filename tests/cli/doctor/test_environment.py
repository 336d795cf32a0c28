"""`junto doctor` against real databases, providers, ports and client configurations."""

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

from junto.cli.clients.registry import CLIENTS, ClientSpec, Platform
from junto.cli.doctor import clients, models, protocol, storage, system, tools
from junto.cli.doctor.checks import CheckContext, Finding
from junto.cli.doctor.probes import fetch_model_ids
from junto.domain.errors import AuthenticationError
from junto.provider_specs.spec import Dialect
from junto.providers.catalog.catalog import Route
from junto.settings import load_settings
from junto.storage.migrations import load_migrations
from junto.storage.postgres.database import PostgresDatabase
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.inspection import inspect_database
from junto.version import __version__
from tests.cli.doctor.test_doctor import CheckFunction, check_context, worst_finding
from tests.clients import TIMEOUT_SECONDS, HttpClient, clean_environment, junto_command
from tests.daemon_home import daemon_home
from tests.scripted_model_server import ScriptedModelServer, ScriptedReply

MODEL_LIST = ScriptedReply(body={"data": [{"id": "gpt-6.1-sol"}, {"id": "m"}]})

LATEST_MIGRATION = load_migrations("junto.storage.sqlite")[-1].name


async def run_check(check: CheckFunction, context: CheckContext) -> list[Finding]:
    """Run a check in a thread, as doctor does: it starts its own event loop."""
    return await asyncio.to_thread(lambda: list(check(context)))


def allow_online(context: CheckContext) -> CheckContext:
    return replace(context, online=True)


async def create_database(home: Path) -> Path:
    path = home / "state" / "junto.db"
    async with SqliteDatabase.open(path):
        return path


def execute(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def database_finding(home: Path, **variables: str) -> Finding:
    return worst_finding(list(storage.check_database(check_context(home, **variables))))


def create_outdated_database(path: Path) -> None:
    """Create a database without the last migration, as an older Junto would."""
    scripts = load_migrations("junto.storage.sqlite")[:-1]
    path.parent.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("".join(each.script for each in scripts))
        connection.execute("CREATE TABLE migrations (name TEXT PRIMARY KEY) STRICT")
        connection.executemany("INSERT INTO migrations VALUES (?)", [(s.name,) for s in scripts])
        connection.commit()


def test_an_up_to_date_database_is_ok(tmp_path: Path) -> None:
    asyncio.run(create_database(tmp_path))

    finding = database_finding(tmp_path)

    assert finding.state == "ok"
    assert f"up to date ({LATEST_MIGRATION})" in finding.detail


def test_migrations_of_an_older_database_are_tried_on_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "state" / "junto.db"
    create_outdated_database(path)
    before = path.read_bytes()

    finding = database_finding(tmp_path)

    assert finding.state == "warning"
    assert "the next start makes 1 change (tried with a copy)" in finding.detail
    assert path.read_bytes() == before
    asyncio.run(create_database(tmp_path))
    assert database_finding(tmp_path).state == "ok"


def test_a_database_that_cannot_be_migrated_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "state" / "junto.db"
    create_outdated_database(path)
    # The last migration adds this column too.
    execute(path, "ALTER TABLE migrations ADD COLUMN compatible_from TEXT")

    finding = database_finding(tmp_path)

    assert finding.state == "broken"
    assert "bringing it up to date fails" in finding.detail


@pytest.mark.parametrize("damage", ["garbage", "a hole", "another program's", "a newer Junto's"])
def test_an_unusable_database_is_broken_until_the_fix_is_applied(
    damage: str, tmp_path: Path
) -> None:
    path = asyncio.run(create_database(tmp_path))
    match damage:
        case "garbage":
            path.write_bytes(b"this is no database at all" * 100)
        case "a hole":
            content = path.read_bytes()
            path.write_bytes(content[:4096] + bytes(len(content) - 8192) + content[-4096:])
        case "another program's":
            path.unlink()
            execute(path, "CREATE TABLE music (album)")
        case _:
            execute(path, "INSERT INTO migrations (name) VALUES ('9999_wonders')")

    finding = database_finding(tmp_path)

    assert finding.state == "broken"
    if damage == "a newer Junto's":
        assert "9999_wonders" in finding.detail
        assert "Upgrade Junto" in finding.detail
    else:
        subprocess.run(shlex.split(finding.fix.split("`")[1]), check=True)
        assert database_finding(tmp_path).state == "ok"


@contextlib.contextmanager
def deny_access(folder: Path) -> Iterator[None]:
    """Act as a user who may not enter a folder; root may enter any, so it becomes another user."""
    before = os.geteuid()
    folder.chmod(0o700 if before == 0 else 0)
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)
        folder.chmod(0o700)


def test_a_database_of_another_user_is_reported(tmp_path: Path) -> None:
    asyncio.run(create_database(tmp_path))
    assert database_finding(tmp_path).state == "ok"
    assert worst_finding(list(system.check_state_dir(check_context(tmp_path)))).state == "ok"
    assert worst_finding(list(system.check_daemon(check_context(tmp_path)))).state == "ok"

    with deny_access(tmp_path / "state"):
        database = database_finding(tmp_path)
        folder = worst_finding(list(system.check_state_dir(check_context(tmp_path))))
        [server] = system.check_daemon(check_context(tmp_path))
        assert not list(system.check_leftovers(check_context(tmp_path)))

    assert server.state == "ok"
    assert (database.state, folder.state) == ("broken", "broken")
    assert "is not yours to read and to write" in database.detail
    assert "Permission denied" in folder.detail


def test_the_integrity_check_of_a_large_database_stops_at_its_time_limit(tmp_path: Path) -> None:
    path = asyncio.run(create_database(tmp_path))
    execute(
        path,
        "CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
        "WHERE i < 300000) SELECT i FROM n",
    )

    info = inspect_database(path, max_seconds=0)

    assert info
    assert not info.is_fully_checked


def test_an_empty_postgres_database_is_tried_and_left_empty(
    postgres_url: str, tmp_path: Path
) -> None:
    by_check = {
        each.check: each
        for each in storage.check_database(check_context(tmp_path, JUNTO_DATABASE_URL=postgres_url))
    }

    assert by_check["database"].state == "ok"
    assert "will be made at the first use; tried" in by_check["database"].detail
    assert "can be had" in by_check["pgvector"].detail
    with psycopg.connect(postgres_url) as connection:
        count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        assert connection.execute(count).fetchone() == (0,)


def test_an_up_to_date_postgres_database_is_ok_and_an_outdated_one_is_not_changed(
    postgres_url: str, tmp_path: Path
) -> None:
    async def create_tables() -> None:
        async with PostgresDatabase.open(postgres_url):
            pass

    asyncio.run(create_tables())
    context = check_context(tmp_path, JUNTO_DATABASE_URL=postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        up_to_date = {each.check: each for each in storage.check_database(context)}
        connection.execute("DELETE FROM migrations WHERE name = %s", (LATEST_MIGRATION,))
        outdated = worst_finding(list(storage.check_database(context)))
        [round_trip] = protocol.check_stdio(context)
        names = connection.execute("SELECT name FROM migrations").fetchall()

    assert re.search(
        rf"PostgreSQL \d.*up to date \({LATEST_MIGRATION}\)", up_to_date["database"].detail
    )
    assert up_to_date["pgvector"].detail[0].isdigit()
    assert "the next start makes 1 change (not tried)" in outdated.detail
    assert round_trip.state == "warning"
    assert LATEST_MIGRATION not in {name for (name,) in names}


def test_a_postgres_database_of_a_newer_junto_is_broken(postgres_url: str, tmp_path: Path) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE migrations AS SELECT '9999_wonders'::text AS name")

    finding = database_finding(tmp_path, JUNTO_DATABASE_URL=postgres_url)

    assert finding.state == "broken"
    assert "9999_wonders" in finding.detail


def test_a_postgres_user_who_may_not_create_tables_is_reported(
    postgres_url: str, tmp_path: Path
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        connection.execute("CREATE ROLE guest LOGIN")
    guest = re.sub(r"//[^@]*@", "//guest@", postgres_url)

    finding = database_finding(tmp_path, JUNTO_DATABASE_URL=guest)

    assert finding.state == "broken"
    assert "may not make tables" in finding.detail


class _RefusingPostgresHandler(socketserver.BaseRequestHandler):
    """A PostgreSQL server that refuses every password."""

    @override
    def handle(self) -> None:
        while b"user" not in self.request.recv(1000):
            self.request.sendall(b"N")  # no encryption
        message = b'SFATAL\0C28P01\0Mpassword authentication failed for user "me"\0\0'
        self.request.sendall(b"E" + (len(message) + 4).to_bytes(4, "big") + message)


def test_a_wrong_password_is_reported_and_never_shown(tmp_path: Path) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), _RefusingPostgresHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"postgresql://me:hunter22@127.0.0.1:{server.server_address[1]}/x"

        finding = database_finding(tmp_path, JUNTO_DATABASE_URL=url)
        server.shutdown()

    assert "refuses the user or the password" in finding.detail
    assert "hunter22" not in f"{finding}"


def test_redis_reports_its_version_or_a_refused_password(
    redis_socket: Path, tmp_path: Path
) -> None:
    [accepted] = storage.check_redis(
        check_context(tmp_path, JUNTO_REDIS_URL=f"unix://{redis_socket}")
    )
    [refused] = storage.check_redis(
        check_context(tmp_path, JUNTO_REDIS_URL=f"unix://me:hunter22@{redis_socket}")
    )

    assert re.fullmatch(r"\d+\.\d+\.\d+", accepted.detail)
    assert refused.state == "broken"
    assert "refuses the user or the password" in refused.detail
    assert "hunter22" not in f"{refused}"


REPLIES = {
    "accepted": (MODEL_LIST, "ok", "key accepted, 2 models; key from OPENAI_API_KEY"),
    "refused": (ScriptedReply(status=401, body={}), "broken", "refused: openai answered 401."),
    "refused as Gemini does": (
        ScriptedReply(status=400, body={}),
        "broken",
        "refused: openai answered 400.",
    ),
    "server error": (
        ScriptedReply(status=500, body={}),
        "broken",
        "not reached: openai answered 500.",
    ),
    "no answer": (
        ScriptedReply(hang_before=True),
        "broken",
        "not reached: openai did not answer in time.",
    ),
    "rate limited": (
        ScriptedReply(status=429, body={}),
        "warning",
        "reached, but openai answered 429.",
    ),
}


@pytest.mark.parametrize("reply_kind", REPLIES)
async def test_a_provider_is_asked_whether_it_accepts_the_key(
    reply_kind: str, tmp_path: Path
) -> None:
    reply, state, detail = REPLIES[reply_kind]
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(reply)
        variables = {"OPENAI_API_KEY": "sk-a-secret", "OPENAI_BASE_URL": upstream.url}
        context = allow_online(check_context(tmp_path, **variables))

        [finding] = await run_check(models.check_keys, context)

    assert finding.state == state
    assert detail in finding.detail
    assert [request.path for request in upstream.requests] == ["/models"]
    assert "sk-a-secret" not in f"{finding}"


async def test_without_the_online_option_no_provider_is_asked(tmp_path: Path) -> None:
    async with ScriptedModelServer.start() as upstream:
        entry = [{"id": "m", "baseUrl": upstream.url}]
        context = check_context(
            tmp_path,
            OPENAI_API_KEY="sk-1",
            OPENAI_BASE_URL=upstream.url,
            JUNTO_MODELS=json.dumps(entry),
            JUNTO_KNOWLEDGE_EMBEDDINGS="openai/e",
        )

        for check in (models.check_keys, models.check_endpoints, models.check_embeddings):
            [finding] = await run_check(check, context)
            assert finding.state == "ok"
            assert "not tried; --online asks" in finding.detail

    assert upstream.requests == []


async def test_openrouter_is_asked_about_the_key_itself_since_its_list_is_public() -> None:
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(ScriptedReply(status=401, body={}), MODEL_LIST)
        route = Route(
            provider="openrouter",
            dialect=Dialect.OPENAI,
            model="",
            base_url=upstream.url,
            api_key="k",
        )

        with pytest.raises(AuthenticationError):
            await fetch_model_ids(route)

    assert [request.path for request in upstream.requests] == ["/key"]


async def test_models_with_a_base_url_are_looked_up_there(tmp_path: Path) -> None:
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(MODEL_LIST)
        entries = [
            {"id": "m", "baseUrl": upstream.url},
            {"id": "n", "baseUrl": upstream.url},
            {"id": "gone", "baseUrl": "http://127.0.0.1:9"},
            {"id": "cloud", "provider": "bedrock"},
            {"id": "quoted", "provider": "anthropic", "apiKey": "'k'"},
        ]
        context = allow_online(check_context(tmp_path, JUNTO_MODELS=json.dumps(entries)))

        findings = await run_check(models.check_endpoints, context)

    assert [(each.check, each.state) for each in findings] == [
        ("m", "ok"),
        ("n", "warning"),
        ("gone", "warning"),
        ("cloud", "ok"),
        ("quoted", "broken"),
    ]
    assert "n is not among its 2 models" in findings[1].detail
    assert "Connection refused" in findings[2].detail
    assert "http://127.0.0.1:9 is right" in findings[2].fix
    assert findings[4].fix == "Set apiKey of quoted in models right."


async def test_embeddings_of_a_provider_are_tried(tmp_path: Path) -> None:
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(ScriptedReply(body={"data": [{"index": 0, "embedding": [0.6, 0.8]}]}))
        variables = {"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": upstream.url}
        context = allow_online(
            check_context(tmp_path, JUNTO_KNOWLEDGE_EMBEDDINGS="openai/e", **variables)
        )

        [reachable] = await run_check(models.check_embeddings, context)

    [unreachable] = await run_check(models.check_embeddings, context)
    assert (reachable.state, unreachable.state) == ("ok", "broken")
    assert "vectors of 2 numbers" in reachable.detail


def test_the_error_of_a_failed_start_is_reported_for_stdio_and_http(tmp_path: Path) -> None:
    config = tmp_path / "named.yaml"
    config.write_text("tools: {disabled: [kits]}")
    context = CheckContext(load_settings(config=config), config)

    failed = [*protocol.check_stdio(context), *protocol.check_http(context)]
    config.write_text("tools: {disabled: [kit]}")
    fixed = [*protocol.check_stdio(context), *protocol.check_http(context)]

    assert [each.state for each in (*failed, *fixed)] == ["broken", "broken", "ok", "ok"]
    for each in failed:
        assert "no tool or group called kits" in each.detail
    assert "lists 14 tools" in fixed[0].detail  # current_time is not among them


def test_a_port_is_free_or_its_holder_is_named(tmp_path: Path, served: HttpClient) -> None:
    listen = (
        "import socket, sys; s = socket.create_server(('127.0.0.1', 0)); "
        "print(s.getsockname()[1], flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", listen], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        port = holder.stdout.readline().decode().strip()
        [held] = system.check_port(check_context(tmp_path, JUNTO_HTTP_PORT=port))
    [free] = system.check_port(check_context(tmp_path, JUNTO_HTTP_PORT=port))
    [ours] = system.check_port(check_context(tmp_path, JUNTO_HTTP_PORT=str(served.port)))
    [not_local] = system.check_port(
        check_context(tmp_path, JUNTO_HTTP_HOST="192.0.2.5", JUNTO_HTTP_PORT=port)
    )

    assert held.state == "warning"
    assert re.search(rf":{port} is held by python\S*, pid {holder.pid}$", held.detail)
    assert "JUNTO_HTTP_PORT" in held.fix
    assert (free.state, free.detail) == ("ok", f"127.0.0.1:{port} is free")
    assert f"is held by a Junto {__version__} (python" in ours.detail
    assert (not_local.state, "cannot be had" in not_local.detail) == ("broken", True)


@pytest.mark.timeout(180)
def test_the_background_server_is_recognised_and_changed_settings_are_reported(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    state = str(tmp_path / "data" / "junto")
    with daemon_home(tmp_path, JUNTO_HTTP_PORT=port, JUNTO_STATE_DIRECTORY=state) as home:

        def find_by_check(**variables: str) -> dict[str, Finding]:
            context = check_context(
                tmp_path, JUNTO_HTTP_PORT=port, JUNTO_STATE_DIRECTORY=state, **variables
            )
            checks = (system.check_port, system.check_daemon)
            return {each.check: each for check in checks for each in check(context)}

        before = find_by_check()
        home.run("start")
        with_same_settings = json.loads(home.run("doctor", "--json").stdout)
        with_other_settings = json.loads(
            home.run("doctor", "--json", JUNTO_ANSWERS_MAX_TOKENS="5").stdout
        )
        held = find_by_check()
        [pid] = home.find_pids()
        os.kill(pid, signal.SIGSTOP)
        stopped = find_by_check()
        os.kill(pid, signal.SIGCONT)

    assert "does not run" in before["background"].detail
    same = {each["check"]: each for each in with_same_settings["findings"]}
    assert (same["background"]["state"], same["port"]["state"]) == ("ok", "ok")
    assert "is held by the background server" in held["port"].detail
    assert (stopped["background"].state, stopped["background"].fix) == ("broken", "`junto restart`")
    changed = next(
        each for each in with_other_settings["findings"] if each["check"] == "background"
    )
    assert (changed["state"], changed["fix"]) == ("warning", "`junto restart`")


def test_an_mcp_server_is_ok_only_if_it_is_reachable(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        entry = {"name": "x", "url": f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"}
        context = allow_online(check_context(tmp_path, JUNTO_SERVERS=json.dumps([entry])))
        [reachable] = tools.check_servers(context)
    [unreachable] = tools.check_servers(context)

    assert (reachable.state, unreachable.state) == ("ok", "broken")


@pytest.fixture
def platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return Platform.current()


def write_entry(
    client: ClientSpec, platform: Platform, entry: object, *, name: str = "junto"
) -> Path:
    file = client.user_config_path(platform)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(client.file_format.set_value("", (client.section, name), entry))
    return file


def apply_fix(fix: str, home: Path) -> None:
    """Run the command that a fix names."""
    _, *words = shlex.split(re.findall(r"`(junto install [^`]*)`", fix)[0])
    environment = clean_environment(home)
    subprocess.run(
        junto_command(*words), env=environment, cwd=home, timeout=TIMEOUT_SECONDS, check=True
    )


def client_findings(home: Path) -> list[Finding]:
    return list(clients.check_clients(check_context(home)))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_the_fix_repairs_a_client_entry_whose_program_is_missing(
    client: ClientSpec, platform: Platform, tmp_path: Path
) -> None:
    [no_client] = client_findings(tmp_path)
    client.config_dir(platform).mkdir(parents=True)
    [no_entry] = client_findings(tmp_path)
    write_entry(client, platform, {"command": "/opt/gone/bin/junto", "args": ["mcp"]})
    [no_program] = client_findings(tmp_path)
    apply_fix(no_program.fix, tmp_path)
    [fixed] = client_findings(tmp_path)

    assert (no_client.check, no_client.state) == ("clients", "ok")
    assert (no_entry.state, f"junto install {client.name}" in no_entry.fix) == ("ok", True)
    assert no_program.state == "broken"
    assert "/opt/gone/bin/junto, which is not there" in no_program.detail
    assert (fixed.check, fixed.state) == (client.title, "ok")
    assert fixed.detail.endswith("starts this Junto")


def _cursor_client() -> ClientSpec:
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


@pytest.mark.parametrize("kind", ENTRIES)
def test_a_wrong_client_entry_is_reported_and_fixed(
    kind: str, platform: Platform, tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere" / "junto"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    entry, state, detail = ENTRIES[kind]
    entry = {name: str(other) if value == "ELSEWHERE" else value for name, value in entry.items()}
    write_entry(_cursor_client(), platform, entry, name="council")

    [finding] = client_findings(tmp_path)
    apply_fix(finding.fix, tmp_path)
    [fixed] = client_findings(tmp_path)

    assert (finding.state, fixed.state) == (state, "ok")
    assert detail in finding.detail


def test_every_kind_of_client_entry_is_understood(
    platform: Platform, tmp_path: Path, served: HttpClient
) -> None:
    cursor = _cursor_client()
    write_entry(cursor, platform, {"url": f"http://127.0.0.1:{served.port}/mcp"})
    [remote] = client_findings(tmp_path)
    write_entry(cursor, platform, {"command": sys.executable, "args": ["-m", "junto", "mcp"]})
    [module] = client_findings(tmp_path)
    write_entry(cursor, platform, {"command": "junto", "args": ["mcp"], "disabled": True})
    [disabled] = client_findings(tmp_path)
    file = write_entry(cursor, platform, {})
    file.write_text('{"mcpServers": {"junto": {')
    [truncated] = client_findings(tmp_path)

    assert (remote.state, "where Junto answers" in remote.detail) == ("ok", True)
    assert (module.state, "starts this Junto" in module.detail) == ("ok", True)
    assert (disabled.state, "switched off" in disabled.detail) == ("warning", True)
    assert (truncated.state, "is broken at line 1, column" in truncated.detail) == ("broken", True)


def test_the_project_configuration_of_a_client_is_checked_too(
    platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / ".cursor").mkdir(parents=True)
    (tmp_path / ".cursor").mkdir()
    entry = {"mcpServers": {"junto": {"command": "/opt/gone/junto", "args": ["mcp"]}}}
    (project / ".cursor" / "mcp.json").write_text(json.dumps(entry))
    monkeypatch.chdir(project)

    [finding] = client_findings(platform.home)

    assert finding.state == "broken"
    assert "`junto install cursor --scope project`" in finding.fix


def test_checking_a_missing_state_directory_does_not_create_it(tmp_path: Path) -> None:
    [finding] = system.check_state_dir(check_context(tmp_path))

    assert "(made at the first use)" in finding.detail
    assert not (tmp_path / "state").exists()


def test_the_sandbox_is_tried_on_this_machine(tmp_path: Path) -> None:
    (finding,) = tools.check_sandbox(check_context(tmp_path))

    assert (finding.state, finding.detail.partition(";")[0]) == ("ok", "commands are confined")


def test_a_sandbox_that_is_switched_off_is_reported(tmp_path: Path) -> None:
    (finding,) = tools.check_sandbox(check_context(tmp_path, JUNTO_TOOLS_CONFINE="false"))

    assert (finding.state, finding.detail) == ("warning", "switched off (tools.confine)")
