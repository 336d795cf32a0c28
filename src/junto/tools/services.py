"""What tools are built from."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from junto.conversation.queries import ConversationReader
from junto.conversation.service import Conversations
from junto.conversation.tool_loop import Toolbox
from junto.jobs.service import JobService
from junto.knowledge.documents import DocumentLibrary
from junto.knowledge.search import Search
from junto.local_tools.attachments import Attachments
from junto.security.paths import Roots
from junto.security.redaction import Redactor
from junto.settings.schema import Settings
from junto.telemetry.usage_reports import UsageReports
from junto.tools.tool import CallContext

if TYPE_CHECKING:
    from junto.agent.options import RunPolicy
    from junto.agent.service import AgentService

# Builds the toolbox that a model may use on behalf of the caller.
ToolboxFactory = Callable[[CallContext], Awaitable[Toolbox]]


@dataclass(frozen=True, slots=True)
class AgentServices:
    """The agent, and what its runs may do."""

    service: "AgentService"
    policy: "RunPolicy"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServices:
    """The settings and services of the server whose tools are built."""

    settings: Settings
    environment: Mapping[str, str]
    redactor: Redactor
    # Whether the callers connect over HTTP, rather than from the process that started us.
    over_http: bool
    roots: Roots
    attachments: Attachments
    conversations: Conversations
    reader: ConversationReader
    search: Search
    documents: DocumentLibrary
    jobs: JobService
    usage_reports: UsageReports
    build_toolbox: ToolboxFactory
    # Returns None where the agent is not enabled, installed or allowed.
    build_agent: Callable[[], AgentServices | None]
