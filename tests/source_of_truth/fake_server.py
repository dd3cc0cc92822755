"""A server with the REST interface that NetBox and Nautobot share, in memory: lists, and many objects a request."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Record = dict[str, Any]
TOKEN = "a-token-that-nobody-may-see"


class Store:
    """The objects by endpoint. ``refuses`` says what is wrong with an object that is to be made or changed, or None."""

    def __init__(self) -> None:
        self.lists: dict[str, dict[int, Record]] = defaultdict(dict)
        self.refuses: Callable[[str, Record], str | None] = lambda endpoint, body: None
        self.forgets_tags: set[str] = set()
        self.breaks_after: int | None = None
        self.times_out: Callable[[str, str, int], bool] = lambda method, endpoint, count: False
        self.asked: list[tuple[str, str, int]] = []
        self._next = 1

    def add(self, endpoint: str, **fields: Any) -> Record:
        record = {"id": self._next, "tags": [], **fields}
        self._next += 1
        self.lists[endpoint][record["id"]] = record
        return record

    def of(self, endpoint: str) -> list[Record]:
        return list(self.lists[endpoint].values())

    def one(self, endpoint: str, **fields: Any) -> Record:
        (found,) = (
            each for each in self.of(endpoint) if all(each.get(name) == value for name, value in fields.items())
        )
        return found


class _Server(ThreadingHTTPServer):
    def __init__(self, store: Store) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.store = store


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, status: int, body: object) -> None:
        text = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def handle_request_of(self, method: str) -> None:
        store, url = self.server.store, urlsplit(self.path)
        endpoint = url.path.removeprefix("/api/").strip("/")
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else []
        store.asked.append((method, endpoint, len(body)))
        if self.headers["Authorization"] != f"Token {TOKEN}":
            self.answer(403, {"detail": "Invalid token"})
        elif store.times_out(method, endpoint, len(body) or int(parse_qs(url.query)["limit"][0])):
            self.answer(504, "<html>upstream request timeout</html>")
        elif method == "GET":
            query = parse_qs(url.query)
            start, size = int(query["offset"][0]), min(int(query["limit"][0]), 50)
            names = query.get("name")
            found = [each for each in store.of(endpoint) if names is None or each.get("name") in names]
            self.answer(200, {"count": len(found), "results": found[start : start + size]})
        elif store.breaks_after is not None and sum(each[0] != "GET" for each in store.asked) > store.breaks_after:
            self.answer(500, {"error": "the database is gone"})
        elif method == "DELETE":
            for each in body:
                del store.lists[endpoint][each["id"]]
            self.answer(204, None)
        else:
            self.write(store, method, endpoint, body)

    def write(self, store: Store, method: str, endpoint: str, body: list[Record]) -> None:
        wrong = [store.refuses(endpoint, each) for each in body]
        if any(wrong):
            self.answer(400, [{"name": [each]} if each else {} for each in wrong])
            return
        for each in body:
            if "tags" in each:
                each["tags"] = [{"id": tag} for tag in each["tags"]]
        if method == "POST":
            made = [store.add(endpoint, **each) for each in body]
            told = [dict(each) for each in made]
            if endpoint in store.forgets_tags:  # before the answer: a client may write again as soon as it has it
                for each in made:
                    each["tags"] = []
            self.answer(201, told)
            return
        for each in body:
            store.lists[endpoint][each["id"]].update(each)
        self.answer(200, body)

    def do_GET(self) -> None:
        self.handle_request_of("GET")

    def do_POST(self) -> None:
        self.handle_request_of("POST")

    def do_PATCH(self) -> None:
        self.handle_request_of("PATCH")

    def do_DELETE(self) -> None:
        self.handle_request_of("DELETE")


@contextmanager
def serving(store: Store) -> Iterator[str]:
    """The address of a server with the objects of ``store``."""
    server = _Server(store)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
