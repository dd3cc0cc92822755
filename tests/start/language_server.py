"""yaml-language-server, by which editors check and complete YAML: started on files, asked for what an editor shows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

VERSION = "1.25.0"
CACHE = Path(__file__).parents[2] / ".cache" / f"yaml-language-server-{VERSION}"
SERVER = CACHE / "node_modules/yaml-language-server/bin/yaml-language-server"
SETTINGS = {"validate": True, "completion": True, "schemaStore": {"enable": False}}


@cache
def why_there_is_none() -> str | None:
    """Why the server cannot be started here; None where it can. It is fetched once from npm's registry."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "yaml-language-server needs node and npm: apt-get install npm"
    if not SERVER.exists():
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(CACHE)]
        fetched = subprocess.run(
            [*command, f"yaml-language-server@{VERSION}"], capture_output=True, text=True, timeout=120, check=False
        )
        if fetched.returncode or not SERVER.exists():
            return f"npm's registry gives no yaml-language-server: {fetched.stderr.strip()[-200:]}"
    return None


class LanguageServer:
    """A running server; positions count lines and characters from 0."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.last = 0
        self.shown: dict[str, list[str]] = {}
        capabilities: dict[str, Any] = {"textDocument": {"completion": {"completionItem": {}}}}
        self.ask("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities})
        self.say("initialized", {})

    def objections(self, file: Path, text: str | None = None) -> list[str]:
        """What an editor would underline in a file, or in ``text`` in its place."""
        uri = file.as_uri()
        content = file.read_text() if text is None else text
        self.say(
            "textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": content}}
        )
        while uri not in self.shown:
            self.answer(self.read())
        return self.shown[uri]

    def completions(self, file: Path, line: int, character: int) -> list[str]:
        """What an editor would offer at a place of a file that it has open."""
        place = {"textDocument": {"uri": file.as_uri()}, "position": {"line": line, "character": character}}
        found = self.ask("textDocument/completion", place)
        return [item["label"] for item in (found["items"] if isinstance(found, dict) else found)]

    def ask(self, method: str, params: Any) -> Any:
        self.last += 1
        self.write({"id": self.last, "method": method, "params": params})
        while True:
            message = self.read()
            if message.get("id") == self.last and "method" not in message:
                return message["result"]
            self.answer(message)

    def say(self, method: str, params: Any) -> None:
        self.write({"method": method, "params": params})

    def answer(self, message: Any) -> None:
        """Answers what the server asks of an editor, and keeps what it would have it show."""
        if message.get("method") == "workspace/configuration":
            items = message["params"]["items"]
            result = [SETTINGS if item["section"] == "yaml" else {} for item in items]
            self.write({"id": message["id"], "result": result})
        elif message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            self.shown[params["uri"]] = [each["message"] for each in params["diagnostics"]]
        elif "id" in message and "method" in message:
            self.write({"id": message["id"], "result": None})

    def write(self, message: Any) -> None:
        assert self.process.stdin is not None
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return json.loads(self.process.stdout.read(length))


@contextmanager
def language_server() -> Iterator[LanguageServer]:
    """A server that ends with the context."""
    command: Sequence[str] = ["node", str(SERVER), "--stdio"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield LanguageServer(process)
        finally:
            process.kill()
