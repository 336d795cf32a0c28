"""The guards of prompts hold for runs of Claude Code: the task, its system prompt, and messages."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from junto.agent.run import EndReason, Run, StopRequest
from junto.agent.run_state import RunState
from junto.domain.errors import NetworkError, PermissionDeniedError
from junto.domain.sessions import Session
from junto.providers.middleware.guards import PromptGuard
from tests.agent.claude_code_server import call_tool, run_agent, say, stdio_client, steps
from tests.fake_model_server import fake_model_server

SESSION = Session(id="s", owner="me", cwd="/", cost=0, created=1, updated=1)


class FixedModerator:
    def __init__(self, *violations: str) -> None:
        self.violations, self.texts = violations, list[str]()

    async def find_violations(self, text: str) -> tuple[str, ...]:
        self.texts.append(text)
        return self.violations


@pytest.mark.feature("F173")
def test_personal_data_and_unmoderated_prompts_do_not_reach_claude_code(tmp_path: Path) -> None:
    prompt = f"Write to jane.doe@example.org. {steps(say('done'))}"
    options = {"appendSystemPrompt": "Jane is jane.doe@example.org."}
    with fake_model_server() as upstream:
        with stdio_client(tmp_path, upstream, JUNTO_GUARDS_REDACT_PROMPTS="true") as client:
            run = run_agent(client, prompt, options=options)
            sent = json.dumps(upstream.bodies)
        upstream.bodies.clear()
        # Nothing listens there, and without a verdict nothing is sent.
        moderation = {"JUNTO_GUARDS_MODERATION_URL": "http://127.0.0.1:9/v1/moderations"}
        with stdio_client(tmp_path, upstream, **moderation) as client:
            unchecked = call_tool(client, "claude_code_query", prompt=prompt)

    assert run["result"]["summary"] == "done"
    assert "Write to" in sent
    assert "Jane is" in sent
    assert "jane.doe@example.org" not in sent
    assert unchecked["isError"]
    assert "moderation endpoint" in unchecked["content"][0]["text"]
    assert upstream.bodies == []


async def test_moderation_sees_the_redacted_prompt_and_refuses_it() -> None:
    moderator = FixedModerator("violence")
    guard = PromptGuard(moderator, lambda text: text.replace("secret", "***"))

    with pytest.raises(PermissionDeniedError, match="violence"):
        await guard.check(["a secret", "a picture"])

    assert moderator.texts == ["a ***\na picture"]


class FakeSdkClient:
    """Takes messages, and answers nothing by itself."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def query(self, prompt: AsyncIterator[dict[str, Any]]) -> None:
        self.texts += [each["message"]["content"][0]["text"] async for each in prompt]

    async def receive_messages(self) -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield

    async def interrupt(self) -> None:
        pass


class RecordingListener:
    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.inbox: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.reported = asyncio.Event()

    def on_message(self, message: Any) -> None:
        self.messages.append(message)
        self.reported.set()

    def on_text(self, _text: str) -> None: ...

    def on_status(self, _status: str) -> None: ...

    def set_inbox(self, inbox: Any) -> None:
        if inbox and not self.inbox.done():
            self.inbox.set_result(inbox)


@pytest.mark.parametrize("refusal", [PermissionDeniedError("not so"), NetworkError("not so")])
async def test_a_further_message_that_is_refused_is_not_sent_and_the_run_goes_on(
    refusal: Exception,
) -> None:
    async def check(_texts: Sequence[str]) -> tuple[str, ...]:
        raise refusal

    client, listener = FakeSdkClient(), RecordingListener()
    state = RunState(10, include_system=True, redact=str)
    run = Run(
        content=[{"type": "text", "text": "task"}],
        state=state,
        listener=cast("Any", listener),
        session=SESSION,
        check_prompt=check,
    )
    driving = asyncio.create_task(run.drive(client, StopRequest()))
    async with asyncio.timeout(30):
        (await listener.inbox)("bad words")
        await listener.reported.wait()
        [task] = state._pending_uuids  # the refused message is not waited for
        run.on_message({"type": "user", "isReplay": True, "uuid": task})
        run.on_message({"type": "result", "subtype": "success"})
        run.on_message({"type": "system", "subtype": "session_state_changed", "state": "idle"})
        assert await driving is EndReason.COMPLETED

    assert client.texts == ["task"]
    assert listener.messages[0]["message"]["error"] == "not so"
