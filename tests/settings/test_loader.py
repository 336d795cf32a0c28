import json
from pathlib import Path
from typing import Any

import pytest

from junto.domain.errors import ConfigurationError
from junto.settings import Loaded, load
from junto.settings.aliases import ALIASES
from junto.settings.choices import ContextPolicy, LogOutput, PermissionMode, Trust
from junto.settings.leaves import leaves
from junto.settings.showing import value_at


def loaded(tmp_path: Path, /, **variables: str) -> Loaded:
    return load({}, environment=variables, home=tmp_path / "home", directory=tmp_path)


def write(tmp_path: Path, text: str, name: str = "junto.yaml") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_nothing_set_gives_the_defaults_and_says_so(tmp_path: Path) -> None:
    result = loaded(tmp_path)

    assert result.settings.http.port == 32701
    assert result.settings.http.host == "127.0.0.1"
    assert {str(origin) for origin in result.origins.values()} == {"default"}
    assert result.files == ()


def test_a_flag_beats_a_variable_beats_an_alias_beats_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, "http: {port: 4}")
    everything = {"POLYBRAIN_HTTP_PORT": "3", "JUNTO_HTTP_PORT": "2"}

    def with_flag(port: int | None) -> Loaded:
        return load({"http.port": port}, environment=everything, home=tmp_path, directory=tmp_path)

    by_flag = with_flag(1)
    by_variable = with_flag(None)
    by_alias = loaded(tmp_path, POLYBRAIN_HTTP_PORT="3")
    by_file = loaded(tmp_path)

    found = [each.settings.http.port for each in (by_flag, by_variable, by_alias, by_file)]
    said = [str(e.origins["http.port"]) for e in (by_flag, by_variable, by_alias, by_file)]
    assert found == [1, 2, 3, 4]
    assert said == [
        "flag --port",
        "environment JUNTO_HTTP_PORT",
        "alias POLYBRAIN_HTTP_PORT",
        f"file {path}",
    ]


def test_every_setting_has_a_variable_of_its_own_and_a_description() -> None:
    variables = [leaf.variable for leaf in leaves().values()]

    assert len(set(variables)) == len(variables)
    assert all(leaf.description for leaf in leaves().values())


# What each old name is set to here, and what must come of it.
OLD_NAMES: dict[str, tuple[str, Any]] = {
    "ANTHROPIC_API_KEY": ("key-1", "key-1"),
    "ANTHROPIC_BASE_URL": ("http://127.0.0.1:1", "http://127.0.0.1:1"),
    "OPENAI_API_KEY": ("key-2", "key-2"),
    "OPENAI_BASE_URL": ("http://127.0.0.1:2", "http://127.0.0.1:2"),
    "GEMINI_API_KEY": ("key-3", "key-3"),
    "OPENROUTER_API_KEY": ("key-4", "key-4"),
    "CLAUDE_MODEL": ("claude-sonnet-5-5", "claude-sonnet-5-5"),
    "CLAUDE_MAX_TOKENS": ("8192", 8192),
    "CLAUDE_TEMPERATURE": ("0.5", 0.5),
    "CLAUDE_SYSTEM_PROMPT": ("Be brief.", "Be brief."),
    "CLAUDE_ENABLE_CONVERSATIONS": ("false", False),
    "CLAUDE_SESSION_TIMEOUT": ("3600", 3600),
    "CLAUDE_MAX_HISTORY": ("20", 20),
    "CLAUDE_DISABLE_LOGGING": ("true", LogOutput.NONE),
    "CLAUDE_LOG_TO_STDERR": ("false", LogOutput.FILES),
    "CLAUDE_LOG_DIR": ("/tmp/logs", Path("/tmp/logs")),  # noqa: S108 - never opened
    "CLAUDE_CODE_ENABLE": ("false", False),
    "CLAUDE_CODE_DEFAULT_CWD": ("/workspace", Path("/workspace")),
    "CLAUDE_CODE_DEFAULT_MODEL": ("opus", "opus"),
    "CLAUDE_CODE_DEFAULT_PERMISSION_MODE": ("plan", PermissionMode.PLAN),
    "CLAUDE_CODE_MAX_TURNS": ("7", 7),
    "CLAUDE_CODE_MAX_MESSAGES": ("0", 0),
    "CLAUDE_CODE_INCLUDE_SYSTEM_MESSAGES": ("0", False),
    "CLAUDE_CODE_MAX_EXECUTION_TIME": ("300000", 300),
    "CLAUDE_CODE_ALLOWED_TOOLS": ("read, write,edit", ("read", "write", "edit")),
    "TELEMETRYFLOW_MCP_CLAUDE_API_KEY": ("key-5", "key-5"),
    "TELEMETRYFLOW_MCP_CLAUDE_DEFAULT_MODEL": ("claude-haiku-5-5", "claude-haiku-5-5"),
    "TELEMETRYFLOW_MCP_CLAUDE_MAX_TOKENS": ("100", 100),
    "TELEMETRYFLOW_MCP_CLAUDE_TEMPERATURE": ("2", 2.0),
    "TELEMETRYFLOW_MCP_CLAUDE_TIMEOUT": ("120.0", 120),
    "TELEMETRYFLOW_MCP_CLAUDE_MAX_RETRIES": ("5", 5),
    "TELEMETRYFLOW_MCP_CLAUDE_BASE_URL": ("http://127.0.0.1:3", "http://127.0.0.1:3"),
    "POLYBRAIN_HTTP_PORT": ("3000", 3000),
    "POLYBRAIN_LOG_LEVEL": ("debug", "debug"),
    "DATABASE_URL": ("postgresql://localhost/x", "postgresql://localhost/x"),
}


@pytest.mark.feature(
    "F212", "F213", "F214", "F215", "F216", "F217", "F218", "F220", "F221",
    "F226", "F227", "F228", "F229", "F230", "F231", "F232", "F233", "F234",
)  # fmt: skip
@pytest.mark.parametrize("alias", ALIASES, ids=lambda alias: alias.variable)
def test_an_old_name_sets_what_it_used_to(tmp_path: Path, alias: Any) -> None:
    written, expected = OLD_NAMES[alias.variable]

    result = loaded(tmp_path, **{alias.variable: written})

    value = value_at(result.settings, alias.path)
    assert getattr(value, "get_secret_value", lambda: value)() == expected
    assert str(result.origins[alias.path]) == f"alias {alias.variable}"


def test_disabled_logging_beats_logging_to_stderr(tmp_path: Path) -> None:
    both = {"CLAUDE_DISABLE_LOGGING": "true", "CLAUDE_LOG_TO_STDERR": "true"}
    enabled = {"CLAUDE_DISABLE_LOGGING": "false", "CLAUDE_LOG_TO_STDERR": "true"}

    assert loaded(tmp_path, **both).settings.logging.output is LogOutput.NONE
    assert loaded(tmp_path, **enabled).settings.logging.output is LogOutput.STDERR


POLYBRAIN = {
    "POLYBRAIN_BASE_URL": "http://127.0.0.1:9/v1",
    "POLYBRAIN_API_KEY": "poly-key",
    "POLYBRAIN_MODEL_NAME": "gpt-x",
}
POLYBRAIN_FILE = """
httpPort: 3001
logLevel: warning
truncateLimit: 77
models:
  - id: first
    modelName: gpt-y
    baseUrl: http://127.0.0.1:8/v1
    apiKey: ${POLY_KEY}
"""


@pytest.mark.feature("F219", "F225")
def test_polybrains_three_variables_together_replace_the_models_of_every_file(
    tmp_path: Path,
) -> None:
    write(tmp_path, "models: [{id: ours}]")
    write(tmp_path, POLYBRAIN_FILE, "home/.polybrain.yaml")

    result = loaded(tmp_path, POLY_KEY="k", **POLYBRAIN)

    assert [model.id for model in result.settings.models] == ["gpt-x"]
    assert result.settings.models[0].base_url == "http://127.0.0.1:9/v1"
    assert result.settings.http.port == 3001


def test_two_of_polybrains_three_variables_mean_nothing_and_are_warned_about(
    tmp_path: Path,
) -> None:
    write(tmp_path, "models: [{id: ours}]")
    two = {name: POLYBRAIN[name] for name in list(POLYBRAIN)[:2]}

    result = loaded(tmp_path, **two)

    assert [model.id for model in result.settings.models] == ["ours"]
    assert "means nothing without POLYBRAIN_MODEL_NAME" in result.warnings[0]


@pytest.mark.feature("F083", "F222", "F223", "F224")
def test_polybrains_file_is_read_where_it_says(tmp_path: Path) -> None:
    path = write(tmp_path, POLYBRAIN_FILE, "elsewhere.yaml")

    settings = loaded(tmp_path, POLYBRAIN_CONFIG_PATH=str(path), POLY_KEY="the-key").settings

    assert settings.http.port == 3001
    assert settings.logging.level == "warning"
    assert settings.conversations.truncate_limit == 77
    key = settings.models[0].api_key
    assert key
    assert key.get_secret_value() == "the-key"
    assert settings.models[0].model_name == "gpt-y"


def test_our_own_file_beats_polybrains(tmp_path: Path) -> None:
    write(tmp_path, "http: {port: 5}")
    write(tmp_path, "httpPort: 6\nlogLevel: error", "home/.polybrain.yaml")

    settings = loaded(tmp_path).settings

    assert (settings.http.port, settings.logging.level) == (5, "error")


def test_the_file_of_the_folder_beats_the_file_of_the_user(tmp_path: Path) -> None:
    write(tmp_path, "http: {port: 5}")
    write(tmp_path, "http: {port: 6, host: localhost}", "home/.config/junto/config.yaml")

    http = loaded(tmp_path).settings.http

    assert (http.port, http.host) == (5, "localhost")


def test_a_named_file_is_the_only_one(tmp_path: Path) -> None:
    write(tmp_path, "http: {port: 5}")
    named = write(tmp_path, "http: {host: localhost}", "named.yaml")

    http = loaded(tmp_path, JUNTO_CONFIG=str(named)).settings.http
    flagged = load(config=named, environment={}, home=tmp_path, directory=tmp_path).settings.http

    assert (http.port, http.host) == (32701, "localhost")
    assert flagged == http


@pytest.mark.parametrize("name", ["JUNTO_CONFIG", "POLYBRAIN_CONFIG_PATH"])
def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{name}=.*there is no such file"):
        loaded(tmp_path, **{name: "/nowhere/junto.yaml"})


def test_keys_may_be_written_in_either_case(tmp_path: Path) -> None:
    write(tmp_path, "http: {jsonOnly: true}\nconversations: {truncate_limit: 9}\ntools:\n")

    settings = loaded(tmp_path).settings

    assert settings.http.json_only
    assert settings.conversations.truncate_limit == 9


def test_a_variable_cannot_smuggle_yaml_into_the_file(tmp_path: Path) -> None:
    write(tmp_path, "answers: {system: '${EVIL}'}")

    settings = loaded(tmp_path, EVIL="x}\nhttp: {port: 1").settings

    assert settings.answers.system == "x}\nhttp: {port: 1"
    assert settings.http.port == 32701


def test_off_means_off_although_yaml_takes_it_for_a_truth_value(tmp_path: Path) -> None:
    write(tmp_path, "knowledge: {embeddings: off}")

    assert loaded(tmp_path).settings.knowledge.embeddings == "off"


@pytest.mark.feature("F211")
def test_lists_and_objects_are_json_in_the_environment(tmp_path: Path) -> None:
    models = json.dumps([{"id": "a", "contextWindow": 10}, {"id": "b"}])

    settings = loaded(tmp_path, JUNTO_MODELS=models, JUNTO_TOOLS_DISABLED='["kit"]').settings

    assert [(model.id, model.context_window) for model in settings.models] == [
        ("a", 10),
        ("b", None),
    ]
    assert settings.tools.disabled == ("kit",)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("90", 90), ("1500ms", 1.5), ("2 m", 120), ("12h", 43200), ("30d", 2592000)],
)
def test_durations_have_units(tmp_path: Path, written: str, seconds: float) -> None:
    settings = loaded(tmp_path, JUNTO_CONVERSATIONS_RETENTION=written).settings

    assert settings.conversations.retention == seconds


def test_enumerations_and_empty_values(tmp_path: Path) -> None:
    settings = loaded(tmp_path, JUNTO_CONVERSATIONS_CONTEXT="last_n", JUNTO_HTTP_PORT="").settings

    assert settings.conversations.context is ContextPolicy.LAST_N
    assert settings.http.port == 32701


BAD_VARIABLES = {
    "JUNTO_HTTP_PORT": ("many", "JUNTO_HTTP_PORT='many': it takes a whole number from 0 to 65535."),
    "POLYBRAIN_HTTP_PORT": (
        "99999",
        "POLYBRAIN_HTTP_PORT='99999': it takes a whole number from 0 to 65535.",
    ),
    "JUNTO_LOGGING_LEVEL": (
        "loud",
        "JUNTO_LOGGING_LEVEL='loud': it takes one of debug, info, warning, error.",
    ),
    "JUNTO_ANSWERS_TEMPERATURE": (
        "hot",
        "JUNTO_ANSWERS_TEMPERATURE='hot': it takes a number from 0 to 2.",
    ),
    "JUNTO_ANSWERS_MAX_TOKENS": (
        "0",
        "JUNTO_ANSWERS_MAX_TOKENS='0': it takes a whole number of at least 1.",
    ),
    "JUNTO_HTTP_JSON_ONLY": ("maybe", "JUNTO_HTTP_JSON_ONLY='maybe': it takes true or false."),
    "CLAUDE_SESSION_TIMEOUT": (
        "soon",
        "CLAUDE_SESSION_TIMEOUT='soon': it takes a duration such as 90s, 12h or 30d.",
    ),
    "CLAUDE_DISABLE_LOGGING": (
        "perhaps",
        "CLAUDE_DISABLE_LOGGING='perhaps': it takes true or false.",
    ),
    "CLAUDE_CODE_MAX_EXECUTION_TIME": (
        "long",
        "CLAUDE_CODE_MAX_EXECUTION_TIME='long': it takes a number of milliseconds.",
    ),
    "JUNTO_TOOLS_TIMEZONE": (
        "Mars/Olympus",
        "JUNTO_TOOLS_TIMEZONE='Mars/Olympus': it takes an IANA time zone such as Europe/Paris.",
    ),
    "JUNTO_MODELS": (
        "secret-in-here",
        "JUNTO_MODELS: it takes a list of entries, in the environment as JSON.",
    ),
}


@pytest.mark.feature("F247")
@pytest.mark.parametrize("name", BAD_VARIABLES)
def test_a_bad_value_names_the_variable_and_what_it_takes(tmp_path: Path, name: str) -> None:
    value, message = BAD_VARIABLES[name]

    with pytest.raises(ConfigurationError) as caught:
        loaded(tmp_path, **{name: value})

    assert str(caught.value) == message


def test_all_bad_values_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        loaded(tmp_path, JUNTO_HTTP_PORT="x", JUNTO_ANSWERS_TIMEOUT="y")

    assert len(str(caught.value).splitlines()) == 2


def test_a_mapping_is_json_in_the_environment(tmp_path: Path) -> None:
    chosen = loaded(tmp_path, JUNTO_KNOWLEDGE_TRUST='{"https://*": "low"}').settings.knowledge

    assert chosen.trust == {"https://*": Trust.LOW}
    with pytest.raises(ConfigurationError, match="one of high, normal, low, none"):
        loaded(tmp_path, JUNTO_KNOWLEDGE_TRUST="low")


def test_text_that_looks_like_json_is_text(tmp_path: Path) -> None:
    write(tmp_path, """answers: {system: '{"a": 1}'}""")

    settings = loaded(tmp_path, GEMINI_API_KEY='["k"]').settings

    assert settings.answers.system == '{"a": 1}'
    key = settings.providers.gemini.api_key
    assert key
    assert key.get_secret_value() == '["k"]'


def test_an_empty_variable_is_set_as_far_as_a_file_is_concerned(tmp_path: Path) -> None:
    write(tmp_path, "answers: {system: 'a${EMPTY}b'}")

    assert loaded(tmp_path, EMPTY="").settings.answers.system == "ab"


def test_a_key_in_the_wrong_place_is_not_quoted(tmp_path: Path) -> None:
    write(tmp_path, "http: {port: '${KEY}'}")
    key = "sk-ant-0123456789abcdefghij"

    for variables in ({"KEY": key}, {"KEY": "1", "CLAUDE_DISABLE_LOGGING": key}):
        with pytest.raises(ConfigurationError) as caught:
            loaded(tmp_path, **variables)
        assert key not in str(caught.value)


@pytest.mark.parametrize(
    "variables",
    [
        {"JUNTO_CONFIG": "~nosuchuser/x"},
        {"JUNTO_STATE_DIRECTORY": "~nosuchuser/x"},
        {"JUNTO_HTTP_DRAIN": "inf"},
        {"JUNTO_HTTP_REQUEST_TIMEOUT": "0"},
        {"JUNTO_MODELS": "[" * 50_000},
    ],
    ids=str,
)
def test_odd_values_are_errors_and_not_crashes(tmp_path: Path, variables: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        loaded(tmp_path, **variables)

    assert len(str(caught.value)) < 500


def test_a_folder_that_may_not_be_looked_into_holds_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refuse)

    assert loaded(tmp_path).files == ()


BAD_FILES = {
    "http: {port: 1, port: 2}": "port stands here twice.",
    "http: {maxBodyBytes: 1024, max_body_bytes: 2048}": "stands here twice, in two spellings.",
    "false": "junto.yaml: it should hold settings",
    "default_model: 2024-13-45": "junto.yaml: it: not valid YAML.",
    "http: {port: !!int abc}": "junto.yaml: it: not valid YAML.",
    "http: {json_only: !!bool maybe}": "junto.yaml: it: not valid YAML.",
    "models: &a [*a]": "junto.yaml: models: it contains itself.",
    "default_model: {a: 1}": "default_model={'a': 1}: it takes text.",
    "http: {prot: 1}": "junto.yaml: http.prot: there is no such setting. Did you mean http.port?",
    "whatever: 1": "junto.yaml: whatever: there is no such setting. `junto config show`",
    "http: 5": "junto.yaml: http: it should hold settings of its own.",
    "- a list": "junto.yaml: it should hold settings",
    "http: {port: x}": "junto.yaml: http.port='x': it takes a whole number from 0 to 65535.",
    "http:\n  port: 1\n bad\n": "junto.yaml: line ",
    "answers: {system: 'a ${NOPE} b'}": "answers.system: the variable NOPE is not set. Set it, or",
    "models: [{modelName: x}]": "junto.yaml: models: 0.id: field required.",
    "models: [{id: x, apiKey: ['${KEY}']}]": "junto.yaml: models: 0.apiKey: input should be a",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_a_bad_file_is_named_with_the_place_and_the_remedy(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)

    with pytest.raises(ConfigurationError) as caught:
        loaded(tmp_path, KEY="do-not-show-me")

    assert BAD_FILES[text] in str(caught.value)
    assert "do-not-show-me" not in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a: [" * 5000])
def test_a_file_that_is_no_yaml_at_all_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "junto.yaml").write_bytes(content)

    with pytest.raises(ConfigurationError, match=r"junto\.yaml: "):
        loaded(tmp_path)


def test_a_file_that_may_not_be_read_is_said_so(tmp_path: Path, monkeypatch: Any) -> None:
    write(tmp_path, "http: {port: 1}")

    def refuse(*_: Any) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)

    with pytest.raises(ConfigurationError, match=r"cannot be read \(Permission denied\)"):
        loaded(tmp_path)


def test_a_misspelt_variable_is_warned_about(tmp_path: Path) -> None:
    result = loaded(tmp_path, JUNTO_HTTP_PROT="1", JUNTO_CONFIG="")

    assert result.warnings == (
        "JUNTO_HTTP_PROT is set, but there is no such setting. `junto config show` lists them.",
    )


@pytest.mark.parametrize(
    "variable",
    ["JUNTO_DATABASE_URL", "DATABASE_URL", "JUNTO_REDIS_URL", "JUNTO_MODELS", "JUNTO_SERVERS"],
)
def test_what_may_hold_a_secret_is_not_repeated_when_it_is_wrong(
    variable: str, tmp_path: Path
) -> None:
    variables = {variable: "postgres:/me:h-u-s-h@host/x"}

    with pytest.raises(ConfigurationError) as raised:
        load(environment=variables, home=tmp_path, directory=tmp_path)

    assert variable in raised.value.message
    assert "h-u-s-h" not in raised.value.message
