"""Who hears of a rollout beside its operator: the metrics' file, and a server that may be slow, wrong or gone."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from tests.https_server import HttpsServer

from clusterwright.cli.stacks import webhook
from clusterwright.cli.stacks.metrics import Metrics
from clusterwright.cli.stacks.webhook import SIGNATURE, Webhook
from clusterwright.deploy.pulumi.events import Event, EventKind
from clusterwright.finding import ClusterwrightError
from clusterwright.spec.rollout import Notify

SECRET = "not-for-any-log"
EVENTS = (
    Event(EventKind.ROLLOUT_STARTED, details={"rollout": "r", "waves": 2}),
    Event(EventKind.WAVE_STARTED, "c-pod0", details={"wave": 1, "waves": 2, "devices": ["a", "b"]}),
    Event(EventKind.WAVE_FINISHED, "c-pod0", text="wave 1: 1 of 2", details={"wave": 1, "failed": {"b": "no answer"}}),
    Event(EventKind.WAVE_STARTED, "c-pod0", details={"wave": 2, "waves": 2, "devices": ["c"]}),
    Event(EventKind.WAVE_FAILED, "c-pod0", text="wave 2", details={"wave": 2, "failed": {"c": "full disk"}}),
    Event(EventKind.ROLLOUT_STOPPED, text="stopped", details={"rollout": "r", "waves": 2}),
)


def values(text: str) -> dict[str, float]:
    """The samples of a file that is nothing but the text format: HELP, TYPE and a sample of each metric."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP \w+ .+|TYPE \w+ gauge)", line), line
            continue
        sample = re.fullmatch(r'(\w+)\{cluster="c"(?:,rollout="r")?\} (\S+)', line)
        assert sample, line
        found[sample[1].removeprefix("clusterwright_rollout_")] = float(sample[2])
    return found


def test_metrics_count_waves_and_devices(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path, cluster="c", rollout="r", finished=0)
    file = tmp_path / "metrics/rollout.prom"
    for event in EVENTS[:2]:
        metrics(event)
    assert values(file.read_text())["running"] == 1
    for event in EVENTS[2:]:
        metrics(event)
    found = values(file.read_text())
    moments = [found.pop("start_time_seconds"), found.pop("change_time_seconds")]
    assert moments == sorted(moments)
    assert time.time() - moments[0] < 60
    counts = {"info": 1, "running": 0, "stopped": 1, "waves": 2, "waves_finished": 1}
    assert found == {**counts, "devices_changed": 1, "devices_failed": 2}
    assert file.stat().st_mode & 0o777 == 0o644


def test_metrics_that_cannot_be_written_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "metrics").touch()
    metrics = Metrics(tmp_path, cluster="c", rollout="r", finished=0)
    for event in EVENTS:
        metrics(event)
    assert capsys.readouterr().err.count("no metrics") == 1


class Server:
    """A server on this machine with a certificate of its own: keeps what it gets, and answers ``status``."""

    def __init__(self, folder: Path) -> None:
        self.heard: list[tuple[bytes, str]] = []
        self.status, self.waits = 200, threading.Event()
        self.waits.set()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.waits.wait(20)
                server.heard.append((body, self.headers[SIGNATURE]))
                self.send_response(server.status)
                if server.status == 302:
                    self.send_header("Location", f"https://127.0.0.1:{server.port}/else")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.authority = folder / "ca.pem"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_certificate(folder, self.authority))
        self._http = HttpsServer(("127.0.0.1", 0), Handler, context)
        self.port = int(self._http.server_address[1])
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.waits.set()
        self._http.shutdown()
        self._http.server_close()


def _certificate(folder: Path, authority: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    authority.write_bytes(certificate.public_bytes(Encoding.PEM))
    both = folder / "server.pem"
    both.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + certificate.public_bytes(Encoding.PEM)
    )
    return both


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    found = Server(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(found.authority))
    yield found
    found.close()


def tell(port: int, secrets: dict[str, str] | None = None) -> float:
    """Have a webhook tell all events; the seconds that this takes the rollout, its end included."""
    notify = Notify(url=f"https://127.0.0.1:{port}/token-in-a-path", secret="hook", path=())
    given = {"hook": SECRET} if secrets is None else secrets
    started = time.monotonic()
    hook = Webhook(notify, lambda: given, cluster="c", rollout="r")
    for event in EVENTS:
        hook(event)
    told = time.monotonic() - started
    hook.close()
    assert told < 1, "an event never waits"
    return time.monotonic() - started


def test_a_server_is_told_of_waves_and_knows_by_the_signature(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    tell(server.port)
    kinds = [json.loads(body)["event"] for body, _ in server.heard]
    assert kinds == ["rollout-started", "wave-finished", "wave-failed", "rollout-stopped"]
    first = json.loads(server.heard[0][0])
    assert (first["cluster"], first["rollout"]) == ("c", "r")
    for body, signature in server.heard:
        assert signature == "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        assert SECRET.encode() not in body
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("status", [500, 403, 302])
def test_a_refusal_and_a_redirect_are_told_without_secret_or_path(
    server: Server, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    server.status = status
    tell(server.port)
    said = capsys.readouterr().err
    assert said == f"webhook at 127.0.0.1: not everything was delivered: status {status}\n"
    assert len(server.heard) == 4, "no redirect is followed"


def test_a_server_that_hangs_holds_up_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(webhook, "_ANSWER_S", 1)
    monkeypatch.setattr(webhook, "_END_S", 2)
    server.waits.clear()
    assert tell(server.port) < 6
    assert "not everything was delivered" in capsys.readouterr().err


def test_nobody_there_no_trust_and_no_secret(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tell(server.port, {})
    assert "there is no secret hook" in capsys.readouterr().err
    monkeypatch.delenv("SSL_CERT_FILE")
    tell(server.port)
    assert "ConnectError" in capsys.readouterr().err
    assert not server.heard, "nothing is said to a server whose certificate nobody vouches for"


def test_a_source_of_secrets_that_fails_is_told(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> dict[str, str]:
        raise ClusterwrightError("vault does not answer")

    hook = Webhook(
        Notify(url=f"https://127.0.0.1:{server.port}/", secret="hook", path=()), fails, cluster="c", rollout="r"
    )
    hook(EVENTS[0])
    hook.close()
    assert "vault does not answer" in capsys.readouterr().err
