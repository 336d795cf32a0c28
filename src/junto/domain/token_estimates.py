"""Token estimates for texts, messages and questions, made before a provider counts them."""

from junto.domain.completions import Question
from junto.domain.messages import (
    DocumentPart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)

CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_IMAGE = 1500
_BYTES_PER_DOCUMENT_TOKEN = 20
# For the role and the delimiters.
_TOKENS_PER_MESSAGE = 4


def estimate_question_tokens(question: Question) -> int:
    """Estimate the tokens of a question and its longest possible answer."""
    characters = len(question.system or "") + sum(
        len(tool.description) + len(str(tool.input_schema)) for tool in question.tools
    )
    characters += len(str(question.schema)) if question.schema is not None else 0
    message_tokens = sum(estimate_message_tokens(message) for message in question.messages)
    return characters // CHARACTERS_PER_TOKEN + message_tokens + question.max_tokens


def estimate_message_tokens(message: Message) -> int:
    """Estimate the tokens of a message."""
    return _TOKENS_PER_MESSAGE + sum(_estimate_part_tokens(part) for part in message.parts)


def estimate_text_tokens(text: str | None) -> int:
    """Estimate the tokens of a text."""
    return len((text or "").encode("utf-8", "replace")) // CHARACTERS_PER_TOKEN


def _estimate_part_tokens(part: Part) -> int:
    match part:
        case TextPart(text) | ThinkingPart(text):
            # By bytes: non-Latin scripts take more bytes per character, and more tokens too.
            return estimate_text_tokens(text) + 1
        case ImagePart():
            return _TOKENS_PER_IMAGE
        case DocumentPart(_, data):
            return len(data) // _BYTES_PER_DOCUMENT_TOKEN + 1
        case ToolCall(_, name, arguments):
            return len(name + str(arguments)) // CHARACTERS_PER_TOKEN + 1
        case ToolResult(_, content):
            return sum(_estimate_part_tokens(piece) for piece in content)
