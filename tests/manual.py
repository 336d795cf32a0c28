"""Writes the generated pages of docs/ anew: `make docs`."""

from pathlib import Path

from junto.settings.showing import manual

DOCS = Path(__file__).parents[1] / "docs"

SETTINGS = """\
# Settings

Every setting, what it takes, its default and what it is for. Sources, the strongest first:

1. a flag, such as `--port`;
2. its variable, such as `JUNTO_HTTP_PORT`;
3. a name that an earlier system gave it, such as `POLYBRAIN_HTTP_PORT` (the table below);
4. a file: `./junto.yaml`, then `~/.config/junto/config.yaml`, or the one that `--config` or
   `JUNTO_CONFIG` names; after those `~/.polybrain.yaml`, or the one that
   `POLYBRAIN_CONFIG_PATH` names;
5. the default.

In a file, keys may be written in snake_case or camelCase, and `${VARIABLE}` takes a value from the
environment; a variable that is not set is an error. `junto config show` tells what is in force
and where each value comes from, `junto config check` what is wrong, `junto config init` writes a
file to start from.

The settings of the coding agent (`agent`) are read already, and change nothing yet.

"""


def settings_page() -> str:
    from junto.settings.aliases import ALIASES

    old = "\n".join(f"| `{alias.variable}` | `{alias.path}` |" for alias in ALIASES)
    head = "## Old names\n\n| variable | setting |\n|---|---|\n"
    single = (
        "\n\n`POLYBRAIN_BASE_URL`, `POLYBRAIN_API_KEY` and `POLYBRAIN_MODEL_NAME` together are one "
        "model;\nthe models of every file are then ignored.\n\n## All settings\n\n"
    )
    return SETTINGS + head + old + single + manual()


if __name__ == "__main__":
    (DOCS / "settings.md").write_text(settings_page())
