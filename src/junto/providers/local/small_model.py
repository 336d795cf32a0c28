"""How the model that comes with Junto is asked, so that it answers everyday questions usefully.

It has 135 million parameters. Asked plainly, it rambles; with examples of short answers it keeps
to the question. Prompt and examples were tuned with `bench/answers_quality.py`.
"""

from dataclasses import replace

from junto.domain.completions import Question
from junto.domain.messages import Message

_SYSTEM_PROMPT = "You are a helpful assistant. Answer in one short sentence."
# General knowledge only: an example about the user could be taken for something the user said.
_EXAMPLES = (
    Message.user("What is a kitchen?"),
    Message.assistant("A kitchen is a room where food is cooked."),
    Message.user("What is the capital of Sweden?"),
    Message.assistant("The capital of Sweden is Stockholm."),
    Message.user("What is 3 + 6?"),
    Message.assistant("3 + 6 = 9."),
)
# A longer conversation is its own example, and needs the room.
_MAX_CHARS_WITH_EXAMPLES = 2_000
# What it writes beyond this is repetition or invention.
_MAX_ANSWER_TOKENS = 400


def prepare_question(question: Question) -> Question:
    """Return the question as the small model gets it.

    A system prompt of the caller replaces ours, and the examples with it.
    """
    question = replace(question, max_tokens=min(question.max_tokens, _MAX_ANSWER_TOKENS))
    if question.system or question.schema:
        return question
    messages = question.messages
    if sum(len(message.text) for message in messages) <= _MAX_CHARS_WITH_EXAMPLES:
        messages = (*_EXAMPLES, *messages)
    return replace(question, system=_SYSTEM_PROMPT, messages=messages)
