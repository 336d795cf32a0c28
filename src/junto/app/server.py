"""The MCP server of a running Junto: tools, resources, prompts and completions."""

import os

from junto.app.agent import AgentDependencies, build_agent
from junto.app.application import Application
from junto.app.roots import build_roots
from junto.app.usage import build_accounts
from junto.conversation.queries import ConversationReader
from junto.conversation.tool_loop import Toolbox
from junto.domain.limits import Budget
from junto.local_tools.attachments import Attachments
from junto.local_tools.files import LocalFiles
from junto.security.paths import Roots
from junto.settings.enums import TextFormat, ToolAccess, ToolProfile
from junto.settings.render import dump_settings
from junto.telemetry.logs import Log
from junto.tools.builtin.conversations import build_conversation_template, build_id_lookup
from junto.tools.builtin.files import build_file_template
from junto.tools.builtin.knowledge import build_document_template
from junto.tools.completions import LANGUAGES, Completions
from junto.tools.discovery import build_tools
from junto.tools.injection_filter import InjectionFilter
from junto.tools.job_calls import JobCalls
from junto.tools.middleware import CallServices
from junto.tools.prompts import Prompts, build_default_prompts
from junto.tools.registry import Registry
from junto.tools.resources import (
    Resources,
    build_config_resource,
    build_health_resource,
)
from junto.tools.server_spec import ServerSpec
from junto.tools.services import AgentServices, ToolServices
from junto.tools.tasks import Tasks
from junto.tools.tool import CallContext, Group
from junto.tools.toolbox import OwnTools
from junto.tools.upstream_servers import CombinedToolbox, build_upstream_servers
from junto.version import __version__

DESCRIPTION = "A council of models with one memory, for any MCP client."
_INTRODUCTION = (
    "Junto gives you other AI models, conversations that are stored, search in your documents, and "
    "local tools."
)
_GENERAL_INSTRUCTIONS = (
    "Errors say what to change, and whether a retry can help. The resource config://server shows "
    "the settings."
)

_NO_FILES_OVER_HTTP_MESSAGE = "Over HTTP no file is read, unless tools.over_http allows it."
_log = Log.get("app")


def build_server_spec(
    app: Application, access: ToolAccess = ToolAccess.ALL, *, over_http: bool = False
) -> ServerSpec:
    """Return everything that a client with this access to local tools sees.

    Raises:
        ConfigurationError: the settings of the tools are inconsistent.
    """
    return _ServerBuilder(app, access, over_http=over_http).build()


class _ServerBuilder:
    """Builds the parts of the server, which share the settings, the roots and the reader."""

    def __init__(self, app: Application, access: ToolAccess, *, over_http: bool) -> None:
        self.app, self.settings, self.access = app, app.settings, access
        self.over_http = over_http
        self.call_services = self._build_call_services()
        self.upstream_servers = build_upstream_servers(self.settings.servers)
        for server in self.upstream_servers:
            app.stack.push_async_callback(server.close)
        self.roots = self._build_roots()
        self.attachments = Attachments(self.roots)
        self.reader = ConversationReader(
            app.conversations, self.settings.conversations.truncate_limit
        )
        # Tools that ask models, and the agent, get tools of the registry that they are in.
        self.registry = self._build_registry()

    def build(self) -> ServerSpec:
        jobs, registry = self.settings.jobs, self.registry
        prompts = Prompts(build_default_prompts(), page_size=self.settings.tools.page_size)
        return ServerSpec(
            name="junto",
            title="Junto",
            version=__version__,
            description=DESCRIPTION,
            instructions=_build_instructions(registry),
            tools=registry,
            resources=self._build_resources(),
            prompts=prompts,
            completions=self._build_completions(prompts),
            redactor=self.call_services.redactor,
            tasks=Tasks(
                self.app.jobs,
                retention_seconds=jobs.retention,
                max_reply_bytes=jobs.reply_bytes if "job" in registry.names else None,
            ),
        )

    def _build_roots(self) -> Roots:
        if self.access is ToolAccess.NONE:
            return Roots((), _NO_FILES_OVER_HTTP_MESSAGE)
        roots = build_roots(self.settings)
        if not roots.roots:
            _log.warning(roots.empty_message)
        return roots

    def _build_call_services(self) -> CallServices:
        app, jobs = self.app, self.settings.jobs
        return CallServices(
            metrics=app.metrics,
            redactor=app.redactor,
            usage_recorder=app.usage.recorder,
            json_text=self.settings.tools.text is TextFormat.JSON,
            job_calls=JobCalls(
                jobs=app.jobs,
                redactor=app.redactor,
                wait_seconds=jobs.long_call_seconds,
                task_wait_seconds=jobs.task_seconds,
                retention_seconds=jobs.retention,
                max_reply_bytes=jobs.reply_bytes,
            ),
        )

    def _build_registry(self) -> Registry:
        tools = build_tools(self._build_tool_services(), self.access)
        settings = self.settings.tools
        disabled = settings.disabled
        if "tools.disabled" in self.app.loaded.tightened:
            # Names that do not exist are an error, but not in a file of somebody else.
            tools = list(tools)
            known = {*Group, *(tool.name for tool in tools)}
            disabled = tuple(name for name in disabled if name in known)
        if settings.profile is ToolProfile.COUNCIL:
            disabled = (*disabled, *(tool.name for tool in tools if not tool.for_council))
        return Registry(
            tools,
            services=self.call_services,
            disabled=disabled,
            page_size=settings.page_size,
        )

    def _build_tool_services(self) -> ToolServices:
        app = self.app
        return ToolServices(
            settings=self.settings,
            environment=os.environ,
            redactor=app.redactor,
            over_http=self.over_http,
            roots=self.roots,
            attachments=self.attachments,
            conversations=app.conversations,
            reader=self.reader,
            search=app.knowledge.search,
            documents=app.knowledge.documents,
            jobs=app.jobs,
            usage_reports=app.usage.reports,
            build_toolbox=self._build_toolbox,
            build_agent=self._build_agent,
        )

    async def _build_toolbox(self, call: CallContext) -> Toolbox:
        """Return the tools that a model may call while it answers `call`."""
        own = OwnTools(self.registry, call)
        toolbox: Toolbox = own
        if self.upstream_servers:
            toolbox = await CombinedToolbox.create(own, self.upstream_servers)
        return InjectionFilter(toolbox) if self.settings.guards.screen_results else toolbox

    def _build_agent(self) -> AgentServices | None:
        if self.access is not ToolAccess.ALL:
            return None
        dependencies = AgentDependencies(
            roots=self.roots,
            state_dir=self.app.state_dir,
            sessions=self.app.sessions,
            redactor=self.call_services.redactor,
            metrics=self.call_services.metrics,
            usage_recorder=self.call_services.usage_recorder,
            budget=Budget(self.app.usage.ledger, build_accounts(self.settings)),
            build_exposed_tools=self._build_exposed_tools,
        )
        return build_agent(self.settings, dependencies)

    def _build_exposed_tools(self) -> Registry:
        """Return the tools that Claude Code may call during a run."""
        tools = (tool for tool in self.registry.tools if tool.for_agent)
        return Registry(tools, services=self.call_services)

    def _build_resources(self) -> Resources:
        app, has_files = self.app, self.access is not ToolAccess.NONE
        config = build_config_resource(dump_settings(app.loaded))
        return Resources(
            (config, build_health_resource(app.status)),
            (
                *((build_conversation_template(self.reader),) if app.conversations.store else ()),
                build_document_template(app.knowledge.documents),
                *((build_file_template(LocalFiles(self.roots)),) if has_files else ()),
            ),
            page_size=self.settings.tools.page_size,
        )

    def _build_completions(self, prompts: Prompts) -> Completions:
        conversations = self.app.conversations
        return Completions(
            {"modelId": lambda: list(conversations.catalog.specs()), "language": lambda: LANGUAGES},
            prompts,
            {"id": build_id_lookup(self.reader)} if conversations.store else None,
        )


def _build_instructions(registry: Registry) -> str:
    sentences = [tool.instructions for tool in registry.tools if tool.instructions]
    return " ".join([_INTRODUCTION, *sentences, _GENERAL_INSTRUCTIONS])
