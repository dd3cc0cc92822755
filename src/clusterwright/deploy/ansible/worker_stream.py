"""Read the output of ``ansible-runner worker`` as a stream: events, its status, and a bundle of artifacts at the end.

ansible-runner's own ``process`` is not used: it unpacks the bundle into the control node's files under names chosen by
the worker. An execution node is trusted with the devices of its share, and with nothing else.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

HOST_BYTES = 512 * 1024
"""Most bytes of one device in a stream. A node with 23 files has 54 kB with a diff of all of them, 21 kB when they are
applied, 16 kB without a change (measured)."""
OWN_BYTES = 64 * 1024 * 1024
"""Most further bytes of a run: a boot server's tree has thousands of files."""


class StreamError(Exception):
    """A worker's output in another form than ansible-runner's, or too large for its run."""


class WorkerStream:
    """The stream of one worker with ``hosts`` devices: bytes in, events out, nothing is kept.

    ``received_bytes`` counts the bytes. Once ``ended``, the worker's output is complete; ``status`` is its last one and
    ``exit_code`` that of ansible-playbook, None without an exit.
    """

    def __init__(self, hosts: int) -> None:
        self._limit_bytes = OWN_BYTES + hosts * HOST_BYTES
        self._held = bytearray()
        self._bundle_chars = 0
        self.received_bytes = 0
        self.ended = False
        self.status = "unstarted"
        self.exit_code: int | None = None
        self.explanation = ""

    def feed(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        """The events completed by ``data``. Raises StreamError."""
        self.received_bytes += len(data)
        if self.received_bytes > self._limit_bytes:
            raise StreamError(f"the worker wrote more than {self._limit_bytes} bytes")
        self._held += data
        while not self.ended:
            if self._bundle_chars:
                if len(self._held) < self._bundle_chars:
                    return
                self._take_bundle(bytes(self._held[: self._bundle_chars]))
                del self._held[: self._bundle_chars]
                self._bundle_chars = 0
            line, newline, rest = self._held.partition(b"\n")
            if not newline:
                return
            self._held = rest
            event = self._take_line(bytes(line))
            if event is not None:
                yield event

    def _take_line(self, line: bytes) -> Mapping[str, Any] | None:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            raise StreamError(f"the worker wrote what is no JSON object: {line[:200].decode(errors='replace')}")
        if "status" in message:
            self.status = str(message["status"])
            self.explanation = str(message.get("job_explanation", ""))
        elif "zipfile" in message:
            size = message["zipfile"]
            if not isinstance(size, int) or not 0 < size <= self._limit_bytes:
                raise StreamError(f"the worker announced a bundle of {size!r} bytes")
            self._bundle_chars = (size + 2) // 3 * 4  # base64, with padding and without line ends
        elif "eof" in message:
            self.ended = True
        elif message.get("event") != "keepalive":
            return message
        return None

    def _take_bundle(self, encoded: bytes) -> None:
        try:
            with zipfile.ZipFile(io.BytesIO(base64.b64decode(encoded, validate=True))) as bundle:
                code = bundle.open("rc").read(16)
        except (binascii.Error, zipfile.BadZipFile, KeyError, NotImplementedError) as error:
            raise StreamError(f"the worker's artifacts cannot be read: {error}") from None
        self.exit_code = int(code) if code.strip().isdigit() else None
