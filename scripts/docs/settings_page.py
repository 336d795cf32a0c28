"""Writes docs/reference/settings.md: every setting, under a heading for each branch of the tree."""

from junto.settings.aliases import ALIASES
from junto.settings.render import build_settings_reference

_HEAD = """\
# Settings

Every setting, what it takes, its default and what it is for. Sources, the strongest first:

1. a flag, such as `--port`;
2. its variable, such as `JUNTO_HTTP_PORT`;
3. a name that an earlier system gave it, such as `POLYBRAIN_HTTP_PORT` ([old names](#old-names));
4. a file: `./junto.yaml` if it is [trusted](../explanation/security.md#configuration-files), then
   `~/.config/junto/config.yaml`, or the one that `--config` or `JUNTO_CONFIG` names; after those `~/.polybrain.yaml`, or the one that
   `POLYBRAIN_CONFIG_PATH` names;
5. the default.

In a file, keys may be written in snake_case or camelCase, and `${VARIABLE}` takes a value from the
environment; a variable that is not set is an error. `junto config show` tells what is in force
and where each value comes from, `junto config check` what is wrong, `junto config init` writes a
file to start from.

"""
_OLD = """
## Old names

The names that earlier systems gave to the same settings. `POLYBRAIN_BASE_URL`, `POLYBRAIN_API_KEY` and
`POLYBRAIN_MODEL_NAME` together are one model; the models of every file are then ignored.

| variable | setting |
|---|---|
"""


def settings_page() -> str:
    old = "".join(f"| `{alias.variable}` | `{alias.path}` |\n" for alias in ALIASES)
    return _HEAD + build_settings_reference() + _OLD + old
