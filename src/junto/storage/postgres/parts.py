"""Texts in parts, so that a little of a long one can be read without the rest."""

# In characters. The server keeps a long text compressed, and finds the place of a character in it
# by counting from the beginning.
_LENGTH = 32_768


def parts(text: str) -> list[str]:
    """Return a text in parts, in their order."""
    return [text[start : start + _LENGTH] for start in range(0, len(text), _LENGTH)]


def stretch(document: str, begins: str, ends: str) -> str:
    """Return what a statement says to get the text of a document between two places."""
    return (
        f"coalesce(substr((SELECT string_agg(t.text, '' ORDER BY t.part) FROM texts t "
        f"WHERE t.document = {document} "
        f"AND t.part BETWEEN {begins} / {_LENGTH} AND {ends} / {_LENGTH}), "
        f"mod({begins}, {_LENGTH}) + 1, {ends} - {begins}), '')"
    )
