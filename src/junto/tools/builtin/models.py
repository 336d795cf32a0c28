"""The tools of the group models: which models can be asked."""

from pydantic import Field
from typing_extensions import override

from junto.domain.models import Model
from junto.providers.catalog.catalog import CLIENT, Catalog
from junto.tools.sampling import lends_model
from junto.tools.tool import HARMLESS, Arguments, Call, Group, Result, Tool

_MOST = 50


class ListModels(Arguments):
    """Arguments of `list_models`."""

    text: str | None = Field(None, description="Part of their id or description.")


class ModelPrice(Result):
    """What a million tokens cost, in US dollars."""

    input: float
    output: float


class ModelDescription(Result):
    """One model in the result of `list_models`."""

    id: str
    provider: str
    description: str | None = None
    context_window: int | None = None
    price: ModelPrice | None = None
    capabilities: list[str]
    default: bool = False

    @classmethod
    def of(cls, model: Model) -> "ModelDescription":
        """Return what a caller may know about `model`."""
        price = model.price
        return cls(
            id=model.id,
            provider=model.provider,
            description=model.description,
            context_window=model.context_window,
            price=ModelPrice(input=float(price.input), output=float(price.output))
            if price
            else None,
            capabilities=model.capabilities.names(),
            default=model.default,
        )

    @override
    def text(self) -> str:
        """Return the model as one line of a list."""
        facts = [self.provider]
        facts += [f"{self.context_window:,} tokens"] if self.context_window else []
        facts += [f"${self.price.input:g}/${self.price.output:g}"] if self.price else []
        facts += self.capabilities
        facts += ["default"] if self.default else []
        about = f": {self.description}" if self.description else ""
        return f"- {self.id} ({', '.join(facts)}){about}"


class ModelList(Result):
    """Result of `list_models`."""

    models: list[ModelDescription]
    total: int

    @override
    def text(self) -> str:
        """Return the list, or how to get one."""
        if not self.models:
            return (
                "No such model can be asked. Set a provider's key, such as ANTHROPIC_API_KEY, add "
                "models to junto.yaml, or install the embedded one: pip install 'junto[embedded]'."
            )
        left = self.total - len(self.models)
        more = [f"… and {left} more; narrow the list with `text`."] if left else []
        lines = [model.text() for model in self.models]
        return "\n".join([*lines, *more, "Prices are US dollars per million tokens, in and out."])


def list_models(catalog: Catalog) -> Tool[ListModels]:
    """Return the tool that lists what is on offer."""

    async def run(arguments: ListModels, call: Call) -> ModelList:
        wanted = (arguments.text or "").casefold()
        lent = [catalog.model(CLIENT)] if lends_model(call.context) else []
        found = [
            model
            for model in (*catalog.models(), *lent)
            if wanted in model.id.casefold() or wanted in (model.description or "").casefold()
        ]
        shown = [ModelDescription.of(model) for model in found[:_MOST]]
        return ModelList(models=shown, total=len(found))

    return Tool(
        name="list_models",
        title="List models",
        description="The models that can be asked.",
        group=Group.MODELS,
        arguments=ListModels,
        result=ModelList,
        run=run,
        hints=HARMLESS,
    )
