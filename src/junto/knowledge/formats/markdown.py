"""The little of Markdown that we write and look for: headings, and what must not look like one."""

import re

# A title stands near the beginning.
_LOOK = 20_000
_FRONT = re.compile(r"---[ \t]*\n(.{0,4000}?)\n---[ \t]*\n", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(\S.{0,300})", re.MULTILINE)
_HEADING = re.compile(
    r"^(?:[ ]{0,3}(?P<fence>```|~~~)|[ ]{0,3}#{1,6}[ \t]+(?P<marked>\S.{0,300})"
    r"|(?P<underlined>[^\s#>|-].{0,200})\n(?:={3,}|-{3,})[ \t]*$)",
    re.MULTILINE,
)
_MISTAKEN = re.compile(r"^([ \t]{0,3})(?=#{1,6}[ \t]|```|~~~)", re.MULTILINE)


def first_heading(text: str) -> str | None:
    """Return the title that a text in Markdown begins with."""
    start = text[:_LOOK].replace("\r\n", "\n")
    front = _FRONT.match(start)
    if front and (found := _FRONT_TITLE.search(front[1])):
        return found[1].strip().strip("\"'")
    fence = ""
    for match in _HEADING.finditer(start, front.end() if front else 0):
        if match["fence"]:
            fence = "" if fence == match["fence"] else fence or match["fence"]
        elif not fence:
            return (match["marked"] or match["underlined"]).strip(" #\t")
    return None


def escaped(text: str) -> str:
    """Return text in which no line is taken for a heading or a fence."""
    return _MISTAKEN.sub(r"\1\\", text)
