"""The tools of the group kit that read, write, list and delete files."""

import asyncio
import base64
from datetime import UTC, datetime
from urllib.parse import unquote

from mcp_types import CallToolResult, ImageContent, TextContent
from pydantic import Field
from typing_extensions import override

from junto.domain.errors import InputOutputError, NotFoundError
from junto.kit.files import Details, Files
from junto.tools.resources import Template
from junto.tools.slices import Slice
from junto.tools.tool import (
    HARMLESS,
    Answer,
    Arguments,
    Call,
    Group,
    Hints,
    Result,
    Tool,
)

_PAGE = 200
_SCHEME = "file://"
_WRITING = Hints(read_only=False, destructive=True, idempotent=True, open_world=False)
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def file_template(files: Files) -> Template:
    """Return the resources that show files."""

    async def read(uri: str) -> str | bytes | None:
        if not uri.startswith(_SCHEME):
            return None
        path = unquote(uri.removeprefix(_SCHEME))
        try:
            data = await asyncio.to_thread(files.read, path)
        except NotFoundError:
            return None
        return data if _image(data) or b"\0" in data[:8192] else data.decode("utf-8", "replace")

    return Template(
        uri_template=f"{_SCHEME}/{{path}}",
        name="file",
        title="File",
        description="A file beneath the allowed folders.",
        read=read,
        mime_type="text/plain",
    )


class PathArguments(Arguments):
    """Arguments that name a file."""

    path: str


class ReadArguments(PathArguments):
    """Arguments of `read_file`."""

    offset: int = Field(0, ge=0, description="Lines to skip.")
    limit: int | None = Field(None, ge=1)


class FileText(Result):
    """Result of `read_file`."""

    path: str
    content: str
    lines: int
    next_offset: int | None = None
    truncated: bool | None = None

    @override
    def text(self) -> str:
        """Return what is in the file, then where to go on."""
        if self.truncated:
            return f"{self.content}\n[this line is longer, and was cut; limit shows all of it]"
        if self.next_offset is None:
            return self.content
        more = f"[{self.lines} lines in all; offset {self.next_offset} goes on]"
        return f"{self.content}\n{more}"


def read_file(files: Files, most_bytes: int) -> Tool[ReadArguments]:
    """Return the tool that reads a file: its text, or an image."""

    async def run(arguments: ReadArguments, _call: Call) -> Answer:
        data = await asyncio.to_thread(files.read, arguments.path)
        if kind := _image(data):
            facts = {"path": arguments.path, "mimeType": kind, "size": len(data)}
            return CallToolResult(
                content=[
                    TextContent(text=f"{arguments.path}: {kind}, {len(data):,} bytes"),
                    ImageContent(data=base64.b64encode(data).decode(), mime_type=kind),
                ],
                structured_content=facts,
            )
        found = _lines(arguments, _text(data, arguments.path), most_bytes)
        return _once(found) if len(found.content) > most_bytes else found

    return Tool(
        name="read_file",
        title="Read file",
        description="The text of a file, or an image.",
        group=Group.KIT,
        arguments=ReadArguments,
        result=FileText,
        run=run,
        hints=HARMLESS,
    )


def _image(data: bytes) -> str | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _IMAGES if data.startswith(magic)), None)


def _text(data: bytes, path: str) -> str:
    """Return the text in a file.

    Raises:
        InputOutputError: it is no text.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:8192]:
        raise InputOutputError(f"{path} is no text, but {len(data):,} bytes of something else.")
    return data.decode("utf-8-sig", "replace")


def _once(found: FileText) -> CallToolResult:
    """Return a text that is too long to be sent twice: the facts stand beside it."""
    facts = found.model_dump(by_alias=True, exclude_none=True, exclude={"content"})
    return CallToolResult(
        content=[TextContent(text=found.text())],
        structured_content={**facts, "notice": "The text is in the content, not here."},
    )


def _lines(arguments: ReadArguments, text: str, most_bytes: int) -> FileText:
    """Return the lines that were asked for; without a number, as many as clients show."""
    count = text.count("\n") + 1
    short = len(text) * 4 <= most_bytes
    if arguments.offset == 0 and (short if arguments.limit is None else arguments.limit >= count):
        return FileText(path=arguments.path, content=text, lines=count)
    lines = text.splitlines(keepends=True)
    last = len(lines)
    if arguments.limit is not None:
        last = min(last, arguments.offset + arguments.limit)
    wanted = lines[arguments.offset : last]
    cut = False
    if arguments.limit is None:
        room, count = most_bytes, 0
        while count < len(wanted) and (room := room - len(wanted[count].encode())) >= 0:
            count += 1
        wanted = wanted[: max(count, 1)]
        cut = bool(wanted) and len(wanted[0].encode()) > most_bytes
        if cut:
            wanted = [Slice.of(wanted[0], 0, most_bytes).text]
    following = arguments.offset + len(wanted)
    return FileText(
        path=arguments.path,
        content="".join(wanted),
        lines=len(lines),
        next_offset=following if following < len(lines) else None,
        truncated=cut or None,
    )


class WriteArguments(PathArguments):
    """Arguments of `write_file`."""

    content: str


class FileDetails(Result):
    """Result of `write_file` and `get_file_info`."""

    path: str
    kind: str
    size: int
    modified: str
    mode: str

    @classmethod
    def of(cls, details: Details) -> "FileDetails":
        """Return details as they are shown."""
        try:
            modified = datetime.fromtimestamp(details.modified, UTC).isoformat(timespec="seconds")
        except (ValueError, OverflowError, OSError):  # a year that no calendar has
            modified = str(details.modified)
        return cls(
            path=details.path,
            kind=details.kind,
            size=details.size,
            modified=modified,
            mode=details.mode,
        )

    @override
    def text(self) -> str:
        """Return it in a line."""
        return f"{self.mode} {self.size:>10} {self.modified} {self.path}"


def write_file(files: Files) -> Tool[WriteArguments]:
    """Return the tool that writes a file."""

    async def run(arguments: WriteArguments, _call: Call) -> FileDetails:
        content = arguments.content.encode("utf-8", "replace")
        return FileDetails.of(await asyncio.to_thread(files.write, arguments.path, content))

    return Tool(
        name="write_file",
        title="Write file",
        description="Write a text file; folders are made.",
        group=Group.KIT,
        arguments=WriteArguments,
        result=FileDetails,
        run=run,
        hints=_WRITING,
    )


def get_file_info(files: Files) -> Tool[PathArguments]:
    """Return the tool that tells about a file."""

    async def run(arguments: PathArguments, _call: Call) -> FileDetails:
        return FileDetails.of(await asyncio.to_thread(files.details, arguments.path))

    return Tool(
        name="get_file_info",
        title="File info",
        description="Kind, size, time and rights of a file.",
        group=Group.KIT,
        arguments=PathArguments,
        result=FileDetails,
        run=run,
        hints=HARMLESS,
    )


class Deleted(Result):
    """Result of `delete_file`."""

    path: str
    deleted: bool

    @override
    def text(self) -> str:
        """Say it."""
        return f"{self.path} is deleted."


def delete_file(files: Files) -> Tool[PathArguments]:
    """Return the tool that deletes a file."""

    async def run(arguments: PathArguments, _call: Call) -> Deleted:
        await asyncio.to_thread(files.delete, arguments.path)
        return Deleted(path=arguments.path, deleted=True)

    return Tool(
        name="delete_file",
        title="Delete file",
        description="Delete one file.",
        group=Group.KIT,
        arguments=PathArguments,
        result=Deleted,
        run=run,
        hints=_WRITING,
    )


class ListArguments(Arguments):
    """Arguments of `list_files`."""

    path: str = "."
    recursive: bool = False
    glob: str | None = Field(None, max_length=200, description="Such as *.py")
    cursor: int = Field(0, ge=0)


class FileList(Result):
    """Result of `list_files`."""

    files: list[FileDetails]
    cursor: int | None = None
    notice: str | None = None

    @override
    def text(self) -> str:
        """Return a line for each file."""
        lines = [each.text() for each in self.files] or ["There is nothing."]
        more = [f"[cursor {self.cursor} goes on]"] if self.cursor is not None else []
        return "\n".join([*lines, *more, *filter(None, [self.notice])])


def list_files(files: Files) -> Tool[ListArguments]:
    """Return the tool that lists a folder."""

    async def run(arguments: ListArguments, _call: Call) -> FileList:
        listed = await asyncio.to_thread(
            files.listed,
            arguments.path,
            recursive=arguments.recursive,
            glob=arguments.glob,
            first=arguments.cursor,
            limit=_PAGE,
        )
        cut = "There is more than is looked through; begin further down." if listed.cut else None
        return FileList(
            files=[FileDetails.of(each) for each in listed.entries],
            cursor=listed.following,
            notice=cut,
        )

    return Tool(
        name="list_files",
        title="List files",
        description="What is in a folder.",
        group=Group.KIT,
        arguments=ListArguments,
        result=FileList,
        run=run,
        hints=HARMLESS,
    )
