import re
from pathlib import Path

import pytest

from junto.settings.enums import AgentOption
from junto.settings.schema import AgentSettings
from junto.tools.builtin.agent import AgentOptions, ClaudeCodeQueryResult

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "agent.md").read_text(encoding="utf-8")


@pytest.mark.feature("F146", "F249")
def test_the_page_names_every_option_and_field() -> None:
    schema = AgentOptions.model_json_schema(by_alias=True)["properties"]
    fields = ClaudeCodeQueryResult.model_json_schema(by_alias=True)["properties"]

    missing = [name for name in (*schema, *fields) if f"`{name}`" not in PAGE]

    assert missing == []
    assert {*schema} == {*AgentOption, "fork"}


def test_the_page_names_only_settings_that_exist() -> None:
    named = set(re.findall(r"`agent\.(\w+)", PAGE))

    assert named <= set(AgentSettings.model_fields)
