"""A model API on loopback in a thread, for tests whose own loop is busy waiting for a server.

It says which model heard how many messages; `fail 429`, `cut`, `think`, `long` and `say …` make it
do so instead; `use …` makes it ask for the tools in the JSON that follows, and tell what they gave;
`use-on …` makes it ask again and again. `steps …` is followed by a list of what to do in turn, for
an agent: {"text"}, {"name", "input"} for a tool, {"status"} for a failure, so many {"times"} at the
start, {"hang": true}. `drip`
never ends, `wait 3` ends after three seconds, and `hush` never says a word.
"""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.scripted_model_server import anthropic_events, encode_event, openai_events

Json = dict[str, Any]


@dataclass
class FakeModelServer:
    """Where it listens, and what it was asked."""

    url: str = ""
    bodies: list[Json] = field(default_factory=list)
    # When each answer that nobody waited for any more was given up, on the monotonic clock.
    hung_up: list[float] = field(default_factory=list)
    open: int = 0
    refusals: int = 0

    def should_refuse(self, step: Json) -> bool:
        """Return whether a step fails this time; {"times"} says how often it does."""
        self.refusals += 1
        return self.refusals <= int(step.get("times", self.refusals))


@contextlib.contextmanager
def fake_model_server() -> Iterator[FakeModelServer]:
    upstream, ready, over = FakeModelServer(), threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        app = web.Application(client_max_size=64 * 1024 * 1024)

        async def anthropic(request: web.Request) -> web.StreamResponse:
            return await _answer(request, anthropic_events, upstream)

        async def openai(request: web.Request) -> web.StreamResponse:
            return await _answer(request, openai_events, upstream)

        app.router.add_post("/v1/messages", anthropic)
        app.router.add_post("/v1/chat/completions", openai)
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True
        )
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        upstream.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set()
        await over.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    ready.wait(30)
    try:
        yield upstream
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join(30)


def _extract_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return str(next((block["text"] for block in content if block["type"] == "text"), ""))


async def _answer(
    request: web.Request, events: Any, upstream: FakeModelServer
) -> web.StreamResponse:
    body = json.loads(await request.read())
    upstream.bodies.append(body)
    if (step := find_agent_step(body["messages"])) is not None:
        return await _answer_step(request, body, step, upstream)
    said = _extract_text(body["messages"][-1]["content"])
    if said.startswith("fail "):
        refusal = {"type": "error", "error": {"type": "x", "message": "no"}}
        headers = {"retry-after": "7"}
        return web.json_response(refusal, status=int(said.split()[1]), headers=headers)
    frames = events(*_build_words(body, said))
    if (asked := _find_question(body)).startswith("use"):
        given = _find_tool_results(body["messages"])
        if given and not asked.startswith("use-on"):
            frames = events("Found: " + " and ".join(given))
        else:
            calls = json.loads(asked.partition(" ")[2])
            frames = (_tool_uses if events is anthropic_events else _tool_calls)(calls)
    if said == "think":
        frames[1:1] = _build_thinking_events()
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    upstream.open += 1
    try:
        return await _write_stream(request, response, frames, said)
    except (asyncio.CancelledError, ConnectionError):
        upstream.hung_up.append(time.monotonic())
        raise asyncio.CancelledError from None  # the server takes it for an end, not a fault
    finally:
        upstream.open -= 1


def _build_words(body: Json, said: str) -> list[str]:
    if said.startswith("say "):
        return [said.removeprefix("say ")]
    if said == "long":
        return [f"word{number} " for number in range(20)]
    if said.startswith("wait "):
        return [f"word{number} " for number in range(int(float(said.split()[1]) * 50))]
    if said in ("drip", "hush"):
        return [f"word{number} " for number in range(100_000)]
    return [f"{body['model']} heard {len(body['messages'])}: {said}"]


def find_agent_step(messages: list[Json]) -> Json | None:
    """Return what an agent's model does next: the script is in the last words that hold one."""
    script, since = None, 0
    for place, message in enumerate(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
        for text in (block["text"] for block in blocks if block["type"] == "text"):
            at = text.find("steps [")
            if message["role"] != "assistant" and at >= 0:
                script = json.JSONDecoder().raw_decode(text[at + len("steps ") :])[0]
                since = place
    if script is None:
        return None
    done = sum(message["role"] == "assistant" for message in messages[since:])
    step: Json = script[done] if done < len(script) else {"text": "There is nothing more to do."}
    return step


async def _answer_step(
    request: web.Request, body: Json, step: Json, upstream: FakeModelServer
) -> web.StreamResponse:
    if "status" in step and upstream.should_refuse(step):
        refusal = {"type": "error", "error": {"type": "x", "message": "scripted refusal"}}
        return web.json_response(refusal, status=step["status"])
    number = len(upstream.bodies)
    block: Json = {"type": "text", "text": ""}
    delta: Json = {"type": "text_delta", "text": step.get("text", "")}
    if "name" in step:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": step["name"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step["input"])}
    start, *_, ending, stop = anthropic_events(
        stop_reason="tool_use" if "name" in step else "end_turn"
    )
    # Answers of one id are taken for one.
    start["message"] |= {"id": f"msg_{number}", "role": "assistant", "model": body["model"]}
    frames = [
        start,
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        ending,
        stop,
    ]
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    upstream.open += 1
    try:
        if step.get("hang"):
            await asyncio.Event().wait()
        return await _write_stream(request, response, frames, "")
    except (asyncio.CancelledError, ConnectionError):
        upstream.hung_up.append(time.monotonic())
        raise asyncio.CancelledError from None
    finally:
        upstream.open -= 1


async def _write_stream(
    request: web.Request, response: web.StreamResponse, frames: list[Any], said: str
) -> web.StreamResponse:
    pause = 0.02 if said in ("long", "drip") or said.startswith("wait ") else 0
    for index, event in enumerate(frames):
        if said == "hush" and index == 1:
            await asyncio.Event().wait()
        if said == "cut" and index == len(frames) - 3 and request.transport:
            request.transport.abort()
            break
        await response.write(encode_event(event))
        await asyncio.sleep(pause)
    return response


def _find_question(body: Json) -> str:
    """Return the last words of the user that are no result of a tool."""
    said = [
        text
        for message in body["messages"]
        if message["role"] == "user" and (text := _extract_text(message["content"]))
    ]
    return said[-1] if said else ""


def _find_tool_results(messages: list[Json]) -> list[str]:
    """Return what tools gave since the user last spoke, in either dialect."""
    found: list[str] = []
    for message in messages:
        content = message["content"]
        if message["role"] == "tool":
            found.append(_extract_text(content))
        elif message["role"] == "user" and not isinstance(content, str):
            results = [block for block in content if block["type"] == "tool_result"]
            found = (
                [*found, *(_extract_text(block["content"]) for block in results)] if results else []
            )
        elif message["role"] == "user":
            found = []
    return found


def _tool_uses(calls: list[Json]) -> list[Any]:
    start, *_, delta, stop = anthropic_events(stop_reason="tool_use")
    blocks = []
    for index, call in enumerate(calls):
        block = {"type": "tool_use", "id": f"c{index}", "name": call["name"], "input": {}}
        piece = {"type": "input_json_delta", "partial_json": json.dumps(call["arguments"])}
        blocks += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": piece},
            {"type": "content_block_stop", "index": index},
        ]
    return [start, *blocks, delta, stop]


def _tool_calls(calls: list[Json]) -> list[Any]:
    pieces = [
        {
            "index": index,
            "id": f"c{index}",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for index, call in enumerate(calls)
    ]
    base = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    asked = {"index": 0, "delta": {"tool_calls": pieces}, "finish_reason": None}
    ended = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return [
        base | {"choices": [asked]},
        base | {"choices": [ended]},
        base | {"choices": [], "usage": usage},
        b"data: [DONE]\n\n",
    ]


def _build_thinking_events() -> list[Json]:
    block = {"type": "thinking", "thinking": "", "signature": ""}
    delta = {"type": "thinking_delta", "thinking": "hm, hm"}
    return [
        {"type": "content_block_start", "index": 5, "content_block": block},
        {"type": "content_block_delta", "index": 5, "delta": delta},
        {"type": "content_block_stop", "index": 5},
    ]
