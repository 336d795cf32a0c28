"""A model API that answers every question with the same 22 words, one event for each.

Asked for `stream 500 0.01` it says so many words instead, with a pause after each.
"""

import asyncio
import json
import re
from typing import Any

from aiohttp import web

_STREAM = re.compile(rb"stream (\d+) ([\d.]+)")
WORDS = [f"word{number} " for number in range(22)]


def _anthropic(words: list[str]) -> list[bytes]:
    block = {"type": "text", "text": ""}
    usage = {"input_tokens": 10, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": word},
            }
            for word in words
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 22}},
        {"type": "message_stop"},
    ]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


def _openai() -> list[bytes]:
    def chunk(**more: object) -> bytes:
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return f"data: {json.dumps(base | more)}\n\n".encode()

    def choice(delta: dict[str, str], finish: str | None = None) -> dict[str, object]:
        return {"index": 0, "delta": delta, "finish_reason": finish}

    usage = {"prompt_tokens": 10, "completion_tokens": 22, "total_tokens": 32}
    return [
        *(chunk(choices=[choice({"content": word})]) for word in WORDS),
        chunk(choices=[choice({}, "stop")]),
        chunk(choices=[], usage=usage),
        b"data: [DONE]\n\n",
    ]


async def main() -> None:
    def answering(frames: list[bytes]) -> object:
        async def answer(request: web.Request) -> web.StreamResponse:
            asked = await request.read()
            told, pause = frames, None
            if found := _STREAM.search(asked):
                told = _anthropic([f"word{number} " for number in range(int(found[1]))])
                pause = float(found[2])
            response = web.StreamResponse(headers={"content-type": "text/event-stream"})
            await response.prepare(request)
            for frame in told:
                await response.write(frame)
                if pause is not None:
                    await asyncio.sleep(pause)
            return response

        return answer

    app = web.Application()
    app.router.add_post("/v1/messages", answering(_anthropic(WORDS)))  # type: ignore[arg-type]
    app.router.add_post("/v1/chat/completions", answering(_openai()))  # type: ignore[arg-type]
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
