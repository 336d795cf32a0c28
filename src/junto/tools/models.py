"""The tools of the group models: which models can be asked."""

from collections.abc import Sequence

from typing_extensions import override

from junto.domain.models import Model
from junto.tools.tool import HARMLESS, Arguments, Call, Group, Result, Tool


class NoArguments(Arguments):
    """Arguments of a tool that takes none."""


class ModelDescription(Result):
    """One model in the result of `list_models`."""

    id: str
    provider: str
    description: str | None = None
    context_window: int | None = None
    default: bool = False

    @override
    def text(self) -> str:
        """Return the model as one line of a list."""
        facts = [self.provider]
        facts += [f"{self.context_window:,} tokens"] if self.context_window else []
        facts += ["default"] if self.default else []
        about = f": {self.description}" if self.description else ""
        return f"- {self.id} ({', '.join(facts)}){about}"


class ModelList(Result):
    """Result of `list_models`."""

    models: list[ModelDescription]

    @override
    def text(self) -> str:
        """Return the list, or how to get one."""
        if not self.models:
            return (
                "No models are configured. Add them under `models:` in junto.yaml; "
                "`junto config init` writes one to start from."
            )
        return "\n".join(model.text() for model in self.models)


def list_models(models: Sequence[Model]) -> Tool[NoArguments]:
    """Return the tool that lists `models`."""
    default = next((model.id for model in models if model.default), "none")
    listing = ModelList(
        models=[
            ModelDescription(
                id=model.id,
                provider=model.provider,
                description=model.description,
                context_window=model.context_window,
                default=model.default,
            )
            for model in models
        ]
    )

    async def run(_arguments: NoArguments, _call: Call) -> ModelList:
        return listing

    return Tool(
        name="list_models",
        title="List models",
        description=f"The models that can be asked. Default model: {default}.",
        group=Group.MODELS,
        arguments=NoArguments,
        result=ModelList,
        run=run,
        hints=HARMLESS,
    )
