"""The REST interface in common to NetBox and Nautobot: lists are read page by page, objects changed in batches.

Their client libraries differ, and wrap each object in a class of their own. A token is sent in a header only.
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

_PAGE = 1000  # the default maximum of both servers; a shorter page is accepted
_TIMEOUT_S = 300  # a hundred cables take a busy server half a minute
_LEAST_PAGE = 20  # objects; no answer for so few means that the server is down


class RefusedError(ClusterwrightError):
    """The server's refusal of a request: ``status`` is the HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class UnansweredError(ClusterwrightError):
    """No answer within the time limit of the server or of a proxy before it: the effect is unknown."""


class Client:
    """A client of the server at ``url``, with ``connections`` at a time."""

    def __init__(self, url: str, token: str, token_kind: str, connections: int) -> None:
        headers = {
            "Authorization": f"{token_kind} {token}",
            "Accept": "application/json",
            "Content-Type": "application/json",
        }
        self.url = url
        self._server = open_server(url, headers, timeout_s=_TIMEOUT_S, connections=connections)
        self.connections = connections
        self._page_size = _PAGE
        self.pool = ThreadPoolExecutor(connections)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for running requests, and close the connections."""
        self.pool.shutdown()
        self._server.close()

    def read(self, endpoint: str, query: Sequence[tuple[str, str]]) -> Iterator[Record]:
        """Every object of a list. Raises RefusedError, and ClusterwrightError for a server without an answer."""
        while True:
            try:
                first = self._page(endpoint, query, 0, self._page_size)
                break
            except UnansweredError:
                if self._page_size < _LEAST_PAGE:
                    raise
                self._page_size //= 2
        yield from first["results"]
        size = len(first["results"])  # a server may return fewer than requested
        if size:
            rest = range(size, first["count"], size)
            for page in self.pool.map(lambda offset: self._halved(endpoint, query, offset, size), rest):
                yield from page

    def make(self, endpoint: str, objects: Sequence[Record]) -> Sequence[Record]:
        """Create all of ``objects`` or none; the server's records in the same order."""
        return self._ask("POST", f"{endpoint}/", objects) or ()

    def change(self, endpoint: str, objects: Sequence[Record]) -> None:
        """Change the given fields of objects, selected by their ``id``: all of them or none."""
        self._ask("PATCH", f"{endpoint}/", objects)

    def take_away(self, endpoint: str, ids: Sequence[Any]) -> None:
        """Delete objects: all of them or none."""
        self._ask("DELETE", f"{endpoint}/", [{"id": identity} for identity in ids])

    def _halved(self, endpoint: str, query: Sequence[tuple[str, str]], offset: int, size: int) -> Sequence[Record]:
        """A page after the first, split in halves until the server answers in time."""
        try:
            results: Sequence[Record] = self._page(endpoint, query, offset, size)["results"]
            return results
        except UnansweredError:
            if size < _LEAST_PAGE:
                raise
        half = size // 2
        self._page_size = min(self._page_size, half)
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
                # Servers close idle connections. Only requests without an effect may be repeated.
                if method != "GET" or attempt == 2 or isinstance(error, httpx.TimeoutException):
                    raise UnansweredError(f"{self.url} does not answer: {reason_of(error)}.") from error
        raise AssertionError("the second attempt returns or raises")
