"""The tool `list_models`."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field
from typing_extensions import override

from junto.providers.catalog.catalog import CLIENT_MODEL, Catalog
from junto.tools.base import Arguments, Result
from junto.tools.client_requests import supports_sampling
from junto.tools.services import ToolServices
from junto.tools.summaries import ModelDescription
from junto.tools.tool import READ_ONLY_HINTS, CallContext, Group, Tool

_MAX_MODELS = 50


def build_tools(services: ToolServices) -> Iterator[Tool[Any]]:
    """Yield the tools of this module."""
    yield build_list_models_tool(services.conversations.catalog)


class ListModelsArguments(Arguments):
    """Arguments of `list_models`."""

    text: str | None = Field(None, description="Only models whose id or description contains this.")


class ListModelsResult(Result):
    """Result of `list_models`."""

    models: list[ModelDescription]
    total: int

    @override
    def text(self) -> str:
        """Return one line per model, or how to add models if there are none."""
        if not self.models:
            return (
                "No such model can be asked. Set a provider's key, such as ANTHROPIC_API_KEY, add "
                "models to junto.yaml, or install the embedded one: pip install 'junto[embedded]'."
            )
        omitted = self.total - len(self.models)
        more = [f"… and {omitted} more; narrow the list with `text`."] if omitted else []
        lines = [model.text() for model in self.models]
        return "\n".join([*lines, *more, "Prices are US dollars per million tokens, in and out."])


def build_list_models_tool(catalog: Catalog) -> Tool[ListModelsArguments]:
    """Build the `list_models` tool."""

    async def run(arguments: ListModelsArguments, call: CallContext) -> ListModelsResult:
        text = (arguments.text or "").casefold()
        client_models = [catalog.describe(CLIENT_MODEL)] if supports_sampling(call.context) else []
        matches = [
            model
            for model in (*catalog.iter_models(), *client_models)
            if text in model.id.casefold() or text in (model.description or "").casefold()
        ]
        models = [ModelDescription.from_model(model) for model in matches[:_MAX_MODELS]]
        return ListModelsResult(models=models, total=len(matches))

    return Tool(
        name="list_models",
        title="List models",
        description=(
            "List the models that `chat` and `query` can use, with provider, context window, price "
            "and capabilities."
        ),
        group=Group.MODELS,
        arguments=ListModelsArguments,
        result=ListModelsResult,
        run=run,
        hints=READ_ONLY_HINTS,
        instructions="list_models shows which models can be asked.",
        for_agent=True,
        for_council=True,
    )
