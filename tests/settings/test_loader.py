import json
from pathlib import Path
from typing import Any

import pytest

from junto.domain.errors import ConfigurationError
from junto.settings import LoadedSettings, load_settings
from junto.settings.aliases import ALIASES
from junto.settings.enums import ContextPolicy, LogOutput, PermissionMode, SourceTrust
from junto.settings.fields import collect_fields
from junto.settings.render import get_value
from junto.settings.workspace_trust import TrustStore


def load(tmp_path: Path, /, **variables: str) -> LoadedSettings:
    return load_settings(
        {}, environment=variables, home_dir=tmp_path / "home", working_dir=tmp_path
    )


def write_config(tmp_path: Path, text: str, name: str = "junto.yaml") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    for home in (tmp_path, tmp_path / "home"):  # a file in the working directory must be trusted
        TrustStore(home / ".config" / "junto" / "trusted.json").add(path, text.encode())
    return path


def test_without_configuration_every_setting_has_its_default_as_origin(tmp_path: Path) -> None:
    result = load(tmp_path)

    assert result.settings.http.port == 32701
    assert result.settings.http.host == "127.0.0.1"
    assert {str(origin) for origin in result.origins.values()} == {"default"}
    assert result.files == ()


def test_a_flag_beats_a_variable_beats_an_alias_beats_a_file(tmp_path: Path) -> None:
    path = write_config(tmp_path, "http: {port: 4}")
    variables = {"POLYBRAIN_HTTP_PORT": "3", "JUNTO_HTTP_PORT": "2"}

    def load_with_flag(port: int | None) -> LoadedSettings:
        return load_settings(
            {"http.port": port}, environment=variables, home_dir=tmp_path, working_dir=tmp_path
        )

    by_flag = load_with_flag(1)
    by_variable = load_with_flag(None)
    by_alias = load(tmp_path, POLYBRAIN_HTTP_PORT="3")
    by_file = load(tmp_path)

    ports = [each.settings.http.port for each in (by_flag, by_variable, by_alias, by_file)]
    origins = [str(e.origins["http.port"]) for e in (by_flag, by_variable, by_alias, by_file)]
    assert ports == [1, 2, 3, 4]
    assert origins == [
        "flag --port",
        "environment JUNTO_HTTP_PORT",
        "alias POLYBRAIN_HTTP_PORT",
        f"file {path}",
    ]


def test_every_setting_has_its_own_variable_and_a_description() -> None:
    variables = [field.variable for field in collect_fields().values()]

    assert len(set(variables)) == len(variables)
    assert all(field.description for field in collect_fields().values())


# Each alias with a raw value and the value of the setting that it must give.
ALIAS_VALUES: dict[str, tuple[str, Any]] = {
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
def test_an_alias_sets_its_setting(tmp_path: Path, alias: Any) -> None:
    written, expected = ALIAS_VALUES[alias.variable]

    result = load(tmp_path, **{alias.variable: written})

    value = get_value(result.settings, alias.path)
    assert getattr(value, "get_secret_value", lambda: value)() == expected
    assert str(result.origins[alias.path]) == f"alias {alias.variable}"


def test_disabled_logging_beats_logging_to_stderr(tmp_path: Path) -> None:
    both = {"CLAUDE_DISABLE_LOGGING": "true", "CLAUDE_LOG_TO_STDERR": "true"}
    enabled = {"CLAUDE_DISABLE_LOGGING": "false", "CLAUDE_LOG_TO_STDERR": "true"}

    assert load(tmp_path, **both).settings.logging.output is LogOutput.NONE
    assert load(tmp_path, **enabled).settings.logging.output is LogOutput.STDERR


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
    write_config(tmp_path, "models: [{id: ours}]")
    write_config(tmp_path, POLYBRAIN_FILE, "home/.polybrain.yaml")

    result = load(tmp_path, POLY_KEY="k", **POLYBRAIN)

    assert [model.id for model in result.settings.models] == ["gpt-x"]
    assert result.settings.models[0].base_url == "http://127.0.0.1:9/v1"
    assert result.settings.http.port == 3001


def test_two_of_polybrains_three_variables_are_ignored_with_a_warning(
    tmp_path: Path,
) -> None:
    write_config(tmp_path, "models: [{id: ours}]")
    two = {name: POLYBRAIN[name] for name in list(POLYBRAIN)[:2]}

    result = load(tmp_path, **two)

    assert [model.id for model in result.settings.models] == ["ours"]
    assert "means nothing without POLYBRAIN_MODEL_NAME" in result.warnings[0]


@pytest.mark.feature("F083", "F222", "F223", "F224")
def test_polybrains_file_is_read_from_the_configured_path(tmp_path: Path) -> None:
    path = write_config(tmp_path, POLYBRAIN_FILE, "elsewhere.yaml")

    settings = load(tmp_path, POLYBRAIN_CONFIG_PATH=str(path), POLY_KEY="the-key").settings

    assert settings.http.port == 3001
    assert settings.logging.level == "warning"
    assert settings.conversations.truncate_limit == 77
    key = settings.models[0].api_key
    assert key
    assert key.get_secret_value() == "the-key"
    assert settings.models[0].model_name == "gpt-y"


def test_our_own_file_beats_polybrains(tmp_path: Path) -> None:
    write_config(tmp_path, "http: {port: 5}")
    write_config(tmp_path, "httpPort: 6\nlogLevel: error", "home/.polybrain.yaml")

    settings = load(tmp_path).settings

    assert (settings.http.port, settings.logging.level) == (5, "error")


def test_the_file_in_the_working_directory_beats_the_user_file(tmp_path: Path) -> None:
    write_config(tmp_path, "http: {port: 5}")
    write_config(tmp_path, "http: {port: 6, host: localhost}", "home/.config/junto/config.yaml")

    http = load(tmp_path).settings.http

    assert (http.port, http.host) == (5, "localhost")


def test_an_explicit_config_file_is_the_only_one_read(tmp_path: Path) -> None:
    write_config(tmp_path, "http: {port: 5}")
    config = write_config(tmp_path, "http: {host: localhost}", "named.yaml")

    http = load(tmp_path, JUNTO_CONFIG=str(config)).settings.http
    by_flag = load_settings(
        config=config, environment={}, home_dir=tmp_path, working_dir=tmp_path
    ).settings.http

    assert (http.port, http.host) == (32701, "localhost")
    assert by_flag == http


@pytest.mark.parametrize("name", ["JUNTO_CONFIG", "POLYBRAIN_CONFIG_PATH"])
def test_a_missing_explicit_config_file_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{name}=.*there is no such file"):
        load(tmp_path, **{name: "/nowhere/junto.yaml"})


def test_keys_may_be_camel_case_or_snake_case(tmp_path: Path) -> None:
    write_config(tmp_path, "http: {jsonOnly: true}\nconversations: {truncate_limit: 9}\ntools:\n")

    settings = load(tmp_path).settings

    assert settings.http.json_only
    assert settings.conversations.truncate_limit == 9


def test_a_variable_cannot_smuggle_yaml_into_the_file(tmp_path: Path) -> None:
    write_config(tmp_path, "answers: {system: '${EVIL}'}")

    settings = load(tmp_path, EVIL="x}\nhttp: {port: 1").settings

    assert settings.answers.system == "x}\nhttp: {port: 1"
    assert settings.http.port == 32701


def test_off_stays_text_although_yaml_reads_it_as_a_boolean(tmp_path: Path) -> None:
    write_config(tmp_path, "knowledge: {embeddings: off}")

    assert load(tmp_path).settings.knowledge.embeddings == "off"


@pytest.mark.feature("F211")
def test_lists_and_objects_are_json_in_the_environment(tmp_path: Path) -> None:
    models = json.dumps([{"id": "a", "contextWindow": 10}, {"id": "b"}])

    settings = load(tmp_path, JUNTO_MODELS=models, JUNTO_TOOLS_DISABLED='["kit"]').settings

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
    settings = load(tmp_path, JUNTO_CONVERSATIONS_RETENTION=written).settings

    assert settings.conversations.retention == seconds


def test_enumerations_are_parsed_and_empty_values_ignored(tmp_path: Path) -> None:
    settings = load(tmp_path, JUNTO_CONVERSATIONS_CONTEXT="last_n", JUNTO_HTTP_PORT="").settings

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
        load(tmp_path, **{name: value})

    assert str(caught.value) == message


def test_all_bad_values_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, JUNTO_HTTP_PORT="x", JUNTO_ANSWERS_TIMEOUT="y")

    assert len(str(caught.value).splitlines()) == 2


def test_a_mapping_is_json_in_the_environment(tmp_path: Path) -> None:
    knowledge = load(tmp_path, JUNTO_KNOWLEDGE_TRUST='{"https://*": "low"}').settings.knowledge

    assert knowledge.trust == {"https://*": SourceTrust.LOW}
    with pytest.raises(ConfigurationError, match="one of high, normal, low, none"):
        load(tmp_path, JUNTO_KNOWLEDGE_TRUST="low")


def test_text_that_looks_like_json_stays_text(tmp_path: Path) -> None:
    write_config(tmp_path, """answers: {system: '{"a": 1}'}""")

    settings = load(tmp_path, GEMINI_API_KEY='["k"]').settings

    assert settings.answers.system == '{"a": 1}'
    key = settings.providers.get("gemini").api_key
    assert key
    assert key.get_secret_value() == '["k"]'


def test_an_empty_variable_counts_as_set_in_a_file(tmp_path: Path) -> None:
    write_config(tmp_path, "answers: {system: 'a${EMPTY}b'}")

    assert load(tmp_path, EMPTY="").settings.answers.system == "ab"


def test_a_key_in_the_wrong_place_is_not_repeated_in_the_error(tmp_path: Path) -> None:
    write_config(tmp_path, "http: {port: '${KEY}'}")
    key = "sk-ant-0123456789abcdefghij"

    for variables in ({"KEY": key}, {"KEY": "1", "CLAUDE_DISABLE_LOGGING": key}):
        with pytest.raises(ConfigurationError) as caught:
            load(tmp_path, **variables)
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
def test_unusual_values_are_errors_and_not_crashes(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, **variables)

    assert len(str(caught.value)) < 500


def test_a_config_file_in_an_inaccessible_folder_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refuse)

    assert load(tmp_path).files == ()


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
def test_a_bad_file_is_reported_with_the_location_and_the_fix(tmp_path: Path, text: str) -> None:
    write_config(tmp_path, text)

    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, KEY="do-not-show-me")

    assert BAD_FILES[text] in str(caught.value)
    assert "do-not-show-me" not in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a: [" * 5000])
def test_a_file_that_is_not_yaml_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "junto.yaml"
    path.write_bytes(content)

    with pytest.raises(ConfigurationError, match=r"junto\.yaml: "):
        load_settings(config=path, environment={}, home_dir=tmp_path)


def test_an_unreadable_file_is_reported(tmp_path: Path, monkeypatch: Any) -> None:
    path = write_config(tmp_path, "http: {port: 1}")

    def refuse(*_: Any) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)

    with pytest.raises(ConfigurationError, match=r"cannot be read \(Permission denied\)"):
        load_settings(config=path, environment={}, home_dir=tmp_path)


def test_a_misspelled_variable_causes_a_warning(tmp_path: Path) -> None:
    result = load(tmp_path, JUNTO_HTTP_PROT="1", JUNTO_CONFIG="")

    assert result.warnings == (
        "JUNTO_HTTP_PROT is set, but there is no such setting. `junto config show` lists them.",
    )


@pytest.mark.parametrize(
    "variable",
    ["JUNTO_DATABASE_URL", "DATABASE_URL", "JUNTO_REDIS_URL", "JUNTO_MODELS", "JUNTO_SERVERS"],
)
def test_an_invalid_value_that_may_hold_a_secret_is_not_repeated(
    variable: str, tmp_path: Path
) -> None:
    variables = {variable: "postgres:/me:h-u-s-h@host/x"}

    with pytest.raises(ConfigurationError) as raised:
        load_settings(environment=variables, home_dir=tmp_path, working_dir=tmp_path)

    assert variable in raised.value.message
    assert "h-u-s-h" not in raised.value.message
