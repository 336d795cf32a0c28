"""The text of web pages."""

from junto.domain.pages import readable, titled
from junto.knowledge.formats.decoding import decoded_page
from junto.knowledge.formats.markdown import first_heading
from junto.knowledge.formats.room import Parsed, Room


def read(content: bytes, codec: str | None) -> Parsed:
    """Return the text of a page.

    Raises:
        UnreadableError: it is too long.
    """
    page = decoded_page(content, codec)
    room = Room()
    room.add(readable(page))
    text = room.text("")
    return Parsed(text, titled(page) or first_heading(text))
