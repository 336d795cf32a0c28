"""How often the embedded model answers everyday questions right: `python -m bench.answers_quality`.

Compares the plain model, asked as any client of llama.cpp would, with the same model behind Junto.
An answer is right if it matches the pattern of the question within its first words, and is short;
it *contains* the right answer if the pattern matches anywhere.

`questions.json` has the questions. In each category, every second one belongs to the half on which
the prompt of the embedded model was tuned; the other half is only for reporting.
"""

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from junto.domain.completions import Question
from junto.domain.messages import Message
from junto.providers.catalog.from_settings import EMBEDDED_CAPABILITIES
from junto.providers.http.client import Timeouts
from junto.providers.local.engine import Engine, EngineOptions
from junto.providers.local.provider import LocalProvider
from junto.providers.local.weights import Weights
from junto.providers.provider import ask

_FIRST_WORDS, _MAX_WORDS = 25, 60


@dataclass(frozen=True, slots=True)
class EverydayQuestion:
    """What the user says, turn by turn, and a pattern of a right answer to the last turn."""

    turns: tuple[str, ...]
    pattern: str


QUESTIONS = {
    category: [EverydayQuestion(tuple(each["turns"]), each["pattern"]) for each in questions]
    for category, questions in json.loads(
        (Path(__file__).parent / "questions.json").read_text("utf-8")
    ).items()
}

# The conversation so far, as messages of the chat completions API, to the answer.
Ask = Callable[[list[dict[str, str]]], Awaitable[str]]

# The engine alone, with the sampling that Junto 0.1.0 had.
PLAIN = """
import json, sys, xllamacpp
options = xllamacpp.CommonParams()
options.model.path = sys.argv[1]
options.n_ctx, options.verbosity = 2048, 1
options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
options.sampling.temp, options.sampling.top_p, options.sampling.penalty_repeat = 0.2, 0.9, 1.1
server = xllamacpp.Server(options)
for line in sys.stdin:
    question = {"messages": json.loads(line), "max_tokens": 1000, "seed": 1}
    answer = server.handle_chat_completions(question)
    print(json.dumps(answer["choices"][0]["message"]["content"]), flush=True)
"""


def is_right(question: EverydayQuestion, answer: str) -> bool:
    """Return whether a reader gets the right answer at once."""
    words = answer.split()
    first = " ".join(words[:_FIRST_WORDS])
    return bool(re.search(question.pattern, first, re.IGNORECASE)) and len(words) <= _MAX_WORDS


@contextmanager
def open_plain_model(weights: Path) -> Iterator[Ask]:
    """Yield a function that asks the engine without Junto."""
    with subprocess.Popen(
        [sys.executable, "-c", PLAIN, str(weights)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:

        async def ask_plain(messages: list[dict[str, str]]) -> str:
            assert process.stdin  # noqa: S101
            assert process.stdout  # noqa: S101
            print(json.dumps(messages), file=process.stdin, flush=True)
            return str(json.loads(process.stdout.readline()))

        try:
            yield ask_plain
        finally:
            process.kill()


def build_ask_junto(model: LocalProvider) -> Ask:
    """Return a function that asks the model as Junto does."""

    async def ask_junto(messages: list[dict[str, str]]) -> str:
        turns = tuple(
            Message.user(each["content"])
            if each["role"] == "user"
            else Message.assistant(each["content"])
            for each in messages
        )
        return (await ask(model, Question(model="m", messages=turns))).message.text

    return ask_junto


async def answer_question(question: EverydayQuestion, ask_model: Ask) -> str:
    """Return the answer to the last turn, after the model has answered those before it."""
    messages: list[dict[str, str]] = []
    answer = ""
    for turn in question.turns:
        messages.append({"role": "user", "content": turn})
        answer = await ask_model(messages)
        messages.append({"role": "assistant", "content": answer})
    return answer


async def score(ask_model: Ask, half: int) -> dict[str, tuple[int, int]]:
    """Return, by category, how many answers are right and how many contain the right answer."""
    scores = {}
    for category, questions in QUESTIONS.items():
        answers = [(each, await answer_question(each, ask_model)) for each in questions[half::2]]
        contained = sum(bool(re.search(q.pattern, a, re.IGNORECASE)) for q, a in answers)
        scores[category] = (sum(is_right(q, a) for q, a in answers), contained)
    return scores


async def measure(folder: Path) -> None:
    """Print the scores of both halves."""
    weights = Weights(folder / "weights")

    def create_engine(path: Path) -> Engine:
        return Engine.create(folder, EngineOptions(weights=path), idle_seconds=60)

    async with AsyncExitStack() as stack:
        model = LocalProvider(weights, create_engine, EMBEDDED_CAPABILITIES, Timeouts(), stack)
        ask_plain = stack.enter_context(open_plain_model(weights.path))
        for half, name in enumerate(("tuned on", "held out")):
            plain = await score(ask_plain, half)
            junto = await score(build_ask_junto(model), half)
            print(f"{name}: right (contained), of {len(next(iter(QUESTIONS.values()))) // 2} each")
            for category in QUESTIONS:
                print(f"  {category:12} plain {plain[category]}  Junto {junto[category]}")
            totals = (
                tuple(map(sum, zip(*scores.values(), strict=True))) for scores in (plain, junto)
            )
            print("  {:12} plain {}  Junto {}".format("all", *totals), flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="jb") as directory:
        asyncio.run(measure(Path(directory)))
