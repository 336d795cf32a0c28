"""The models that the settings name, as the rest of Junto knows them."""

from junto.domain.models import Model
from junto.settings.tree import ModelEntry, Settings


def configured_models(settings: Settings) -> tuple[Model, ...]:
    """Return the configured models in their order; the first is the default unless one is named."""
    entries = settings.models
    default = settings.default_model or (entries[0].id if entries else None)
    return tuple(_model(entry, default=entry.id == default) for entry in entries)


def model_warnings(settings: Settings) -> tuple[str, ...]:
    """Say what is odd about the models that the settings name."""
    ids = [entry.id for entry in settings.models]
    if ids and settings.default_model not in (None, *ids):
        known = ", ".join(ids)
        return (f"default_model is {settings.default_model}, which is not among: {known}.",)
    return ()


def _model(entry: ModelEntry, *, default: bool) -> Model:
    return Model(
        id=entry.id,
        provider=entry.provider,
        description=entry.description,
        context_window=entry.context_window,
        default=default,
    )
