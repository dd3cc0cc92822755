"""The REST interface that NetBox and Nautobot share: lists read page by page, and changed many objects at a time.

Their own client libraries wrap each object in one of theirs, and differ; this is the common part. A token goes
into a header and nowhere else.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

from clusterwright.finding import ClusterwrightError
from clusterwright.json_api import answer_text, open_server, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import httpx

    from clusterwright.extras.source_of_truth.rows import Record

_PAGE = 1000  # what both serve at most, unless they are told otherwise; fewer are taken as they come
_TIMEOUT_S = 300  # a hundred cables take a busy server half a minute
_LEAST_PAGE = 20  # objects; a server that has no time for so few is not there


class RefusedError(ClusterwrightError):
    """The server's refusal of a request: ``status`` is that of HTTP."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


class UnansweredError(ClusterwrightError):
    """No answer within the time that the server, or a proxy before it, has for one: the effect is unknown."""


class Client:
    """A server at ``url``, asked over ``connections`` at a time."""

    def __init__(self, url: str, token: str, token_kind: str, connections: int) -> None:
        headers = {
            "Authorization": f"{token_kind} {token}",
            "Accept": "application/json",
            "Content-Type": "application/json",
        }
        self.url = url
        self._server = open_server(url, headers, timeout_s=_TIMEOUT_S, connections=connections)
        self.connections, self._at_a_time = connections, _PAGE
        self.pool = ThreadPoolExecutor(connections)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the connections, once nothing is under way any more."""
        self.pool.shutdown()
        self._server.close()

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
        self._ask("DELETE", f"{endpoint}/", [{"id": identity} for identity in ids])

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
        import httpx

        answer = self._answer(method, path, body)
        status, text = answer.status_code, answer_text(answer)
        if status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            raise ClusterwrightError(f"{self.url} refuses the token: {text}.")
        if status in {httpx.codes.BAD_GATEWAY, httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.GATEWAY_TIMEOUT}:
            raise UnansweredError(f"{self.url} does not answer in time: {text}.")
        if answer.is_server_error:
            raise ClusterwrightError(f"{self.url} failed: {text}.")
        if answer.is_redirect:
            raise ClusterwrightError(f"{self.url} answers with {text}. Name the address that it leads to.")
        if not answer.is_success:
            raise RefusedError(status, text)
        try:
            return answer.json() if answer.content else None
        except ValueError as error:
            raise ClusterwrightError(f"{self.url}/api answers with something that is no JSON.") from error

    def _answer(self, method: str, path: str, body: object) -> httpx.Response:
        import httpx

        content = None if body is None else json.dumps(body).encode()
        for attempt in (1, 2):
            try:
                return self._server.request(method, f"/api/{path}", content=content)
            except httpx.TransportError as error:
                # A server closes what has been idle; only what changes nothing may be asked twice.
                if method != "GET" or attempt == 2 or isinstance(error, httpx.TimeoutException):
                    raise UnansweredError(f"{self.url} does not answer: {reason_of(error)}.") from error
        raise AssertionError("the second attempt returns or raises")
