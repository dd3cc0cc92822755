"""The REST interface that NetBox and Nautobot share: lists read page by page, and changed many objects at a time.

Their own client libraries wrap each object in one of theirs, and differ; what is needed of both is this. A token goes
into a header and nowhere else.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode, urlsplit

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterwright.source_of_truth.rows import Record

_PAGE = 1000  # what both serve at most, unless they are told otherwise; fewer are taken as they come
_TIMEOUT_S = 300  # a hundred cables take a busy server half a minute
_LEAST_PAGE = 20  # objects; a server that has no time for so few is not there
_MOST_SHOWN = 300


class RefusedError(ClusterwrightError):
    """What the server said against a request: ``status`` is that of HTTP."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


class UnansweredError(ClusterwrightError):
    """No answer within the time that the server, or a proxy before it, has for one: nobody knows what was done."""


class Client:
    """A server at ``url``, asked over ``connections`` at a time."""

    def __init__(self, url: str, token: str, token_kind: str, connections: int) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
            raise ClusterwrightError(f'"{url}" is no address of a server: write https://netbox.example.net.')
        self.url, self._parts = url, parts
        self._headers = {
            "Authorization": f"{token_kind} {token}",
            "Accept": "application/json",
            "Content-Type": "application/json",
        }
        self._own = threading.local()
        self._open: list[http.client.HTTPConnection] = []
        self.connections, self._at_a_time = connections, _PAGE
        self.pool = ThreadPoolExecutor(connections)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the connections, once nothing is under way any more."""
        self.pool.shutdown()
        for connection in self._open:
            connection.close()

    def read(self, endpoint: str, query: Sequence[tuple[str, str]]) -> Iterator[Record]:
        """Every object of a list. Raises RefusedError, and ClusterwrightError for a server that does not answer."""
        while True:
            try:
                first = self._page(endpoint, query, 0, self._at_a_time)
                break
            except UnansweredError:
                if self._at_a_time < _LEAST_PAGE:
                    raise
                self._at_a_time //= 2
        yield from first["results"]
        size = len(first["results"])  # a server may give fewer than it is asked for
        if size:
            rest = range(size, first["count"], size)
            for page in self.pool.map(lambda offset: self._halved(endpoint, query, offset, size), rest):
                yield from page

    def make(self, endpoint: str, objects: Sequence[Record]) -> Sequence[Record]:
        """Makes all of ``objects`` or none: as the server has them then, in the same order."""
        return self._ask("POST", f"{endpoint}/", objects) or ()

    def change(self, endpoint: str, objects: Sequence[Record]) -> None:
        """Changes the fields that are named of objects with an ``id``: all of them or none."""
        self._ask("PATCH", f"{endpoint}/", objects)

    def take_away(self, endpoint: str, ids: Sequence[Any]) -> None:
        """Deletes objects: all of them or none."""
        self._ask("DELETE", f"{endpoint}/", [{"id": each} for each in ids])

    def _halved(self, endpoint: str, query: Sequence[tuple[str, str]], offset: int, size: int) -> Sequence[Record]:
        """A page that is not the first: in halves where the server has not the time for the whole."""
        try:
            results: Sequence[Record] = self._page(endpoint, query, offset, size)["results"]
            return results
        except UnansweredError:
            if size < _LEAST_PAGE:
                raise
        half = size // 2
        self._at_a_time = min(self._at_a_time, half)
        return [
            *self._halved(endpoint, query, offset, half),
            *self._halved(endpoint, query, offset + half, size - half),
        ]

    def _page(self, endpoint: str, query: Sequence[tuple[str, str]], offset: int, size: int) -> Any:
        page = [*query, ("limit", str(size)), ("offset", str(offset))]
        answer = self._ask("GET", f"{endpoint}/?{urlencode(page)}")
        if not isinstance(answer, dict) or "results" not in answer:
            raise ClusterwrightError(f"{self.url} answers to {endpoint} with something that is no list.")
        return answer

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        whole = f"{self._parts.path.rstrip('/')}/api/{path}"
        for attempt in (1, 2):
            connection = self._connection()
            try:
                connection.request(method, whole, content, self._headers)
                answer = connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                # A server closes what has been idle; only what changes nothing may be asked twice.
                if method != "GET" or attempt == 2 or isinstance(error, TimeoutError):
                    raise UnansweredError(f"{self.url} does not answer: {error}.") from error
        if answer.status in {http.client.UNAUTHORIZED, http.client.FORBIDDEN}:
            raise ClusterwrightError(f"{self.url} refuses the token ({answer.status}): {_shortened(text)}")
        if answer.status in {http.client.BAD_GATEWAY, http.client.SERVICE_UNAVAILABLE, http.client.GATEWAY_TIMEOUT}:
            raise UnansweredError(f"{self.url} does not answer in time ({answer.status}): {_shortened(text)}")
        if answer.status >= http.client.INTERNAL_SERVER_ERROR:
            raise ClusterwrightError(f"{self.url} failed ({answer.status}): {_shortened(text)}")
        if answer.status >= http.client.MULTIPLE_CHOICES:
            raise RefusedError(answer.status, _shortened(text))
        try:
            return json.loads(text) if text else None
        except ValueError as error:
            raise ClusterwrightError(f"{self.url}/api answers with something that is no JSON.") from error

    def _connection(self) -> http.client.HTTPConnection:
        """This thread's own."""
        if not hasattr(self._own, "connection"):
            host, port = self._parts.hostname or "", self._parts.port
            self._own.connection = (
                http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=ssl.create_default_context())
                if self._parts.scheme == "https"
                else http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
            )
            self._open.append(self._own.connection)
        connection: http.client.HTTPConnection = self._own.connection
        return connection


def _shortened(text: bytes) -> str:
    said = " ".join(text.decode("utf-8", "replace").split())
    return said if len(said) <= _MOST_SHOWN else f"{said[:_MOST_SHOWN]} …"
