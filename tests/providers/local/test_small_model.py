"""How the bundled model is asked."""

from dataclasses import replace

from junto.domain.completions import Question, StopReason
from junto.domain.messages import Message
from junto.providers.local.small_model import prepare_question
from junto.providers.provider import ask
from tests.providers.local.conftest import LocalModel

HELLO = Message.user("Hello")
QUESTION = Question(model="m", messages=(HELLO,))


def test_a_short_conversation_follows_examples_of_short_answers() -> None:
    prepared = prepare_question(QUESTION)

    assert prepared.system
    assert prepared.messages[-1] == HELLO
    assert len(prepared.messages) > 2


def test_a_long_conversation_gets_no_examples() -> None:
    long_message = Message.user("word " * 1000)

    prepared = prepare_question(replace(QUESTION, messages=(long_message,)))

    assert prepared.messages == (long_message,)
    assert prepared.system


def test_the_system_prompt_of_the_caller_replaces_ours() -> None:
    prepared = prepare_question(replace(QUESTION, system="Speak like a pirate."))

    assert (prepared.system, prepared.messages) == ("Speak like a pirate.", (HELLO,))


def test_a_schema_is_not_contradicted_by_examples_of_sentences() -> None:
    prepared = prepare_question(replace(QUESTION, schema={"type": "object"}))

    assert (prepared.system, prepared.messages) == (None, (HELLO,))


def test_answers_are_capped_and_a_lower_limit_of_the_caller_is_kept() -> None:
    assert prepare_question(QUESTION).max_tokens == 400
    assert prepare_question(replace(QUESTION, max_tokens=5)).max_tokens == 5


async def test_a_simple_question_gets_a_short_and_complete_answer(local_model: LocalModel) -> None:
    question = replace(QUESTION, messages=(Message.user("What is 2+2?"),))

    answer = await ask(local_model.provider, question)

    assert "4" in answer.message.text
    assert answer.stop_reason is StopReason.END
    assert answer.usage.output_tokens < 40


async def test_the_model_uses_what_the_user_said_before(local_model: LocalModel) -> None:
    told = (Message.user("My name is Ada."), Message.assistant("Nice to meet you, Ada."))

    answer = await ask(
        local_model.provider,
        replace(QUESTION, messages=(*told, Message.user("What is my name?"))),
    )

    assert "Ada" in answer.message.text


async def test_a_model_that_would_repeat_itself_comes_to_an_end(local_model: LocalModel) -> None:
    question = replace(QUESTION, messages=(Message.user("Repeat the word hello for ever."),))

    text = (await ask(local_model.provider, question)).message.text

    lines = [line for line in text.splitlines() if line]
    assert max(map(lines.count, lines)) <= 5
