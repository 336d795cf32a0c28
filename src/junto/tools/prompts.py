"""Prompt templates with arguments: listing, rendering, and the prompts that Junto ships."""

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

from junto.tools.pagination import build_page

PromptRenderer = Callable[
    [ServerRequestContext[Any, Any], GetPromptRequestParams],
    Awaitable[str | GetPromptResult | InputRequiredResult],
]
_PromptValues = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """An argument of a prompt."""

    name: str
    description: str
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt with its arguments and the function that renders it."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...] = ()
    render: PromptRenderer

    def definition(self) -> dict[str, Any]:
        """Return the entry for `prompts/list`."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "arguments": [
                {
                    "name": argument.name,
                    "description": argument.description,
                    "required": argument.required,
                }
                for argument in self.arguments
            ],
        }


class Prompts:
    """All prompts of the server."""

    def __init__(self, prompts: Sequence[Prompt], page_size: int = 50) -> None:
        self._prompts = {prompt.name: prompt for prompt in prompts}
        self._page_size = page_size

    def list_page(self, cursor: str | None) -> dict[str, Any]:
        """Return one page of the list of prompts."""
        definitions = [prompt.definition() for prompt in self._prompts.values()]
        return build_page("prompts", definitions, cursor, self._page_size)

    async def get(
        self, context: ServerRequestContext[Any, Any], params: GetPromptRequestParams
    ) -> dict[str, Any] | GetPromptResult | InputRequiredResult:
        """Render the prompt that `params` names.

        Raises:
            MCPError: the prompt does not exist, or a required argument is missing.
        """
        prompt = self._find(params.name)
        for argument in prompt.arguments:
            if argument.required and not (params.arguments or {}).get(argument.name):
                raise MCPError(INVALID_PARAMS, f"{params.name} needs {argument.name}.")
        rendered = await prompt.render(context, params)
        if not isinstance(rendered, str):
            return rendered
        message = {"role": "user", "content": {"type": "text", "text": rendered}}
        return {"description": prompt.description, "messages": [message]}

    def argument_names(self, name: str) -> list[str]:
        """Return the names of the arguments of the prompt `name`.

        Raises:
            MCPError: the prompt does not exist.
        """
        return [argument.name for argument in self._find(name).arguments]

    def _find(self, name: str) -> Prompt:
        if prompt := self._prompts.get(name):
            return prompt
        raise MCPError(
            INVALID_PARAMS, f"Unknown prompt: {name[:100]}. prompts/list shows what there is."
        )


def build_default_prompts() -> tuple[Prompt, ...]:
    """Return the built-in prompts."""
    return (
        _build_prompt(
            "code_review",
            "Code review",
            "Review code for faults, risks and clarity.",
            (
                PromptArgument("code", "The code to review", required=True),
                PromptArgument("language", "Its language"),
                PromptArgument("focus", "What matters most, such as security or speed"),
            ),
            _render_code_review,
        ),
        _build_prompt(
            "explain_code",
            "Explain code",
            "Explain what code does and why, for a given reader.",
            (
                PromptArgument("code", "The code to explain", required=True),
                PromptArgument("language", "Its language"),
                PromptArgument("audience", "Who reads the explanation"),
            ),
            _render_explain_code,
        ),
        _build_prompt(
            "debug_help",
            "Debugging help",
            "Find the cause of an error and the smallest fix.",
            (
                PromptArgument(
                    "error", "The error, with its traceback if there is one", required=True
                ),
                PromptArgument("code", "The code that raised it"),
                PromptArgument("tried", "What was tried already"),
            ),
            _render_debug_help,
        ),
        _build_prompt(
            "second_opinion",
            "Second opinion",
            "Ask another model to check an answer.",
            (
                PromptArgument("question", "The question that was asked", required=True),
                PromptArgument("answer", "The answer to check", required=True),
                PromptArgument("modelId", "The model to ask"),
            ),
            _render_second_opinion,
        ),
    )


def _build_prompt(
    name: str,
    title: str,
    description: str,
    arguments: tuple[PromptArgument, ...],
    render_text: Callable[[_PromptValues], str],
) -> Prompt:
    async def render(_context: object, params: GetPromptRequestParams) -> str:
        return render_text(params.arguments or {})

    return Prompt(
        name=name, title=title, description=description, arguments=arguments, render=render
    )


def _fence_code(text: str, language: str = "") -> str:
    # The fence must be longer than any fence inside the text.
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _render_code_review(values: _PromptValues) -> str:
    focus = f" Pay most attention to {values['focus']}." if values.get("focus") else ""
    return (
        f"Review this code as a careful colleague would.{focus} Name each problem with the line it "
        "is on, how it would show itself, and the change that mends it. Begin with what could do "
        "harm (wrong results, lost data, openings for attack), then what makes the code hard to "
        "read or change. Say so plainly if there is nothing to mend.\n\n"
        + _fence_code(values["code"], values.get("language", ""))
    )


def _render_explain_code(values: _PromptValues) -> str:
    audience = values.get("audience") or "a programmer who has not seen it before"
    return (
        f"Explain this code to {audience}. Begin with one sentence on what it is for, then follow "
        "the data through it, and end with what is surprising or easily misunderstood.\n\n"
        + _fence_code(values["code"], values.get("language", ""))
    )


def _render_debug_help(values: _PromptValues) -> str:
    parts = [
        (
            "Help me find the cause of this error. Give the likeliest cause first and how to "
            "confirm it, then the smallest change that fixes it."
        ),
        "The error:\n" + _fence_code(values["error"]),
    ]
    if values.get("code"):
        parts.append("The code:\n" + _fence_code(values["code"]))
    if values.get("tried"):
        parts.append("Tried already: " + values["tried"])
    return "\n\n".join(parts)


def _render_second_opinion(values: _PromptValues) -> str:
    if values.get("modelId"):
        instruction = f"Ask the model {values['modelId']} to check this answer"
    else:
        instruction = "Check this answer independently"
    return (
        f"{instruction}. First answer the question afresh, then compare: what is right, what is "
        "wrong or missing, and how sure you are.\n\n"
        f"The question:\n{_fence_code(values['question'])}\n\n"
        f"The answer to check:\n{_fence_code(values['answer'])}"
    )
