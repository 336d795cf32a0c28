"""Bytes as text, whichever alphabet it is written in."""

import codecs

from junto.domain.alphabets import codec, declared
from junto.knowledge.formats.readable import BinaryError

# How much is looked at to tell a text from something else, and to tell its alphabet.
_LOOK, _SAMPLE = 8192, 64 * 1024
# A text has few of these: control characters but blanks, line ends, backspace and escape.
_CONTROLS = bytes({*range(32), 127} - {8, 9, 10, 12, 13, 27})
_MOST_CONTROLS = 0.05
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before that of UTF-16, which it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# These look like ASCII to who is not told.
_SEVEN_BITS = ("iso2022", "hz")
# What old texts are written in; more names only make a guess slower and worse.
_LIKELY = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "cp866",
    "cp437", "mac_roman", "big5", "gb18030", "cp932", "euc_jp", "cp949", "cp874",
]  # fmt: skip
FALLBACK = "cp1252"


def check_text(content: bytes) -> None:
    """Refuse bytes that are no text.

    Raises:
        BinaryError: they are none.
    """
    if _marked(content):
        return
    start = content[:_LOOK]
    controls = len(start) - len(start.translate(None, _CONTROLS))
    if controls and (b"\0" in start or controls > _MOST_CONTROLS * len(start)):
        raise BinaryError("a binary file")


def decoded(content: bytes, named: str | None) -> str | None:
    """Return bytes as text, if that is certain; `named` is the codec that they are said to need."""
    if mark := _marked(content):
        return content.decode(mark, "replace")
    if named and named.startswith(_SEVEN_BITS):
        return content.decode(named, "replace")
    try:
        # First, whatever is said: what can be read so by chance is too short to matter.
        return content.decode()
    except UnicodeDecodeError:
        return content.decode(named, "replace") if named else None


def decoded_page(content: bytes, named: str | None) -> str:
    """Return the text of a page, which may say itself what it is written in."""
    own = declared(content[:_LOOK].decode("ascii", "ignore"))
    return decoded_anyhow(content, named or own)


def decoded_anyhow(content: bytes, named: str | None) -> str:
    """Return bytes as text, by a guess if need be."""
    text = decoded(content, named)
    return content.decode(guessed(content), "replace") if text is None else text


def guessed(content: bytes) -> str:
    """Return the codec that bytes probably need, which are not UTF-8."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return FALLBACK
    best = from_bytes(_sample(content), cp_isolation=_LIKELY).best()
    return (codec(best.encoding) if best else None) or FALLBACK


def _marked(content: bytes) -> str | None:
    return next((name for mark, name in _MARKS if content.startswith(mark)), None)


def _sample(content: bytes) -> bytes:
    """Return a part with letters that tell, from the beginning of a line to the end of one."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        start = content.rfind(b"\n", 0, error.start) + 1
        # A letter cut in half at the end would rule its alphabet out.
        start = max(start, error.start - _SAMPLE // 2)
        sample = content[start : start + _SAMPLE]
        if start + _SAMPLE < len(content):
            sample = sample[: sample.rfind(b"\n") + 1] or sample[: sample.rfind(b" ") + 1] or sample
        return sample
    return content[:_SAMPLE]
