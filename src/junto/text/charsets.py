"""Resolution of declared charsets to Python codecs."""

import codecs
import re

_CHARSET_PATTERN = re.compile(r"charset\s{0,10}=\s{0,10}[\"']?([\w.:-]{1,40})", re.IGNORECASE)
# Only these codecs are accepted. Python also has codecs that are not charsets; one of them takes
# quadratic time, another yields lone surrogates.
_TEXT_CODECS_PATTERN = re.compile(
    r"utf-8|utf-8-sig|utf-(?:16|32)(?:-[bl]e)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|kz1048|ptcp154"
    r"|mac-\w+|tis-620|big5|big5hkscs|gb2312|gbk|gb18030|hz|shift_jis\w*|euc_\w+|iso2022_\w+|johab"
)
# Supersets to decode with, as browsers do: a declared charset is often narrower than the text.
_SUPERSET_CODECS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "big5": "big5hkscs",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}


def find_declared_codec(text: str) -> str | None:
    """Return the codec for the charset declared in a content type or at the start of a page."""
    match = _CHARSET_PATTERN.search(text)
    return resolve_codec(match[1]) if match else None


def resolve_codec(name: str) -> str | None:
    """Return the codec for a charset name, or None if it is not a known charset."""
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return _SUPERSET_CODECS.get(codec, codec) if _TEXT_CODECS_PATTERN.fullmatch(codec) else None
