"""The parser process: it parses one file after another, and may be killed at any time.

The files are untrusted. The process has a memory limit and can only read Python's own directories;
the caller enforces a timeout. Requests are frames on standard input:

    {"reader": "pdf", "codec": null} and the bytes of a file

Responses are frames on standard output, after an empty one that says that the process is ready:

    {"title": …} and the text, or {"problem": …}, or {"exhausted": true}, after which it exits
"""

import gc
import importlib
import os
import sys
from typing import Any

from junto.knowledge.formats.frames import encode_header, read_frame
from junto.knowledge.formats.text import UnreadableFileError, replace_surrogates, to_single_line

# Module and function of each parser, imported with its libraries on first use.
_PARSERS = {
    "html": ("html", "parse_html"),
    "pdf": ("pdf", "parse_pdf"),
    "docx": ("docx", "parse_docx"),
    "epub": ("html", "parse_epub"),
    "csv": ("csv_text", "parse_csv"),
    "tsv": ("csv_text", "parse_tsv"),
    "json": ("json_text", "parse_json"),
    "jsonl": ("json_text", "parse_json_lines"),
    "notebook": ("json_text", "parse_notebook"),
}
_GC_THRESHOLD_OBJECTS = 20_000
_INSTALL_HINT = "{} files need: pip install 'junto[documents]'"


def main() -> None:
    """Handle requests until standard input is closed."""
    output = os.fdopen(os.dup(1), "wb")
    devnull = os.open(os.devnull, os.O_WRONLY)
    for fd in (1, 2):  # keep what libraries print out of the responses
        os.dup2(devnull, fd)
    # Garbage collection during parsing takes longer than the parsing, so it runs between requests.
    gc.disable()
    output.write(encode_header({}))
    output.flush()
    while (request := read_frame(sys.stdin.buffer)) is not None:
        header, body = handle_request(*request)
        del request  # it may be large, and would stay alive until the next one is read
        output.write(encode_header(header, body))
        output.write(body)
        output.flush()
        if "exhausted" in header:
            return
        if gc.get_count()[0] > _GC_THRESHOLD_OBJECTS:
            gc.collect()


def handle_request(header: dict[str, Any], content: bytes) -> tuple[dict[str, Any], bytes]:
    """Parse a file, and return the header and body of the response."""
    parser_name, codec = header["reader"], header.get("codec")
    try:
        if parser_name == "guess":
            from junto.knowledge.formats.decoder import guess_codec

            return {"codec": guess_codec(content)}, b""
        module_name, function_name = _PARSERS[parser_name]
        parser_module = importlib.import_module(f"junto.knowledge.formats.{module_name}")
        result = getattr(parser_module, function_name)(content, codec)
        title = to_single_line(result.title) if result.title else None
        return {"title": title}, _encode_text(result.text)
    except UnreadableFileError as error:
        return {"problem": error.message}, b""
    except ImportError:
        return {"problem": _INSTALL_HINT.format(parser_name.upper())}, b""
    except (MemoryError, SystemError):  # some libraries raise the latter for the former
        return {"exhausted": True}, b""
    except Exception:  # noqa: BLE001 - libraries may raise anything on such content
        return {"problem": f"a broken {parser_name.upper()}"}, b""


def _encode_text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return replace_surrogates(text).encode()


if __name__ == "__main__":
    main()
