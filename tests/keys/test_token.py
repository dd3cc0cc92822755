"""A token goes to the server that was named, over TLS, and an answer counts that the interface's pages promise."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from clusterwright.extras.source_of_truth.client import Client, RefusedError
from clusterwright.finding import ClusterwrightError
from clusterwright.json_api import open_server
from clusterwright.keys.kms import KmsError
from clusterwright.keys.transit import TransitKms

TOKEN = "hvs.T0KEN"


@contextmanager
def serving(status: int, body: bytes = b"", location: str = "") -> Iterator[tuple[str, list[str]]]:
    """A server that answers everything so; its address, and the lines and headers that it was sent."""
    heard: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            heard.append(f"{self.requestline} {self.headers}")
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", heard
    finally:
        server.shutdown()
        server.server_close()


ASKED: dict[str, Callable[[TransitKms], object]] = {
    "state": lambda kms: kms.state("kek"),
    "create": lambda kms: kms.create("kek"),
    "rotate": lambda kms: kms.rotate("kek"),
    "data_key": lambda kms: kms.data_key("kek"),
    "rewrap": lambda kms: kms.rewrap("kek", "vault:v1:x"),
    "unwrap": lambda kms: kms.unwrap("kek", "vault:v1:x"),
    "forget": lambda kms: kms.forget_before("kek", 2),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_error_and_takes_no_token_along(asked: str, status: int) -> None:
    with serving(200, b"{}") as (elsewhere, heard), serving(status, b"", f"{elsewhere}/v1/x") as (address, _):
        with pytest.raises(KmsError, match=f"{status}, a redirect to {elsewhere}"):
            ASKED[asked](TransitKms(address, TOKEN))
        assert not heard
        with Client(address, TOKEN, "Token", 1) as client:
            with pytest.raises(ClusterwrightError, match="a redirect to"):
                list(client.read("dcim/devices", ()))
            with pytest.raises(ClusterwrightError, match="a redirect to"):
                client.make("dcim/devices", [{}])
        assert not heard


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b'"x"', b'{"count": 0, "results": []}', b"<html></html>"])
def test_a_server_that_speaks_something_else_has_done_nothing(asked: str, body: bytes) -> None:
    with serving(200, body) as (address, _), pytest.raises(KmsError, match="does not speak the transit API"):
        ASKED[asked](TransitKms(address, TOKEN))


@pytest.mark.parametrize("data", [{}, {"ciphertext": 1, "plaintext": 1, "latest_version": "1"}])
@pytest.mark.parametrize("asked", ["state", "data_key", "rewrap", "unwrap"])
def test_an_answer_without_what_is_documented_is_none(asked: str, data: object) -> None:
    body = json.dumps({"data": data}).encode()
    with serving(200, body) as (address, _), pytest.raises(KmsError, match="does not speak the transit API"):
        ASKED[asked](TransitKms(address, TOKEN))


def test_a_refusal_without_a_text_is_told_by_its_status() -> None:
    with serving(400) as (address, _):
        with pytest.raises(KmsError, match="400, Bad Request"):
            TransitKms(address, TOKEN).create("kek")
        with Client(address, TOKEN, "Token", 1) as client, pytest.raises(RefusedError, match="400, Bad Request"):
            client.make("dcim/devices", [{}])


@pytest.mark.parametrize("address", ["http://kms.example.net:8200", "http://10.0.0.1", "http://[2001:db8::1]:80"])
def test_a_token_does_not_go_over_a_network_in_clear(address: str) -> None:
    with pytest.raises(KmsError, match="in clear"):
        TransitKms(address, TOKEN).state("kek")
    with pytest.raises(ClusterwrightError, match="in clear"):
        Client(address, TOKEN, "Token", 1)


@pytest.mark.parametrize("address", ["https://u:p4ss@kms.example.net", "http://u@127.0.0.1"])
def test_an_address_with_a_password_is_refused_without_showing_it(address: str) -> None:
    with pytest.raises(ClusterwrightError) as refused:
        open_server(address, {}, timeout_s=1)
    assert "p4ss" not in str(refused.value)


def test_what_stays_on_this_machine_passes_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(200, b"{}") as (proxy, heard), serving(404) as (address, _):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        monkeypatch.setenv("http_proxy", proxy)
        assert TransitKms(address, TOKEN).state("kek") is None
        assert not heard


def test_a_proxy_that_does_not_answer_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other server is asked through the proxy of the environment, and the error says which one failed."""
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://user:p4ss@127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(KmsError, match=r"the proxy http://127\.0\.0\.1:9 does not answer for it") as refused:
        TransitKms("https://kms.example.net", TOKEN).state("kek")
    assert "p4ss" not in str(refused.value)
