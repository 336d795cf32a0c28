"""Prompts: questions worth asking well, with blanks to fill in."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
)

from junto.tools.pages import page_of

Render = Callable[
    [ServerRequestContext[Any, Any], GetPromptRequestParams],
    Awaitable[str | GetPromptResult | InputRequiredResult],
]


@dataclass(frozen=True, slots=True)
class Blank:
    """A blank in a prompt."""

    name: str
    description: str
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt with its blanks; `render` fills them in."""

    name: str
    title: str
    description: str
    blanks: tuple[Blank, ...] = ()
    render: Render

    def definition(self) -> dict[str, Any]:
        """Return it as the protocol lists it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "arguments": [
                {"name": b.name, "description": b.description, "required": b.required}
                for b in self.blanks
            ],
        }


class Prompts:
    """Every prompt on offer."""

    def __init__(self, prompts: Sequence[Prompt], page: int = 50) -> None:
        self._prompts = {prompt.name: prompt for prompt in prompts}
        self._page = page

    def listed(self, cursor: str | None) -> dict[str, Any]:
        """Return one page of the list of prompts."""
        definitions = [prompt.definition() for prompt in self._prompts.values()]
        return page_of("prompts", definitions, cursor, self._page)

    async def get(
        self, context: ServerRequestContext[Any, Any], params: GetPromptRequestParams
    ) -> dict[str, Any] | GetPromptResult | InputRequiredResult:
        """Return the prompt that `params` names, filled in.

        Raises:
            MCPError: there is no such prompt, or a blank that it needs is empty.
        """
        prompt = self._named(params.name)
        for blank in prompt.blanks:
            if blank.required and not (params.arguments or {}).get(blank.name):
                raise MCPError(INVALID_PARAMS, f"{params.name} needs {blank.name}.")
        filled = await prompt.render(context, params)
        if not isinstance(filled, str):
            return filled
        message = {"role": "user", "content": {"type": "text", "text": filled}}
        return {"description": prompt.description, "messages": [message]}

    def blanks(self, name: str) -> list[str]:
        """Return the names of the blanks in the prompt called `name`.

        Raises:
            MCPError: there is no such prompt.
        """
        return [blank.name for blank in self._named(name).blanks]

    def _named(self, name: str) -> Prompt:
        if prompt := self._prompts.get(name):
            return prompt
        raise MCPError(
            INVALID_PARAMS, f"Unknown prompt: {name[:100]}. prompts/list shows what there is."
        )


def house_prompts() -> tuple[Prompt, ...]:
    """Return the prompts that Junto brings along."""
    return (
        _prompt(
            "code_review",
            "Code review",
            "Review code for faults, risks and clarity.",
            (
                Blank("code", "The code to review", required=True),
                Blank("language", "Its language"),
                Blank("focus", "What matters most, such as security or speed"),
            ),
            _code_review,
        ),
        _prompt(
            "explain_code",
            "Explain code",
            "Explain what code does and why, for a given reader.",
            (
                Blank("code", "The code to explain", required=True),
                Blank("language", "Its language"),
                Blank("audience", "Who reads the explanation"),
            ),
            _explain_code,
        ),
        _prompt(
            "debug_help",
            "Debugging help",
            "Find the cause of an error and the smallest fix.",
            (
                Blank("error", "The error, with its traceback if there is one", required=True),
                Blank("code", "The code that raised it"),
                Blank("tried", "What was tried already"),
            ),
            _debug_help,
        ),
        _prompt(
            "second_opinion",
            "Second opinion",
            "Ask another model to check an answer.",
            (
                Blank("question", "The question that was asked", required=True),
                Blank("answer", "The answer to check", required=True),
                Blank("modelId", "The model to ask"),
            ),
            _second_opinion,
        ),
    )


Blanks = Mapping[str, str]


def _prompt(
    name: str,
    title: str,
    description: str,
    blanks: tuple[Blank, ...],
    write: Callable[[Blanks], str],
) -> Prompt:
    async def render(_context: object, params: GetPromptRequestParams) -> str:
        return write(params.arguments or {})

    return Prompt(name=name, title=title, description=description, blanks=blanks, render=render)


def _fenced(text: str, language: str = "") -> str:
    # A fence longer than any inside, so that code with fences of its own stays in one piece.
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _code_review(blanks: Blanks) -> str:
    focus = f" Pay most attention to {blanks['focus']}." if blanks.get("focus") else ""
    return (
        f"Review this code as a careful colleague would.{focus} Name each problem with the line it "
        "is on, how it would show itself, and the change that mends it. Begin with what could do "
        "harm (wrong results, lost data, openings for attack), then what makes the code hard to "
        "read or change. Say so plainly if there is nothing to mend.\n\n"
        + _fenced(blanks["code"], blanks.get("language", ""))
    )


def _explain_code(blanks: Blanks) -> str:
    audience = blanks.get("audience") or "a programmer who has not seen it before"
    return (
        f"Explain this code to {audience}. Begin with one sentence on what it is for, then follow "
        "the data through it, and end with what is surprising or easily misunderstood.\n\n"
        + _fenced(blanks["code"], blanks.get("language", ""))
    )


def _debug_help(blanks: Blanks) -> str:
    parts = [
        (
            "Help me find the cause of this error. Give the likeliest cause first and how to "
            "confirm it, then the smallest change that fixes it."
        ),
        "The error:\n" + _fenced(blanks["error"]),
    ]
    if blanks.get("code"):
        parts.append("The code:\n" + _fenced(blanks["code"]))
    if blanks.get("tried"):
        parts.append("Tried already: " + blanks["tried"])
    return "\n\n".join(parts)


def _second_opinion(blanks: Blanks) -> str:
    if blanks.get("modelId"):
        ask = f"Ask the model {blanks['modelId']} to check this answer"
    else:
        ask = "Check this answer independently"
    return (
        f"{ask}. First answer the question afresh, then compare: what is right, what is wrong or "
        "missing, and how sure you are.\n\n"
        f"The question:\n{_fenced(blanks['question'])}\n\n"
        f"The answer to check:\n{_fenced(blanks['answer'])}"
    )
