"""Texts as a model can take them."""


def presentable(text: str, most: int) -> str:
    """Return at most so many characters of a text, with halves of characters replaced.

    Half a character is what a careless cut leaves behind; neither UTF-8 nor a tokenizer takes it.
    """
    return text[:most].encode("utf-8", "replace").decode()
