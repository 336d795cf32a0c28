"""Local files as tools (read, write, info, delete, list) and a resource template."""

import asyncio
import base64
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Self
from urllib.parse import unquote

from mcp_types import CallToolResult, ImageContent, TextContent
from pydantic import Field
from typing_extensions import override

from junto.domain.errors import InputOutputError, NotFoundError
from junto.local_tools.files import FileInfo, LocalFiles
from junto.settings.enums import ToolAccess
from junto.tools.base import Arguments, Result
from junto.tools.content_parts import detect_media_type
from junto.tools.resources import ResourceTemplate
from junto.tools.result_paging import TextSlice
from junto.tools.services import ToolServices
from junto.tools.tool import READ_ONLY_HINTS, CallContext, Group, Hints, Tool, ToolOutput

_PAGE_SIZE = 200
_URI_SCHEME = "file://"
_WRITE_HINTS = Hints(read_only=False, destructive=True, idempotent=True, open_world=False)


def build_tools(services: ToolServices) -> Iterator[Tool[Any]]:
    """Yield the tools of this module."""
    files = LocalFiles(services.roots)
    yield build_read_file_tool(files, services.settings.jobs.reply_bytes)
    yield build_list_files_tool(files)
    yield build_get_file_info_tool(files)
    yield build_write_file_tool(files)
    yield build_delete_file_tool(files)


def build_file_template(files: LocalFiles) -> ResourceTemplate:
    """Build the resource template for files beneath the allowed directories."""

    async def read(uri: str) -> str | bytes | None:
        if not uri.startswith(_URI_SCHEME):
            return None
        path = unquote(uri.removeprefix(_URI_SCHEME))
        try:
            data = await asyncio.to_thread(files.read, path)
        except NotFoundError:
            return None
        return (
            data
            if _detect_image_type(data) or b"\0" in data[:8192]
            else data.decode("utf-8", "replace")
        )

    return ResourceTemplate(
        uri_template=f"{_URI_SCHEME}/{{path}}",
        name="file",
        title="File",
        description="A file beneath the allowed folders.",
        read=read,
        mime_type="text/plain",
    )


class PathArguments(Arguments):
    """Arguments of tools that take the path of a file."""

    path: str = Field(description="Path in an allowed folder.")


class ReadFileArguments(PathArguments):
    """Arguments of `read_file`."""

    offset: int = Field(0, ge=0, description="Number of lines to skip.")
    limit: int | None = Field(None, ge=1, description="Maximum number of lines.")


class ReadFileResult(Result):
    """Result of `read_file`."""

    text_fields = frozenset({"content"})

    path: str
    content: str
    offset: int
    lines: int
    next_offset: int | None = None
    truncated: bool | None = None

    @override
    def text(self) -> str:
        """Return the content, then how to read the rest, if there is one."""
        if not self.lines:
            return f"[{self.path} is empty.]"
        if self.offset >= self.lines:
            return f"[Offset {self.offset} is past the end: {self.path} has {self.lines} lines.]"
        shown = f"Lines {self.offset + 1} to {self.next_offset or self.lines} of {self.lines}"
        if self.truncated:
            return (
                f"{self.content}\n[Line {self.offset + 1} of {self.lines} is cut. To get all of "
                "it, pass limit 1.]"
            )
        if self.next_offset is not None:
            end = "" if self.content.endswith("\n") else "\n"
            return f"{self.content}{end}[{shown}. For more, pass offset {self.next_offset}.]"
        return self.content


def build_read_file_tool(files: LocalFiles, max_reply_bytes: int) -> Tool[ReadFileArguments]:
    """Build the `read_file` tool, which returns text or an image."""

    async def run(arguments: ReadFileArguments, _call: CallContext) -> ToolOutput:
        data = await asyncio.to_thread(files.read, arguments.path)
        if mime_type := _detect_image_type(data):
            metadata = {"path": arguments.path, "mimeType": mime_type, "size": len(data)}
            return CallToolResult(
                content=[
                    TextContent(text=f"{arguments.path}: {mime_type}, {len(data):,} bytes"),
                    ImageContent(data=base64.b64encode(data).decode(), mime_type=mime_type),
                ],
                structured_content=metadata,
            )
        return _select_lines(arguments, _decode_text(data, arguments.path), max_reply_bytes)

    return Tool(
        name="read_file",
        title="Read file",
        description=(
            "Read a text file or an image in the allowed folders. Long files come in parts: "
            "continue with offset. For a folder, use `list_files`."
        ),
        group=Group.KIT,
        arguments=ReadFileArguments,
        result=ReadFileResult,
        run=run,
        hints=READ_ONLY_HINTS,
        access=ToolAccess.READ,
        instructions="The file tools work only in the allowed folders.",
    )


def _detect_image_type(data: bytes) -> str | None:
    kind = detect_media_type(data)
    return kind if kind and kind.startswith("image/") else None


def _decode_text(data: bytes, path: str) -> str:
    """Decode the content of a text file.

    Raises:
        InputOutputError: the file is not text.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:8192]:
        raise InputOutputError(f"{path} is not a text file ({len(data):,} bytes of binary data).")
    return data.decode("utf-8-sig", "replace")


def _select_lines(arguments: ReadFileArguments, text: str, max_bytes: int) -> ReadFileResult:
    """Return the requested lines; without `limit`, as many as fit into `max_bytes`."""
    lines = list(io.StringIO(text, newline=""))  # split at \n, \r\n and \r, and nowhere else
    start, end = arguments.offset, len(lines)
    if arguments.limit is not None:
        end = min(end, start + arguments.limit)
    selected = lines[start:end]
    truncated = False
    if arguments.limit is None:
        bytes_left, count = max_bytes, 0
        while (
            count < len(selected)
            and (bytes_left := bytes_left - len(selected[count].encode())) >= 0
        ):
            count += 1
        selected = selected[: max(count, 1)]
        truncated = bool(selected) and len(selected[0].encode()) > max_bytes
        if truncated:
            selected = [TextSlice.from_text(selected[0], 0, max_bytes).text]
    next_offset = start + len(selected)
    return ReadFileResult(
        path=arguments.path,
        content="".join(selected),
        offset=start,
        lines=len(lines),
        next_offset=next_offset if next_offset < len(lines) else None,
        truncated=truncated or None,
    )


class WriteFileArguments(PathArguments):
    """Arguments of `write_file`."""

    content: str = Field(description="The whole new content.")


class FileInfoResult(Result):
    """Result of `get_file_info`, and one file in a list."""

    path: str
    kind: str
    size: int
    modified: str
    mode: str

    @classmethod
    def from_details(cls, details: FileInfo) -> Self:
        """Return the result for `details`."""
        try:
            modified = datetime.fromtimestamp(details.modified, UTC).isoformat(timespec="seconds")
        except (ValueError, OverflowError, OSError):  # the year is out of range
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
        """Return mode, size, time and path as one line."""
        return f"{self.mode} {self.size:>10} {self.modified} {self.path}"


class WriteFileResult(FileInfoResult):
    """Result of `write_file`."""

    @override
    def text(self) -> str:
        """Return what was written."""
        return f"Wrote {self.size:,} bytes to {self.path}."


def build_write_file_tool(files: LocalFiles) -> Tool[WriteFileArguments]:
    """Build the `write_file` tool."""

    async def run(arguments: WriteFileArguments, _call: CallContext) -> WriteFileResult:
        content = arguments.content.encode("utf-8", "replace")
        return WriteFileResult.from_details(
            await asyncio.to_thread(files.write, arguments.path, content)
        )

    return Tool(
        name="write_file",
        title="Write file",
        description=(
            "Create a text file, or replace its whole content. Missing folders are created."
        ),
        group=Group.KIT,
        arguments=WriteFileArguments,
        result=WriteFileResult,
        run=run,
        hints=_WRITE_HINTS,
        access=ToolAccess.ALL,
    )


def build_get_file_info_tool(files: LocalFiles) -> Tool[PathArguments]:
    """Build the `get_file_info` tool."""

    async def run(arguments: PathArguments, _call: CallContext) -> FileInfoResult:
        return FileInfoResult.from_details(await asyncio.to_thread(files.get_info, arguments.path))

    return Tool(
        name="get_file_info",
        title="File info",
        description="Get the kind, size, time and permissions of a file or folder.",
        group=Group.KIT,
        arguments=PathArguments,
        result=FileInfoResult,
        run=run,
        hints=READ_ONLY_HINTS,
        access=ToolAccess.READ,
    )


class DeleteFileResult(Result):
    """Result of `delete_file`."""

    path: str
    deleted: bool

    @override
    def text(self) -> str:
        """Return a confirmation."""
        return f"Deleted {self.path}."


def build_delete_file_tool(files: LocalFiles) -> Tool[PathArguments]:
    """Build the `delete_file` tool."""

    async def run(arguments: PathArguments, _call: CallContext) -> DeleteFileResult:
        await asyncio.to_thread(files.delete, arguments.path)
        return DeleteFileResult(path=arguments.path, deleted=True)

    return Tool(
        name="delete_file",
        title="Delete file",
        description="Delete one file. Folders are not deleted.",
        group=Group.KIT,
        arguments=PathArguments,
        result=DeleteFileResult,
        run=run,
        hints=_WRITE_HINTS,
        access=ToolAccess.ALL,
    )


class ListFilesArguments(Arguments):
    """Arguments of `list_files`."""

    path: str = Field(".", description="Folder to list.")
    recursive: bool = Field(default=False, description="Include subfolders.")
    glob: str | None = Field(None, max_length=200, description="Only names like this, such as *.py")
    cursor: int = Field(0, ge=0, description="Cursor from the previous page.")


class ListFilesResult(Result):
    """Result of `list_files`."""

    files: list[FileInfoResult]
    cursor: int | None = None
    notice: str | None = None

    @override
    def text(self) -> str:
        """Return one line per file."""
        lines = [each.text() for each in self.files] or ["No files match."]
        more = [f"[For more, pass cursor {self.cursor}.]"] if self.cursor is not None else []
        return "\n".join([*lines, *more, *filter(None, [self.notice])])


def build_list_files_tool(files: LocalFiles) -> Tool[ListFilesArguments]:
    """Build the `list_files` tool."""

    async def run(arguments: ListFilesArguments, _call: CallContext) -> ListFilesResult:
        listing = await asyncio.to_thread(
            files.list_directory,
            arguments.path,
            recursive=arguments.recursive,
            glob=arguments.glob,
            offset=arguments.cursor,
            limit=_PAGE_SIZE,
        )
        notice = (
            "There are too many files to list all of them. List a subfolder instead."
            if listing.truncated
            else None
        )
        return ListFilesResult(
            files=[FileInfoResult.from_details(each) for each in listing.entries],
            cursor=listing.next_offset,
            notice=notice,
        )

    return Tool(
        name="list_files",
        title="List files",
        description="List the files and folders in a folder, in pages.",
        group=Group.KIT,
        arguments=ListFilesArguments,
        result=ListFilesResult,
        run=run,
        hints=READ_ONLY_HINTS,
        access=ToolAccess.READ,
    )
