"""The alphabets that texts say they are written in, and the codecs that read them."""

import codecs
import re

_CHARSET = re.compile(r"charset\s{0,10}=\s{0,10}[\"']?([\w.:-]{1,40})", re.IGNORECASE)
# Python has codecs that are no alphabet; one takes quadratic time, another yields half characters.
_ALPHABETS = re.compile(
    r"utf-8|utf-8-sig|utf-(?:16|32)(?:-[bl]e)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|kz1048|ptcp154"
    r"|mac-\w+|tis-620|big5|big5hkscs|gb2312|gbk|gb18030|hz|shift_jis\w*|euc_\w+|iso2022_\w+|johab"
)
# What goes by the first name may hold more letters than it has, as every browser knows.
_WIDER = {
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


def declared(words: str) -> str | None:
    """Return the codec for the alphabet that a content type, or the head of a page, names."""
    found = _CHARSET.search(words)
    return codec(found[1]) if found else None


def codec(name: str) -> str | None:
    """Return the codec for the name of an alphabet, if it is one."""
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return _WIDER.get(known, known) if _ALPHABETS.fullmatch(known) else None
