"""A model that says what is scripted, on a loopback port: the Messages API as far as the tour needs it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def text(words):
    return {"type": "text", "text": words}


def call(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


class Model:
    """Answers the request whose last prompt begins with a scripted word: each answer is one list of blocks."""

    def __init__(self, script):
        self.script = {word: list(answers) for word, answers in script.items()}
        self.hold = threading.Event()
        self.models = []
        self.calls = 0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, request):
        self.models.append(request["model"])
        words = [word for word in prompts(request) if word in self.script]
        answers = self.script[words[-1]]
        return answers.pop(0) if answers else [text(f"nothing is scripted for {words[-1]}")]

    def handler(self):
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                blocks = model.answer(request)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                try:
                    for event in model.events(request["model"], blocks):
                        line = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                        self.wfile.write(line.encode())
                        self.wfile.flush()
                except BrokenPipeError:
                    pass  # The turn was stopped.

        return Handler

    def events(self, name, blocks):
        usage = {"input_tokens": 1200, "output_tokens": 1}
        yield {
            "type": "message_start",
            "message": {
                "id": f"msg_{self.calls}", "type": "message", "role": "assistant",
                "model": name, "content": [], "stop_reason": None, "stop_sequence": None,
                "usage": usage,
            },
        }
        for index, block in enumerate(blocks):
            if block == "hold":
                self.hold.wait(30)
                continue
            start, deltas = dict(block), []
            if block["type"] == "text":
                start["text"] = ""
                pieces = block["text"].split(" ")
                pieces = [piece + " " for piece in pieces[:-1]] + pieces[-1:]
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
            else:
                self.calls += 1
                start.update(id=f"toolu_{self.calls}", input={})
                deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
            yield {"type": "content_block_start", "index": index, "content_block": start}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        called = any(block != "hold" and block["type"] == "tool_use" for block in blocks)
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use" if called else "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 20},
        }
        yield {"type": "message_stop"}


def prompts(request):
    """The first word of everything that was said to the model, results of tools left out."""
    for message in request["messages"]:
        if message["role"] != "user":
            continue
        content = message["content"]
        blocks = [text(content)] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "text" and block["text"].split():
                yield block["text"].split()[0]
