"""A webhook with the events of a rollout: signed JSON over HTTPS, sent in a thread without delaying the rollout.

The secret is fetched in that thread and used for signatures only. Messages contain the host of the address alone: its
path may be a token.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import queue
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from clusterwright.deploy.pulumi.events import Event, EventKind
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.spec.rollout import Notify

SIGNATURE = "X-Clusterwright-Signature-256"
_SENT_EVENTS = frozenset(
    {
        EventKind.ROLLOUT_STARTED,
        EventKind.WAVE_FINISHED,
        EventKind.WAVE_FAILED,
        EventKind.ROLLOUT_FINISHED,
        EventKind.ROLLOUT_STOPPED,
    }
)
_ANSWER_S = 5
_END_S = 10  # for events not sent at the end of the rollout
_MOST_WAITING = 1000
_MOST_TEXT = 2000


class Webhook:
    """Send the events of one rollout; ``close`` waits a few seconds for the remaining ones."""

    def __init__(self, notify: Notify, secrets: Callable[[], Mapping[str, str]], *, cluster: str, rollout: str) -> None:
        self._notify, self._secrets = notify, secrets
        self._about = {"cluster": cluster, "rollout": rollout}
        self._waiting: queue.Queue[bytes | None] = queue.Queue(_MOST_WAITING)
        self._trouble = ""
        self._undelivered = 0
        self._thread = threading.Thread(target=self._work, name="webhook", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        """Queue the event if webhooks receive its kind. Never waits."""
        if event.kind not in _SENT_EVENTS:
            return
        document = event.document()
        if isinstance(document.get("text"), str):
            document["text"] = document["text"][:_MOST_TEXT]
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        body = json.dumps({"time": moment, **self._about, **document}, ensure_ascii=False).encode()
        try:
            self._waiting.put_nowait(body)
        except queue.Full:
            self._undelivered += 1

    def close(self) -> None:
        """Wait a few seconds for the remaining events, and report the undelivered ones."""
        try:
            self._waiting.put(None, timeout=_END_S)
        except queue.Full:
            self._trouble = self._trouble or "it does not answer"
        self._thread.join(_END_S)
        undelivered = self._undelivered + self._waiting.qsize()
        if self._trouble or undelivered or self._thread.is_alive():
            why = self._trouble or "no answer in time"
            click.echo(
                f"webhook at {urlsplit(self._notify.url).hostname}: not everything was delivered: {why}", err=True
            )

    def _work(self) -> None:
        try:
            key = self._secrets().get(self._notify.secret, "")
            if not key:
                raise ClusterwrightError(f"there is no secret {self._notify.secret}")
            self._send_all(key.encode())
        except Exception as error:  # no error here may stop the rollout
            self._trouble = str(error) if isinstance(error, ClusterwrightError) else type(error).__name__
            self._drop_all()

    def _send_all(self, key: bytes) -> None:
        import httpx

        from clusterwright.json_api import open_server

        with open_server(self._notify.url, {"Content-Type": "application/json"}, timeout_s=_ANSWER_S) as server:
            while (body := self._waiting.get()) is not None:
                signature = hmac.new(key, body, hashlib.sha256).hexdigest()
                try:
                    answer = server.post(self._notify.url, content=body, headers={SIGNATURE: f"sha256={signature}"})
                except httpx.HTTPError as error:
                    self._trouble, self._undelivered = type(error).__name__, self._undelivered + 1
                    continue
                if not answer.is_success:
                    self._trouble, self._undelivered = f"status {answer.status_code}", self._undelivered + 1

    def _drop_all(self) -> None:
        while self._waiting.get() is not None:
            self._undelivered += 1
