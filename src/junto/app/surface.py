"""What clients see of a running Junto, put together from its services and its settings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from junto import __version__
from junto.app.agent import Around, agent_of
from junto.app.kit import kit_of, roots_of
from junto.app.knowledge import Knowledge
from junto.conversation.reading import Reader
from junto.conversation.service import Conversations
from junto.conversation.tool_loop import Toolbox
from junto.domain.sessions import SessionStore
from junto.jobs.service import Jobs
from junto.kit.attachments import Attachments
from junto.kit.files import Files
from junto.security.paths import Roots
from junto.settings import Loaded
from junto.settings.choices import Reach
from junto.settings.showing import as_facts
from junto.telemetry.logs import Log
from junto.telemetry.reports import UsageReports
from junto.tools.chat import chat, query
from junto.tools.completions import LANGUAGES, Completions
from junto.tools.documents import add_note, document_template, fetch
from junto.tools.files import file_template
from junto.tools.guard import Guard
from junto.tools.jobs import job
from junto.tools.knowledge import (
    search,
    search_documents,
    search_history,
    search_system_knowledge,
)
from junto.tools.long import LongCalls
from junto.tools.memory import conversation_history, list_conversations
from junto.tools.models import list_models
from junto.tools.prompts import Prompts, house_prompts
from junto.tools.registry import Registry
from junto.tools.resources import Resources
from junto.tools.screening import Screened
from junto.tools.servers import Server, ServerTools
from junto.tools.status import Status, config_resource, health_resource
from junto.tools.stories import conversation_ids, conversation_template
from junto.tools.surface import Surface
from junto.tools.tasks import Tasks
from junto.tools.tool import Call, Tool
from junto.tools.toolbox import OwnTools
from junto.tools.usage import usage

DESCRIPTION = "A council of models with one memory, for any MCP client."
_INSTRUCTIONS = "Junto gives you other models and local tools."
_ABOUT_TOOLS = {
    "chat": "chat asks another model and remembers; pass conversationId to go on.",
    "list_models": "list_models shows which models can be asked.",
    "job": "A long call goes on as a job, which job finds; background: true asks for that.",
    "search": "search finds documents, notes and what was said before; fetch reads them.",
    "current_time": "current_time tells the time in any zone.",
    "claude_code_query": "claude_code_query has Claude Code do work in a folder.",
    "read_file": "read_file and its like reach only the allowed folders.",
    "get_env": "get_env reads one environment variable of the server; secrets are never shown.",
}
_ABOUT_ALL = """\
An error says what to change and whether trying again can help. The resource config://server shows \
the settings in force and where each comes from."""

_NOT_OVER_HTTP = "Over HTTP no file is read, unless tools.over_http allows it."
_log = Log.of("app")


def _instructions(tools: Registry) -> str:
    offered = set(tools.names)
    about = [sentence for name, sentence in _ABOUT_TOOLS.items() if name in offered]
    return " ".join([_INSTRUCTIONS, *about, _ABOUT_ALL])


# What an agent may ask of us: other models, and what is known.
_CONSULTED = ("chat", "compare", "list_models", "search")


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What answers the calls."""

    conversations: Conversations
    jobs: Jobs
    status: Status
    servers: tuple[Server, ...]
    sessions: SessionStore
    knowledge: Knowledge
    usage: UsageReports
    state: Path


def surface_of(loaded: Loaded, guard: Guard, services: Services, reach: Reach) -> Surface:
    """Return all that a client with this reach sees."""
    conversations, jobs = services.conversations, services.jobs
    settings, catalog, redactor = loaded.settings, conversations.catalog, guard.redactor
    chosen = settings.jobs
    page = settings.tools.page_size
    reader = Reader(conversations, settings.conversations.truncate_limit)
    roots = Roots((), _NOT_OVER_HTTP) if reach is Reach.NONE else roots_of(settings)
    if not roots.roots and reach is not Reach.NONE:
        _log.warning(roots.why_none)
    files = Attachments(roots)
    remembering: tuple[Tool[Any], ...] = (
        conversation_history(reader),
        list_conversations(reader),
        search_history(services.knowledge.search),
    )
    knowing: tuple[Tool[Any], ...] = (
        search_documents(services.knowledge.search),
        search_system_knowledge(services.knowledge.search),
        search(services.knowledge.search),
        fetch(services.knowledge.library),
        add_note(services.knowledge.library),
    )
    # A model may use what is offered, and what is offered holds the tools that ask models.
    offered: list[Registry] = []

    async def toolbox(call: Call) -> Toolbox:
        own = OwnTools(offered[0], call)
        box: Toolbox = own
        if services.servers:
            box = await ServerTools.beside(own, services.servers)
        return Screened(box) if settings.guards.screen_results else box

    tools: tuple[Tool[Any], ...] = (
        chat(conversations, files, toolbox),
        query(conversations, files, toolbox),
        list_models(catalog),
        *(remembering if conversations.store else ()),
        *knowing,
        job(jobs, chosen.reply_bytes),
        *((usage(services.usage),) if settings.usage.enabled else ()),
        *kit_of(settings, roots, redactor, reach),
    )
    long = LongCalls(
        jobs=jobs,
        guard=guard,
        patience=chosen.long_call_seconds,
        before_task=chosen.task_seconds,
        kept=chosen.retention,
        most_bytes=chosen.reply_bytes,
    )
    around = Around(
        roots=roots,
        state=services.state,
        files=files,
        sessions=services.sessions,
        redactor=redactor,
        metrics=guard.metrics,
        book=guard.book,
        consulted=Registry(
            (tool for tool in tools if tool.name in _CONSULTED), guard=guard, long=long
        ),
    )
    agent = agent_of(settings, around) if reach is Reach.ALL else ()
    registry = Registry(
        (*tools, *agent), guard=guard, long=long, off=settings.tools.disabled, page=page
    )
    offered.append(registry)
    prompts = Prompts(house_prompts(), page=page)
    return Surface(
        name="junto",
        title="Junto",
        version=__version__,
        description=DESCRIPTION,
        instructions=_instructions(registry),
        tools=registry,
        resources=Resources(
            (config_resource(as_facts(loaded)), health_resource(services.status)),
            (
                *((conversation_template(reader),) if conversations.store else ()),
                document_template(services.knowledge.library),
                *(() if reach is Reach.NONE else (file_template(Files(roots)),)),
            ),
            page=page,
        ),
        prompts=prompts,
        completions=Completions(
            {"modelId": lambda: list(catalog.offers()), "language": lambda: LANGUAGES},
            prompts,
            {"id": conversation_ids(reader)} if conversations.store else None,
        ),
        redactor=redactor,
        tasks=Tasks(
            jobs,
            kept=chosen.retention,
            most_bytes=chosen.reply_bytes if "job" in registry.names else None,
        ),
    )
