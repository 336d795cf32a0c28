"""The models that the settings name, as the rest of Junto knows them."""

from junto.domain.models import Model
from junto.settings.tree import ModelEntry, Settings


def configured_models(settings: Settings) -> tuple[Model, ...]:
    """Return the configured models in their order; the first is the default unless one is named."""
    entries = settings.models
    default = settings.default_model or (entries[0].id if entries else None)
    return tuple(_model(entry, default=entry.id == default) for entry in entries)


def _model(entry: ModelEntry, *, default: bool) -> Model:
    return Model(
        id=entry.id,
        provider=entry.provider,
        description=entry.description,
        context_window=entry.context_window,
        default=default,
    )
