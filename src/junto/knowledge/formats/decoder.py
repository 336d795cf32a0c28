"""Decoding of bytes to text in any charset."""

import codecs

from junto.knowledge.formats.text import BinaryFileError
from junto.text.charsets import find_declared_codec, resolve_codec

# Bytes examined to recognise binary content, and to guess the charset.
_SNIFF_BYTES, _SAMPLE_BYTES = 8192, 64 * 1024
# Control characters that are rare in text: all but whitespace, backspace and escape.
_CONTROL_BYTES = bytes({*range(32), 127} - {8, 9, 10, 12, 13, 27})
_MAX_CONTROL_RATIO = 0.05
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Content in these codecs is valid ASCII, too.
_SEVEN_BIT_CODECS = ("iso2022", "hz")
# Charsets of old texts; more candidates only make guesses slower and worse.
_CANDIDATE_CODECS = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "cp866",
    "cp437", "mac_roman", "big5", "gb18030", "cp932", "euc_jp", "cp949", "cp874",
]  # fmt: skip
FALLBACK_CODEC = "cp1252"


def check_text(content: bytes) -> None:
    """Reject content that is not text.

    Raises:
        BinaryFileError: the content is binary.
    """
    if _detect_byte_order_mark(content):
        return
    start = content[:_SNIFF_BYTES]
    controls = len(start) - len(start.translate(None, _CONTROL_BYTES))
    if controls and (b"\0" in start or controls > _MAX_CONTROL_RATIO * len(start)):
        raise BinaryFileError("a binary file")


def try_decode(content: bytes, declared_codec: str | None) -> str | None:
    """Return the content as text, or None if it is not UTF-8 and no codec is declared."""
    if mark := _detect_byte_order_mark(content):
        return content.decode(mark, "replace")
    if declared_codec and declared_codec.startswith(_SEVEN_BIT_CODECS):
        return content.decode(declared_codec, "replace")
    try:
        # UTF-8 comes before a declared codec: only very short texts are valid UTF-8 by chance.
        return content.decode()
    except UnicodeDecodeError:
        return content.decode(declared_codec, "replace") if declared_codec else None


def decode_html(content: bytes, declared_codec: str | None) -> str:
    """Return the text of a page, which may declare its own charset."""
    page_codec = find_declared_codec(content[:_SNIFF_BYTES].decode("ascii", "ignore"))
    return decode_or_guess(content, declared_codec or page_codec)


def decode_or_guess(content: bytes, declared_codec: str | None) -> str:
    """Return the content as text, guessing the codec if necessary."""
    text = try_decode(content, declared_codec)
    return content.decode(guess_codec(content), "replace") if text is None else text


def guess_codec(content: bytes) -> str:
    """Return the probable codec of content that is not UTF-8."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return FALLBACK_CODEC
    best = from_bytes(_extract_sample(content), cp_isolation=_CANDIDATE_CODECS).best()
    return (resolve_codec(best.encoding) if best else None) or FALLBACK_CODEC


def _detect_byte_order_mark(content: bytes) -> str | None:
    return next((name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), None)


def _extract_sample(content: bytes) -> bytes:
    """Return complete lines around the first bytes that are not UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        start = content.rfind(b"\n", 0, error.start) + 1
        start = max(start, error.start - _SAMPLE_BYTES // 2)
        sample = content[start : start + _SAMPLE_BYTES]
        # A character cut in half at the end would rule out its charset.
        if start + _SAMPLE_BYTES < len(content):
            sample = sample[: sample.rfind(b"\n") + 1] or sample[: sample.rfind(b" ") + 1] or sample
        return sample
    return content[:_SAMPLE_BYTES]
