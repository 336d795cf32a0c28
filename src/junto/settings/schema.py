"""The settings schema: every setting with its type, default and description."""

from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr

from junto.domain.limits import Period
from junto.settings.enums import (
    AgentOption,
    ContextPolicy,
    LogLevel,
    LogOutput,
    PermissionMode,
    SearchShape,
    SourceTrust,
    TextFormat,
    ToolAccess,
    ToolProfile,
)
from junto.settings.list_entries import (
    CommandEntry,
    ModelEntry,
    Section,
    ServerEntry,
    section_field,
)
from junto.settings.providers import ProvidersSettings
from junto.settings.types import (
    Dollars,
    Duration,
    NameList,
    NameOrOff,
    PathList,
    Port,
    PostgresUrl,
    RedisUrl,
    TimeZone,
    UserPath,
    split_list,
)

AgentOptionList = Annotated[tuple[AgentOption, ...], BeforeValidator(split_list)]


class EmbeddedSettings(Section):
    """The model inside Junto, which needs no key and no network."""

    enabled: bool = Field(default=True, description="whether it is offered at all")
    model: UserPath | None = Field(None, description="another model, as a GGUF file")
    context_window: int = Field(8192, ge=256, description="how many tokens it can hold")
    threads: int | None = Field(
        None, ge=1, le=512, description="threads it computes with; all cores but one if unset"
    )
    idle: Duration = Field(300, description="how long it stays in memory after its last answer")


class LimitsSettings(Section):
    """How much may be asked of a remote model."""

    requests_per_minute: int = Field(50, ge=1, description="requests to one model")
    tokens_per_minute: int = Field(100_000, ge=1, description="tokens to and from one model")
    wait: Duration = Field(30, description="how long a call waits for room before it fails")
    concurrent: int = Field(100, ge=1, description="calls to one provider at once")
    failures: int = Field(5, ge=1, description="failures in a row until a provider is left alone")
    cooldown: Duration = Field(30, description="how long it is left alone")


class BudgetSettings(Section):
    """How much may be spent; with a limit, models without a known price are refused."""

    limit: Dollars | None = Field(None, description="US dollars in a period; no limit if unset")
    period: Period = Field(Period.MONTH, description="how long a budget lasts")


class UsageSettings(Section):
    """What was used, by whom and with what: kept as sums, never what was said."""

    enabled: bool = Field(default=True, description="whether it is counted at all")
    retention: Duration = Field(400 * 86400, description="how long it is kept; 0 is for ever")


class CacheSettings(Section):
    """Answers given again to the same question."""

    enabled: bool = Field(default=False, description="whether answers are kept at all")
    seconds: Duration = Field(300, description="how long an answer is good")
    entries: int = Field(1000, ge=1, description="how many are kept in this process")


class AnswersSettings(Section):
    """What is asked of a model when the caller does not say."""

    max_tokens: int = Field(4096, ge=1, description="the longest answer, in tokens")
    max_chars: int | None = Field(
        None,
        ge=1000,
        le=16 * 1024 * 1024,
        description="the longest answer in characters, for models that ignore max_tokens; "
        "64 for each token if unset, and at least 262144",
    )
    temperature: float | None = Field(
        None, ge=0, le=2, description="sent only when set, and only where the model takes it"
    )
    system: str | None = Field(None, description="the system prompt of new conversations")
    timeout: Duration = Field(120, gt=0, description="how long one answer may take")
    silence: Duration = Field(60, gt=0, description="how long a provider may say nothing")
    connect: Duration = Field(10, gt=0, description="how long connecting to one may take")
    max_retries: int = Field(3, ge=0, description="how often a failed request is tried again")
    fallback: NameList = Field((), description="models to ask when the one asked cannot answer")


class ConversationsSettings(Section):
    """What is remembered, and how much of it is sent."""

    enabled: bool = Field(default=True, description="off makes every question stand alone")
    retention: Duration = Field(
        30 * 86400, description="idle conversations older than this go; 0 keeps all for ever"
    )
    context: ContextPolicy = Field(
        ContextPolicy.TOKEN_BUDGET, description="which part of a long conversation is sent"
    )
    max_history: int = Field(10, ge=1, description="messages sent under last_n and head_tail")
    truncate_limit: int = Field(500, ge=1, description="messages shown by conversation_history")


class AgentSettings(Section):
    """Claude Code as a tool: its defaults, which a call may override where allowed."""

    enabled: bool = Field(default=True, description="whether the tool is offered at all")
    cwd: UserPath | None = Field(None, description="where it works; the working directory if unset")
    model: str | None = Field(None, description="the model it uses; its own choice if unset")
    permission_mode: PermissionMode = Field(
        PermissionMode.ACCEPT_EDITS, description="how far it may go without asking"
    )
    max_turns: int | None = Field(None, ge=1, description="how many turns a run takes, if not said")
    max_messages: int = Field(
        100, ge=0, le=100_000, description="messages returned at the end of a run"
    )
    include_system_messages: bool = Field(default=True, description="whether those count too")
    time_limit: Duration = Field(300, gt=0, description="how long a run may take at the most")
    max_budget: Dollars | None = Field(None, description="the most that a run may cost")
    allowed_tools: NameList = Field((), description="the tools it may use without asking anybody")
    disallowed_tools: NameList = Field((), description="the tools it may not use at all")
    overrides: AgentOptionList = Field(
        tuple(each for each in AgentOption if each is not AgentOption.ALLOWED_TOOLS),
        description="the options that a call may set; allowedTools lets callers allow any tool",
    )
    allow_bypass: bool = Field(
        default=False, description="whether a call may ask for bypassPermissions"
    )
    user: str | None = Field(
        None, description="the user to run it as, which only root can; it needs one to bypass"
    )
    program: UserPath | None = Field(None, description="the program `claude`, if not the SDK's own")
    environment: NameList = Field(
        (), description="variables that it gets besides the few that it needs"
    )
    confine: bool = Field(
        default=True, description="whether the kernel lets it write to the roots only, if it can"
    )
    writable: PathList = Field((), description="folders it may write to besides the roots")
    consult: bool = Field(
        default=False, description="whether it may ask other models with Junto's own tools"
    )
    concurrent: int = Field(4, ge=1, description="runs at once; others wait")
    starting: int = Field(1, ge=1, description="runs that start at once, which takes a core each")
    waiting: int = Field(32, ge=0, description="runs that may wait")


class JobsSettings(Section):
    """Calls that may be long: each is a job, which is found again by its id."""

    long_call_seconds: Duration = Field(
        50, gt=0, description="how long a call may take before it goes on without its caller"
    )
    task_seconds: Duration = Field(
        2, description="the same for clients that understand the protocol's tasks"
    )
    retention: Duration = Field(
        86_400, gt=0, description="how long results are kept after the end of a job"
    )
    concurrent: int = Field(1000, ge=1, description="jobs at work at once; others wait")
    time_limit: Duration = Field(3600, gt=0, description="how long a job may take at the most")
    drain: Duration = Field(5, description="how long jobs may go on at shutdown once calls ended")
    reply_bytes: int = Field(
        60_000, ge=1000, description="the longest reply; the rest of a result is read with `job`"
    )


class KnowledgeSettings(Section):
    """The search over documents, notes and conversations."""

    embeddings: NameOrOff = Field(
        "embedded",
        min_length=1,
        description="what finds by meaning: embedded, off, or a provider's model such as "
        "openai/text-embedding-3-small",
    )
    threads: int | None = Field(
        None, ge=1, le=512, description="threads it computes with; all cores but one if unset"
    )
    exact_up_to: int = Field(
        100_000, ge=0, description="passages in SQLite above which an index is built for vectors"
    )
    largest_file: int = Field(
        32 * 1024 * 1024, ge=1, description="the largest file or page that is read, in bytes"
    )
    threshold: float = Field(
        0.5,
        ge=0,
        le=1,
        description="minimum relevance of a search result; off-topic ones are below 0.5",
    )
    similarity: float = Field(
        0.2, ge=-1, le=1, description="the least likeness of a result without the words"
    )
    trust: dict[str, SourceTrust] = Field(
        default_factory=dict,
        description="how far sources are trusted, by patterns of addresses; the first that fits",
    )


class ToolsSettings(Section):
    """Which tools clients see, and how far those reach that work on this machine."""

    profile: ToolProfile = Field(
        ToolProfile.FULL,
        description="which tools clients see: council has no local tools and no agent",
    )
    disabled: NameList = Field((), description="tools or groups of tools to leave out")
    text: TextFormat = Field(
        TextFormat.READABLE,
        description="the text of results: for readers, or the JSON of the structured content",
    )
    search_shape: SearchShape = Field(
        SearchShape.FULL,
        description="connector gives search and fetch exactly the fields of OpenAI's connectors",
    )
    roots: PathList = Field(
        (),
        description="folders with files; the working directory if empty, unless that is / or home",
    )
    over_http: ToolAccess = Field(
        ToolAccess.NONE, description="which tools for files, commands and the web HTTP clients get"
    )
    commands: tuple[CommandEntry, ...] = Field(
        (), description="commands that may run besides those that only look"
    )
    command_seconds: Duration = Field(60, gt=0, description="how long a command may take")
    command_memory: int = Field(
        2 * 1024**3,
        ge=2**20,
        description="the memory of a command and all that it starts, in bytes",
    )
    command_processes: int = Field(
        256, ge=2, le=100_000, description="the processes of a command at the same time"
    )
    command_scratch: int = Field(
        256 * 1024**2, ge=2**20, description="the temporary files of a command, in bytes"
    )
    command_environment: NameList = Field(
        (), description="variables that commands get besides the few that all need"
    )
    confine: bool = Field(
        default=True, description="whether the kernel holds commands to the roots, if it can"
    )
    page_size: int = Field(50, ge=1, le=1000, description="tools per page of tools/list")
    timezone: TimeZone = Field("UTC", description="the zone of current_time when none is asked for")


class GuardsSettings(Section):
    """What looks at questions and results; all of it is off unless it is asked for."""

    moderation_url: str | None = Field(
        None, description="a moderations endpoint that every question must pass"
    )
    moderation_key: SecretStr | None = Field(None, description="the key it wants")
    moderation_model: str | None = Field(None, description="the model it should use")
    redact_prompts: bool = Field(
        default=False, description="whether secrets and personal data are taken out of questions"
    )
    screen_results: bool = Field(
        default=False, description="whether results that give a model orders are withheld from it"
    )
    session_requests_per_minute: int | None = Field(
        None, ge=1, description="how often one conversation may be gone on with"
    )


class HttpSettings(Section):
    """The HTTP server."""

    host: str = Field("127.0.0.1", description="the address to listen on")
    port: Port = Field(32701, description="the port to listen on; 0 takes any free one")
    json_only: bool = Field(
        default=False, description="never stream an answer; progress is then lost"
    )
    sessions: bool = Field(
        default=False,
        description="keep sessions for clients before 2026-07-28, so that the server can ask them",
    )
    allowed_hosts: NameList = Field(
        (), description="names in the Host header to accept besides loopback, for a proxy"
    )
    allowed_origins: NameList = Field(
        (), description="web origins to accept besides loopback, as https://example.org"
    )
    max_body_bytes: int = Field(32 * 1024 * 1024, ge=1024, description="the largest request")
    request_timeout: Duration = Field(
        30, gt=0, description="how long a client may take to send one"
    )
    max_connections: int = Field(
        1000,
        ge=64,
        le=60_000,
        description="connections at once; above it, those without a complete request are closed",
    )
    max_buffered_bytes: int = Field(
        128 * 1024 * 1024,
        ge=1024,
        description="the memory that the bodies of all requests take together",
    )
    drain: Duration = Field(30, description="how long running calls may go on at shutdown")


class StdioSettings(Section):
    """The server on standard input and output."""

    max_line_bytes: int = Field(64 * 1024 * 1024, ge=1024, description="the longest message")
    drain: Duration = Field(30, description="how long running calls may go on once input ends")


class LoggingSettings(Section):
    """What is written about the work."""

    output: LogOutput = Field(LogOutput.STDERR, description="where log lines go")
    level: LogLevel | None = Field(
        None, description="the least important lines to keep; warning on stdio, info on HTTP"
    )
    directory: UserPath | None = Field(
        None, description="where log files go; the state directory's logs folder if unset"
    )


class DatabaseSettings(Section):
    """Where state is kept."""

    url: PostgresUrl | None = Field(None, description="PostgreSQL; a local SQLite file if unset")


class RedisSettings(Section):
    """What several servers share."""

    url: RedisUrl | None = Field(None, description="Redis; everything stays in-process if unset")


class Settings(Section):
    """The whole tree."""

    models: tuple[ModelEntry, ...] = Field((), description="the models that can be asked")
    default_model: str | None = Field(None, description="the first of `models` if unset")
    providers: ProvidersSettings = section_field()
    embedded: EmbeddedSettings = section_field()
    answers: AnswersSettings = section_field()
    limits: LimitsSettings = section_field()
    budget: BudgetSettings = section_field()
    usage: UsageSettings = section_field()
    cache: CacheSettings = section_field()
    conversations: ConversationsSettings = section_field()
    jobs: JobsSettings = section_field()
    agent: AgentSettings = section_field()
    knowledge: KnowledgeSettings = section_field()
    tools: ToolsSettings = section_field()
    servers: tuple[ServerEntry, ...] = Field(
        (), description="other MCP servers, whose tools models may use"
    )
    guards: GuardsSettings = section_field()
    http: HttpSettings = section_field()
    stdio: StdioSettings = section_field()
    logging: LoggingSettings = section_field()
    database: DatabaseSettings = section_field()
    redis: RedisSettings = section_field()
    state_directory: UserPath | None = Field(
        None, description="where Junto keeps its files; the platform's data directory if unset"
    )
