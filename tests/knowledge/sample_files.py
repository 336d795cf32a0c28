"""Documents of many formats, made for tests."""

import io
import zipfile
from collections.abc import Mapping, Sequence

import docx

CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>"""
PAGE = "/MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"


def pdf(*pages: Sequence[str], title: str | None = None) -> bytes:
    """Return a PDF whose pages have these lines."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
        stream = f"BT /F1 12 Tf 72 720 Td {shown} ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /Contents {5 + 2 * number} 0 R {PAGE} >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    if title is not None:
        objects.append(f"<< /Title ({title}) >>")
    return laid_out(objects, info=title is not None)


def laid_out(objects: Sequence[str], *, info: bool = False, trailer: str = "") -> bytes:
    """Return a PDF of these objects; the last one describes it, if `info` says so."""
    made, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n{each}\nendobj\n".encode()
    size = len(objects) + 1
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    described = f"/Info {size - 1} 0 R" if info else ""
    end = (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {size} /Root 1 0 R {described} {trailer} >>\n"
        f"startxref\n{len(made)}\n%%EOF\n"
    )
    return made + end.encode()


def zipped(files: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of these files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files.items():
            plain = zipfile.ZIP_STORED if name == "mimetype" else method
            archive.writestr(name, content, plain)
    return made.getvalue()


def epub(chapters: Mapping[str, str], title: str = "A Book", **files: str) -> bytes:
    """Return a book with these chapters, by name; the names of other files have _ for their /."""
    items = "".join(f'<item id="{name}" href="{name}.xhtml"/>' for name in chapters)
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OEBPS/book.opf": package,
            **{f"OEBPS/{name}.xhtml": text for name, text in chapters.items()},
            **{name.replace("_", "/", 1): text for name, text in files.items()},
        }
    )


def word() -> bytes:
    """Return a Word file with a little of everything."""
    document = docx.Document()
    document.core_properties.title = "The  Plan"
    document.add_heading("Our plan", 0)
    document.add_heading("First", 1)
    document.add_paragraph("# Said\tin passing")
    document.add_paragraph("an item", style="List Bullet")
    table = document.add_table(2, 2)
    for cell, words in zip([*table.rows[0].cells, table.rows[1].cells[1]], "ABD", strict=True):
        cell.text = words
    document.add_heading("Deep", 2)
    document.add_paragraph("The end.")
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def with_part(document: bytes, part: str, name: str = "word/document.xml") -> bytes:
    """Return a packed document with another text in it."""
    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        files: dict[str, str | bytes] = {each: archive.read(each) for each in archive.namelist()}
    return zipped(files | {name: part})
