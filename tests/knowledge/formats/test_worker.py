"""The process that reads files: what is too much for it, what it may do, and its end."""

import asyncio
import contextlib
import io
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.domain.errors import CancelledCallError, ExecutionError
from junto.knowledge.formats.frames import LENGTHS, header_of, lengths, packed, received
from junto.knowledge.formats.readable import UnreadableError
from junto.knowledge.formats.service import Formats
from tests.knowledge.documents import pdf
from tests.processes import until

PROGRAM = "junto.knowledge.formats.child"
# Some seconds of work, for a child that is to be interrupted.
SLOW = b"<p>x" * 2_000_000


def deflated_twice(size: int) -> bytes:
    """Return a page whose content is so large, in a file that is not."""
    shown = zlib.compress(zlib.compress(b"BT /F1 12 Tf (x) Tj ET" + b" " * size, 9), 9)
    plain = pdf(["@"])
    start, end = plain.index(b"<< /Length"), plain.index(b"endstream")
    head = b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n" % len(shown)
    return plain[:start] + head + shown + b"\n" + plain[end:]


async def test_a_file_that_takes_too_long_holds_up_nothing_else() -> None:
    async with Formats(seconds=0.5) as formats:
        for _ in range(2):
            with pytest.raises(UnreadableError, match=r"takes longer than 0\.5 s to read"):
                await formats.read("slow.html", SLOW)
            assert readers() == []
        assert (await formats.read("a.csv", b"a,b\n1,2")).text == "a: 1; b: 2"


async def test_a_file_that_takes_too_much_memory_holds_up_nothing_else() -> None:
    async with Formats(memory=200 * 1024**2) as formats:
        assert (await formats.read("a.json", b"[1]")).text == "- 1"
        with pytest.raises(UnreadableError, match="takes too much memory to read"):
            await formats.read("a.json", b"[" + b"[]," * 3_000_000 + b"1]")
        assert (await formats.read("a.json", b"[1]")).text == "- 1"


async def test_a_file_that_breaks_its_reader_holds_up_nothing_else() -> None:
    async with Formats(memory=128 * 1024**2) as formats:
        assert (await formats.read("a.pdf", pdf(["x"]))).text == "x"
        with pytest.raises(UnreadableError, match="breaks what reads it"):
            await formats.read("a.pdf", deflated_twice(200_000_000))
        assert (await formats.read("a.pdf", deflated_twice(2000))).text == "x"


async def test_a_reader_that_cannot_start_is_not_a_file_that_cannot_be_read() -> None:
    async with Formats(memory=8 * 1024**2) as formats:
        with pytest.raises(ExecutionError, match="does not start"):
            await formats.read("a.html", b"x")

        assert readers() == []
        assert (await formats.read("a.txt", b"x")).text == "x"


@given(st.dictionaries(st.text(), st.text() | st.none()), st.binary())
def test_what_is_sent_is_what_arrives(header: dict[str, str | None], body: bytes) -> None:
    sent = io.BytesIO(packed(header, body) + body)

    assert received(sent) == (header, body)
    assert received(sent) is None


@pytest.mark.parametrize("words", [b"", b"[]", b"{", b"\xff"])
def test_what_makes_no_sense_is_no_header(words: bytes) -> None:
    with pytest.raises(ValueError, match=r"no header|Expecting|decode"):
        header_of(words)


def test_nobody_waits_for_more_than_is_ever_sent() -> None:
    with pytest.raises(ValueError, match="too long"):
        lengths(b"\xff" * LENGTHS)


async def test_a_file_is_not_blamed_for_a_reader_that_dies_of_something_else() -> None:
    async with Formats() as formats:
        await formats.read("a.html", b"x")
        [reader] = readers()
        os.kill(reader, 9)

        assert (await formats.read("b.html", b"y")).text == "y"


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("times", [1, 2])
async def test_cancelled_reading_leaves_no_process(times: int, *, begun: bool) -> None:
    async with Formats() as formats:
        if begun:
            await formats.read("a.html", b"x")
        reading = asyncio.create_task(formats.read("slow.html", SLOW))
        await eventually(lambda: any(map(works, readers())) if begun else bool(readers()))
        for _ in range(times):
            reading.cancel()
            await asyncio.sleep(0)

        with pytest.raises(asyncio.CancelledError):
            await reading
        await eventually(lambda: readers() == [])
        assert (await formats.read("a.html", b"x")).text == "x"


@pytest.mark.parametrize("begun", [True, False])
async def test_closing_ends_what_is_being_read(*, begun: bool) -> None:
    async with Formats() as formats:
        if begun:
            await formats.read("a.html", b"x")
        reading = asyncio.create_task(formats.read("slow.html", SLOW))
        await eventually(lambda: any(map(works, readers())) if begun else bool(readers()))

    assert readers() == []
    with pytest.raises(CancelledCallError):
        await reading


async def test_the_reader_knows_nothing_of_us_and_cannot_get_more() -> None:
    async with Formats() as formats:
        await formats.read("a.html", b"x")
        [reader] = readers()
        variables, opened, status = facts(reader)

    assert variables <= {"PYTHONPATH", "LANG", ""}
    assert all(name.startswith(("pipe:", "/dev/null", "socket:")) for name in opened)
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status


def facts(pid: int) -> tuple[set[str], set[str], str]:
    """Return the variables of a process, what it has open, and what the kernel says of it."""
    process = Path(f"/proc/{pid}")
    variables = (process / "environ").read_bytes().decode().split("\0")
    opened = {str(link.readlink()) for link in (process / "fd").iterdir()}
    return {each.partition("=")[0] for each in variables}, opened, (process / "status").read_text()


def works(pid: int) -> bool:
    """Return whether a process has used more of the processor than a start and a page take."""
    with contextlib.suppress(OSError):
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]
        return int(ticks) / os.sysconf("SC_CLK_TCK") > 0.3
    return False


async def eventually(condition: Callable[[], bool]) -> None:
    assert await asyncio.to_thread(until, condition)


def readers() -> list[int]:
    """Return the processes of ours that read files."""
    found, parents = [], dict[int, int]()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        parents[int(entry.name)] = int(parent)
        if PROGRAM in words and state != "Z":
            found.append(int(entry.name))
    return [pid for pid in found if os.getpid() in _above(pid, parents)]


def _above(pid: int, parents: dict[int, int]) -> list[int]:
    above = [pid]
    while (parent := parents.get(above[-1], 0)) > 0:
        above.append(parent)
    return above
