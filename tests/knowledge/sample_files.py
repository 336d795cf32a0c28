"""Build small documents of many formats."""

import io
import zipfile
from collections.abc import Mapping, Sequence

import docx

CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>"""
PAGE_ENTRIES = "/MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"


def build_pdf(*pages: Sequence[str], title: str | None = None) -> bytes:
    """Return a PDF with these lines on each page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        operators = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
        stream = f"BT /F1 12 Tf 72 720 Td {operators} ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /Contents {5 + 2 * number} 0 R {PAGE_ENTRIES} >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    if title is not None:
        objects.append(f"<< /Title ({title}) >>")
    return build_pdf_from_objects(objects, info=title is not None)


def build_pdf_from_objects(
    objects: Sequence[str], *, info: bool = False, trailer: str = ""
) -> bytes:
    """Return a PDF of these objects; with `info`, the last one is its information dictionary."""
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n".encode()
    size = len(objects) + 1
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    info_entry = f"/Info {size - 1} 0 R" if info else ""
    end = (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {size} /Root 1 0 R {info_entry} {trailer} >>\n"
        f"startxref\n{len(data)}\n%%EOF\n"
    )
    return data + end.encode()


def build_zip(files: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            compression = zipfile.ZIP_STORED if name == "mimetype" else method
            archive.writestr(name, content, compression)
    return buffer.getvalue()


def build_epub(chapters: Mapping[str, str], title: str = "A Book", **files: str) -> bytes:
    """Return a book with these chapters, by name; the first _ in another file's name means /."""
    items = "".join(f'<item id="{name}" href="{name}.xhtml"/>' for name in chapters)
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    return build_zip(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OEBPS/book.opf": package,
            **{f"OEBPS/{name}.xhtml": text for name, text in chapters.items()},
            **{name.replace("_", "/", 1): text for name, text in files.items()},
        }
    )


def build_docx() -> bytes:
    """Return a Word file with a title, headings, a list and a table."""
    document = docx.Document()
    document.core_properties.title = "The  Plan"
    document.add_heading("Our plan", 0)
    document.add_heading("First", 1)
    document.add_paragraph("# Said\tin passing")
    document.add_paragraph("an item", style="List Bullet")
    table = document.add_table(2, 2)
    for cell, text in zip([*table.rows[0].cells, table.rows[1].cells[1]], "ABD", strict=True):
        cell.text = text
    document.add_heading("Deep", 2)
    document.add_paragraph("The end.")
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def replace_part(document: bytes, content: str, name: str = "word/document.xml") -> bytes:
    """Return a zipped document with the content of one file replaced."""
    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        files: dict[str, str | bytes] = {entry: archive.read(entry) for entry in archive.namelist()}
    return build_zip(files | {name: content})
