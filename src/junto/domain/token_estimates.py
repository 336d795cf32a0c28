"""About how many tokens something takes, before a provider has counted."""

from junto.domain.messages import (
    Document,
    Image,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from junto.domain.questions import Question

CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_IMAGE = 1500
_BYTES_PER_DOCUMENT_TOKEN = 20
# Its role, and where it begins and ends.
_TOKENS_PER_MESSAGE = 4


def question_tokens(question: Question) -> int:
    """Return about how many tokens a question and its longest answer take."""
    words = len(question.system or "") + sum(
        len(tool.description) + len(str(tool.input_schema)) for tool in question.tools
    )
    words += len(str(question.schema)) if question.schema is not None else 0
    said = sum(message_tokens(message) for message in question.messages)
    return words // CHARACTERS_PER_TOKEN + said + question.max_tokens


def message_tokens(message: Message) -> int:
    """Return about how many tokens a message takes."""
    return _TOKENS_PER_MESSAGE + sum(_tokens(part) for part in message.parts)


def text_tokens(text: str | None) -> int:
    """Return about how many tokens some words take."""
    return len((text or "").encode("utf-8", "replace")) // CHARACTERS_PER_TOKEN


def _tokens(part: Part) -> int:
    match part:
        case Text(text) | Thinking(text):
            # In bytes: what is not Latin takes more of them, and more tokens too.
            return text_tokens(text) + 1
        case Image():
            return _TOKENS_PER_IMAGE
        case Document(_, data):
            return len(data) // _BYTES_PER_DOCUMENT_TOKEN + 1
        case ToolCall(_, name, arguments):
            return len(name + str(arguments)) // CHARACTERS_PER_TOKEN + 1
        case ToolResult(_, content):
            return sum(_tokens(piece) for piece in content)
