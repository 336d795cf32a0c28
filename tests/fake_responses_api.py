"""OpenAI's Responses API on loopback, enough for Codex to call one tool."""

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

Json = dict[str, Any]


@dataclass
class FakeResponsesApi:
    """Where it listens, which tool it wants, what it says in the end, and what it was sent."""

    call: Json
    ending: str
    url: str = ""
    bodies: list[Json] = field(default_factory=list)

    def given(self) -> str:
        """Return what the tool gave, as the client passed it on."""
        (output,) = [item for item in self.bodies[-1]["input"] if _is_output(item)]
        return json.dumps(output["output"])

    def events(self, body: Json) -> list[Json]:
        """Return the answer to `body`: the call at first, the last word once there is a result."""
        self.bodies.append(body)
        item: Json = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "status": "completed",
            **self.call,
        }
        if any(_is_output(each) for each in body["input"]):
            text = {"type": "output_text", "text": self.ending, "annotations": []}
            item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [text]}
        response = {"id": f"resp_{len(self.bodies)}", "object": "response", "output": [item]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        return [
            {"type": "response.created", "response": response | {"output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response | {"usage": usage}},
        ]


def _is_output(item: Json) -> bool:
    return str(item["type"]) == "function_call_output"


@contextlib.contextmanager
def fake_responses_api(call: Json, ending: str) -> Iterator[FakeResponsesApi]:
    """Serve it for as long as the block takes."""
    responses = FakeResponsesApi(call, ending)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for event in responses.events(body):
                frame = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                self.wfile.write(frame.encode())

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        responses.url = f"http://127.0.0.1:{server.server_port}/v1"
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield responses
        finally:
            server.shutdown()
            serving.join()
