"""A program that reads files of one format after another, and may be ended at any time.

What it is given comes from anywhere. It has a bound of memory and sees nothing but Python's own
folders; whoever asks it holds the clock. Frames come on standard input:

    {"reader": "pdf", "codec": null} and the bytes of a file

and go to standard output, one for each, after an empty one that says that it is ready:

    {"title": …} and the text, or {"problem": …}, or {"exhausted": true}, with which it ends
"""

import gc
import importlib
import os
import sys
from typing import Any

from junto.knowledge.formats.frames import packed, received
from junto.knowledge.formats.readable import UnreadableError, one_line, whole

# Where the readers are; each is imported, with its libraries, when it is asked for.
_READERS = {
    "html": ("pages", "read"),
    "pdf": ("pdf", "read"),
    "docx": ("word", "read"),
    "epub": ("books", "read"),
    "csv": ("tables", "read"),
    "tsv": ("tables", "read_tabs"),
    "json": ("data", "read"),
    "jsonl": ("data", "read_lines"),
    "notebook": ("notebooks", "read"),
}
_GARBAGE = 20_000
_NEEDED = "{} files need: pip install 'junto[documents]'"


def main() -> None:
    """Answer until nobody asks any more."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what a library prints is no answer
        os.dup2(nowhere, stream)
    # Looking for garbage amid a document takes longer than reading it; it is done in between.
    gc.disable()
    answers.write(packed({}))
    answers.flush()
    while (question := received(sys.stdin.buffer)) is not None:
        header, body = answered(*question)
        del question  # it may be large, and the next one comes while this name would hold it
        answers.write(packed(header, body))
        answers.write(body)
        answers.flush()
        if "exhausted" in header:
            return
        if gc.get_count()[0] > _GARBAGE:
            gc.collect()


def answered(header: dict[str, Any], content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return what comes of a question, in the form of a frame."""
    reader, codec = header["reader"], header.get("codec")
    try:
        if reader == "guess":
            from junto.knowledge.formats.decoding import guessed

            return {"codec": guessed(content)}, b""
        module, function = _READERS[reader]
        found = importlib.import_module(f"junto.knowledge.formats.{module}")
        parsed = getattr(found, function)(content, codec)
        title = one_line(parsed.title) if parsed.title else None
        return {"title": title}, _encoded(parsed.text)
    except UnreadableError as error:
        return {"problem": error.message}, b""
    except ImportError:
        return {"problem": _NEEDED.format(reader.upper())}, b""
    except (MemoryError, SystemError):  # some libraries say the one for the other
        return {"exhausted": True}, b""
    except Exception:  # noqa: BLE001 - there is no end to what a library may make of such bytes
        return {"problem": f"a broken {reader.upper()}"}, b""


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return whole(text).encode()


if __name__ == "__main__":
    main()
