"""An OpenAI-compatible model that says what a test has written down, and remembers what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = str | dict[str, Any]
"""What the model answers at one step: a text, or the arguments of tools by the tools' names."""


@dataclass
class ScriptedModel:
    """Plays the script whose key stands in the conversation's newest prompt that has one.

    Each answer of the model after that prompt is a step; when the script is over, it says `default`.
    """

    default: str = "Noted."
    scripts: dict[str, list[Step]] = field(default_factory=dict)
    requests: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, request: dict[str, Any]) -> Step:
        self.requests.append(request)
        messages = request["messages"]
        for place in range(len(messages) - 1, -1, -1):
            if messages[place]["role"] != "user":
                continue
            text = text_of(messages[place])
            key = next((key for key in self.scripts if key in text), None)
            if key is not None:
                taken = sum(message["role"] == "assistant" for message in messages[place:])
                steps = self.scripts[key]
                return steps[taken] if taken < len(steps) else self.default
        return self.default

    def sent(self, mark: str) -> list[dict[str, Any]]:
        """The requests whose conversation holds `mark` in a prompt of the user."""
        return [
            request
            for request in self.requests
            if any(mark in text_of(m) for m in request["messages"] if m["role"] == "user")
        ]

    def results(self, mark: str) -> dict[str, str]:
        """What tools gave the model in the conversation with `mark`, by the tools' names."""
        names: dict[str, str] = {}
        found: dict[str, str] = {}
        for message in self.sent(mark)[-1]["messages"]:
            for call in message.get("tool_calls") or []:
                names[call["id"]] = call["function"]["name"]
            if message["role"] == "tool":
                found[names[message["tool_call_id"]]] = text_of(message)
        return found


def text_of(message: dict[str, Any]) -> str:
    """The text of a message's content, which is a string or parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def system_of(request: dict[str, Any]) -> str:
    """The system prompt of a request."""
    return "\n".join(text_of(m) for m in request["messages"] if m["role"] in ("system", "developer"))


def chunks(step: Step, number: int) -> Iterator[dict[str, Any]]:
    """The answer in the pieces in which it is streamed."""

    def piece(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {
            "id": f"answer-{number}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "scripted",
            "choices": [choice],
        }

    if isinstance(step, str):
        yield piece({"role": "assistant", "content": step})
        yield piece({}, "stop")
    else:
        calls = [
            {
                "index": place,
                "id": f"call{number}x{place}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for place, (name, arguments) in enumerate(step.items())
        ]
        yield piece({"role": "assistant", "content": None, "tool_calls": calls})
        yield piece({}, "tool_calls")
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    yield {**piece({}), "choices": [], "usage": usage}


def serve(model: ScriptedModel, port: int) -> ThreadingHTTPServer:
    """The model behind `/v1` on loopback; shut the server down at the end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            step = model.answer(request)
            lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks(step, len(model.requests))]
            body = "".join([*lines, "data: [DONE]\n\n"]).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's own name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
