"""The worker process that parses files: its limits, its privileges and its end."""

import asyncio
import io
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.domain.errors import CancelledCallError, ExecutionError
from junto.knowledge.formats.frames import (
    PREFIX_BYTES,
    decode_header,
    decode_prefix,
    encode_header,
    read_frame,
)
from junto.knowledge.formats.parser import DocumentParser
from junto.knowledge.formats.text import UnreadableFileError
from tests.event_loop import poll_until, yield_to_tasks
from tests.knowledge.sample_files import build_pdf
from tests.processes import read_cpu_seconds

WORKER_MODULE = "junto.knowledge.formats.worker_main"
# Takes seconds to parse, so that a worker can be interrupted.
SLOW_PAGE = b"<p>x" * 2_000_000


def build_double_deflated_pdf(size: int) -> bytes:
    """Return a small PDF whose page unpacks to more than `size` bytes."""
    content = zlib.compress(zlib.compress(b"BT /F1 12 Tf (x) Tj ET" + b" " * size, 9), 9)
    plain = build_pdf(["@"])
    start, end = plain.index(b"<< /Length"), plain.index(b"endstream")
    header = b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n" % len(content)
    return plain[:start] + header + content + b"\n" + plain[end:]


async def test_a_file_that_takes_too_long_does_not_block_the_next_one() -> None:
    async with DocumentParser(timeout=0.5) as parser:
        for _ in range(2):
            with pytest.raises(UnreadableFileError, match=r"takes longer than 0\.5 s to read"):
                await parser.parse("slow.html", SLOW_PAGE)
            assert find_workers() == []
        assert (await parser.parse("a.csv", b"a,b\n1,2")).text == "a: 1; b: 2"


async def test_a_file_that_takes_too_much_memory_does_not_block_the_next_one() -> None:
    async with DocumentParser(max_memory_bytes=200 * 1024**2) as parser:
        assert (await parser.parse("a.json", b"[1]")).text == "- 1"
        with pytest.raises(UnreadableFileError, match="takes too much memory to read"):
            await parser.parse("a.json", b"[" + b"[]," * 3_000_000 + b"1]")
        assert (await parser.parse("a.json", b"[1]")).text == "- 1"


async def test_a_file_that_crashes_the_worker_does_not_block_the_next_one() -> None:
    async with DocumentParser(max_memory_bytes=128 * 1024**2) as parser:
        assert (await parser.parse("a.pdf", build_pdf(["x"]))).text == "x"
        with pytest.raises(UnreadableFileError, match="breaks what reads it"):
            await parser.parse("a.pdf", build_double_deflated_pdf(200_000_000))
        assert (await parser.parse("a.pdf", build_double_deflated_pdf(2000))).text == "x"


async def test_a_worker_that_cannot_start_is_not_reported_as_an_unreadable_file() -> None:
    async with DocumentParser(max_memory_bytes=8 * 1024**2) as parser:
        with pytest.raises(ExecutionError, match="does not start"):
            await parser.parse("a.html", b"x")

        assert find_workers() == []
        assert (await parser.parse("a.txt", b"x")).text == "x"


@given(st.dictionaries(st.text(), st.text() | st.none()), st.binary())
def test_an_encoded_frame_is_read_back_unchanged(
    header: dict[str, str | None], body: bytes
) -> None:
    stream = io.BytesIO(encode_header(header, body) + body)

    assert read_frame(stream) == (header, body)
    assert read_frame(stream) is None


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff"])
def test_an_invalid_header_is_rejected(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no header|Expecting|decode"):
        decode_header(data)


def test_a_frame_that_claims_to_be_too_long_is_rejected() -> None:
    with pytest.raises(ValueError, match="too long"):
        decode_prefix(b"\xff" * PREFIX_BYTES)


async def test_a_file_is_parsed_although_an_idle_worker_was_killed() -> None:
    async with DocumentParser() as parser:
        await parser.parse("a.html", b"x")
        [worker] = find_workers()
        os.kill(worker, 9)

        assert (await parser.parse("b.html", b"y")).text == "y"


@pytest.mark.parametrize("has_worker", [True, False])
@pytest.mark.parametrize("times", [1, 2])
async def test_cancelling_a_parse_leaves_no_process(times: int, *, has_worker: bool) -> None:
    async with DocumentParser() as parser:
        if has_worker:
            await parser.parse("a.html", b"x")
        task = asyncio.create_task(parser.parse("slow.html", SLOW_PAGE))
        await poll_until(
            lambda: any(map(is_busy, find_workers())) if has_worker else bool(find_workers())
        )
        for _ in range(times):
            task.cancel()
            await yield_to_tasks()

        with pytest.raises(asyncio.CancelledError):
            await task
        await poll_until(lambda: find_workers() == [])
        assert (await parser.parse("a.html", b"x")).text == "x"


@pytest.mark.parametrize("has_worker", [True, False])
async def test_closing_the_parser_cancels_a_running_parse(*, has_worker: bool) -> None:
    async with DocumentParser() as parser:
        if has_worker:
            await parser.parse("a.html", b"x")
        task = asyncio.create_task(parser.parse("slow.html", SLOW_PAGE))
        await poll_until(
            lambda: any(map(is_busy, find_workers())) if has_worker else bool(find_workers())
        )

    assert find_workers() == []
    with pytest.raises(CancelledCallError):
        await task


async def test_the_worker_gets_no_secrets_files_or_privileges() -> None:
    async with DocumentParser() as parser:
        await parser.parse("a.html", b"x")
        [worker] = find_workers()
        variables, open_files, status = inspect_process(worker)

    assert variables <= {"PYTHONPATH", "LANG", ""}
    assert all(name.startswith(("pipe:", "/dev/null", "socket:")) for name in open_files)
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status


def inspect_process(pid: int) -> tuple[set[str], set[str], str]:
    """Return the environment variables of a process, its open files and its kernel status."""
    process = Path(f"/proc/{pid}")
    variables = (process / "environ").read_bytes().decode().split("\0")
    open_files = {str(link.readlink()) for link in (process / "fd").iterdir()}
    return (
        {variable.partition("=")[0] for variable in variables},
        open_files,
        (process / "status").read_text(),
    )


def is_busy(pid: int) -> bool:
    """Return whether a process has used more CPU time than starting and one page take."""
    return read_cpu_seconds(pid) > 0.3


def find_workers() -> list[int]:
    """Return the worker processes that this process started."""
    found, parents = [], dict[int, int]()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        parents[int(entry.name)] = int(parent)
        if WORKER_MODULE in words and state != "Z":
            found.append(int(entry.name))
    return [pid for pid in found if os.getpid() in _find_ancestors(pid, parents)]


def _find_ancestors(pid: int, parents: dict[int, int]) -> list[int]:
    ancestors = [pid]
    while (parent := parents.get(ancestors[-1], 0)) > 0:
        ancestors.append(parent)
    return ancestors
