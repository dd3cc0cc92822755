"""Switches that speak eAPI: JSON-RPC over TLS with the session semantics of EOS, state in memory, and faults on demand.

What is kept is what a deployment leans on: a session starts as a copy of what runs, ``rollback clean-config`` empties
it, a refused line leaves what runs alone, ``commit timer`` puts it into effect and takes it back unless confirmed, and
while one commit waits for its confirmation every other commit is refused.
"""

from __future__ import annotations

import base64
import difflib
import json
import re
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.https_server import HttpsServer

USER, PASSWORD = "deploy", "correct horse"
Tree = dict[str, "Tree"]


class Invalid(Exception):
    """A command that the switch does not take."""


@dataclass
class Faults:
    """What goes wrong. Patterns are matched with the whole command.

    ``refuse``: this line is invalid. ``mute``: carried out once, then the connection stays open without an answer.
    ``deaf_s``: for so long after a commit nothing is answered at all. ``lost``: neighbours that do not come back.
    ``impostor``: what answers after a commit has this serial number. ``on``: told of each command before it is run.
    """

    refuse: str = ""
    mute: str = ""
    deaf_s: float = 0
    lost: frozenset[str] = frozenset()
    impostor: str = ""
    on: Callable[[str], None] = lambda command: None


@dataclass
class Session:
    tree: Tree
    state: str = "pending"
    before: Tree = field(default_factory=dict)
    timer: threading.Timer | None = None


def parse(text: str) -> Tree:
    """A configuration's sections, by indentation."""
    tree: Tree = {}
    stack = [(-1, tree)]
    for line in text.splitlines():
        if line.strip() and not line.strip().startswith("!"):
            depth = len(line) - len(line.lstrip())
            while stack[-1][0] >= depth:
                stack.pop()
            stack.append((depth, stack[-1][1].setdefault(line.strip(), {})))
    return tree


def show(tree: Tree, depth: int = 0) -> str:
    """A configuration in the switch's own order, which is nobody else's."""
    return "".join(
        f"{'   ' * depth}{line}\n{show(inner, depth + 1)}" + ("!\n" if inner and not depth else "")
        for line, inner in sorted(tree.items(), reverse=not depth)
    )


class Switch:
    """One switch and its server, as a context manager."""

    def __init__(self, name: str, address: str, port: int, pki: Pki, running: str = "", **faults: Any) -> None:
        self.name, self.serial, self.pki = name, f"SN-{name}", pki
        self.tree = parse(running or f"hostname {name}\n")
        self.startup: Tree = {}
        self.sessions: dict[str, Session] = {}
        self.faults = Faults(**faults)
        self.commits = 0
        self.log: list[str] = []
        self._lock = threading.RLock()
        self._silent_until = 0.0
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pki.certificate(name))
        context.load_verify_locations(pki.ca)
        context.verify_mode = ssl.CERT_OPTIONAL
        self._server = HttpsServer((address, port), _handler(self), context)

    def __enter__(self) -> Switch:
        threading.Thread(target=self._server.serve_forever, daemon=True, kwargs={"poll_interval": 0.05}).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        for session in self.sessions.values():
            if session.timer:
                session.timer.cancel()

    @property
    def running(self) -> str:
        return show(self.tree)

    @property
    def armed(self) -> bool:
        return any(session.state == "pendingCommitTimer" for session in self.sessions.values())

    @property
    def silent(self) -> bool:
        return time.monotonic() < self._silent_until

    def run(self, commands: list[str], encoding: str) -> list[Any]:
        """The results, one a command. Raises Invalid with the results so far as its second argument."""
        results: list[Any] = []
        modes: list[Tree] = []
        session: Session | None = None
        with self._lock:
            for command in commands:
                self.log.append(command)
                self.faults.on(command)
                try:
                    if session is None:
                        session, answer = self._command(command, encoding)
                        modes = [session.tree] if session else []
                    else:
                        session, answer = self._in_session(session, modes, command), {}
                except Invalid as error:
                    raise Invalid(str(error), results) from None
                results.append(answer)
        return results

    def _command(self, command: str, encoding: str) -> tuple[Session | None, Any]:
        words = command.split()
        if words[:2] == ["configure", "session"]:
            return self._configure(words[2], words[3:]), {}
        shown: dict[str, Callable[[], Any]] = {
            "enable": dict,
            "show hostname": lambda: {"hostname": self._hostname(), "fqdn": self._hostname()},
            "show version": lambda: {"serialNumber": self.serial, "version": "4.33.1F", "modelName": "DCS-7804-CH"},
            "show running-config": lambda: f"! Command: show running-config\n! {time.time()}\n{self.running}end\n",
            "show configuration sessions detail": lambda: {
                "maxSavedSessions": 1,
                "sessions": {name: {"state": session.state} for name, session in self.sessions.items()},
            },
            "show bgp summary vrf all": self._summary,
            "write memory": self._save,
        }
        if words[:3] == ["show", "session-config", "named"] and words[4:] == ["diffs"]:
            wanted = show(self._named(words[3]).tree).splitlines()
            names = "system:/running-config", f"session:/{words[3]}-session-config"
            answer: Any = "\n".join(difflib.unified_diff(self.running.splitlines(), wanted, *names, lineterm=""))
        elif command in shown:
            answer = shown[command]()
        else:
            raise Invalid("Invalid input")
        return None, {"output": answer} if encoding == "text" else answer

    def _named(self, name: str) -> Session:
        if name not in self.sessions:
            raise Invalid(f"Session {name} does not exist")
        return self.sessions[name]

    def _configure(self, name: str, rest: list[str]) -> Session | None:
        if rest == ["commit"]:
            session = self._named(name)
            if session.state != "pendingCommitTimer":
                raise Invalid(f"Session {name} is not pending commit timer")
            assert session.timer
            session.timer.cancel()
            session.state = "completed"
            return None
        if rest == ["abort"]:
            self._named(name)
            self._take_back(name)
            return None
        if self.sessions.get(name, Session({})).state != "pending":
            raise Invalid(f"Cannot enter session {name} (pendingCommitTimer)")
        waiting = sum(session.state == "pending" for session in self.sessions.values())
        if name not in self.sessions and waiting == 5:
            raise Invalid("Maximum number of pending sessions has been reached")
        return self.sessions.setdefault(name, Session(json.loads(json.dumps(self.tree))))

    def _in_session(self, session: Session, modes: list[Tree], command: str) -> Session | None:
        line = command.strip()
        if line == "abort":
            self.sessions = {name: other for name, other in self.sessions.items() if other is not session}
            return None
        if line == "end":
            return None
        if line == "rollback clean-config":
            session.tree.clear()
        elif match := re.fullmatch(r"commit timer (\d\d):(\d\d):(\d\d)", line):
            hours, minutes, seconds = map(int, match.groups())
            self._commit(session, hours * 3600 + minutes * 60 + seconds)
            return None
        elif line == "exit":
            if len(modes) == 1:
                raise Invalid("Invalid input: exit would leave the session")
            modes.pop()
        elif "<" in line or (self.faults.refuse and re.search(self.faults.refuse, line)):
            raise Invalid("Invalid input (at token 1)")
        else:
            self._enter(modes, command)
        return session

    @staticmethod
    def _enter(modes: list[Tree], command: str) -> None:
        """Lines come with an ``exit`` for each mode that they leave, so that indentation is never above the mode."""
        depth = (len(command) - len(command.lstrip())) // 3
        if depth == len(modes):
            modes.append(modes[-1][list(modes[-1])[-1]])
        if depth != len(modes) - 1:
            raise Invalid(f"Invalid input: {command!r} while {len(modes) - 1} modes deep")
        modes[-1].setdefault(command.strip(), {})

    def _commit(self, session: Session, timer_s: int) -> None:
        if self.armed:
            raise Invalid("another session is pending commit timer")
        name = next(name for name, other in self.sessions.items() if other is session)
        session.before, self.tree, session.state = self.tree, session.tree, "pendingCommitTimer"
        session.timer = threading.Timer(timer_s, self._take_back, [name])
        session.timer.daemon = True
        session.timer.start()
        self.commits += 1
        self.serial = self.faults.impostor or self.serial
        self._silent_until = time.monotonic() + self.faults.deaf_s

    def _take_back(self, name: str) -> None:
        with self._lock:
            session = self.sessions.pop(name, None)
            if session and session.timer and session.state == "pendingCommitTimer":
                session.timer.cancel()
                self.tree = session.before

    def _save(self) -> dict[str, Any]:
        self.startup = self.tree
        return {"messages": ["Copy completed successfully."]}

    def _hostname(self) -> str:
        return next((line.split()[1] for line in self.tree if line.startswith("hostname ")), "localhost")

    def _summary(self) -> dict[str, Any]:
        bgp = next((inner for line, inner in self.tree.items() if line.startswith("router bgp ")), None)
        if bgp is None:
            raise Invalid("BGP inactive")
        names = [line.split()[1] for line in bgp if re.match(r"neighbor \S+ remote-as ", line)]
        down = self.faults.lost if self.commits else frozenset()
        peers = {name: {"peerState": "Active" if name in down else "Established"} for name in names}
        return {"vrfs": {"default": {"peers": peers}}}


def _handler(switch: Switch) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if switch.silent:
                time.sleep(switch.faults.deaf_s)
                return
            login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            if not self.request.getpeercert() and self.headers.get("Authorization") != f"Basic {login}":
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            asked = request["params"]
            try:
                answer: dict[str, Any] = {"result": switch.run(asked["cmds"], asked["format"])}
            except Invalid as error:
                text, done = error.args
                number = len(done) + 1
                message = f"CLI command {number} of {len(asked['cmds'])} '{asked['cmds'][number - 1]}' failed"
                answer = {"error": {"code": 1002, "message": message, "data": [*done, {"errors": [text]}]}}
            if switch.faults.mute and re.search(switch.faults.mute, " ; ".join(asked["cmds"])):
                switch.faults.mute = ""
                time.sleep(10)
                return
            body = json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(Handler):
        def handle(self) -> None:
            try:
                self.request.do_handshake()
                super().handle()
            except OSError:
                self.close_connection = True

    return Quiet


class Pki:
    """An authority of the switches' certificates, in a folder."""

    def __init__(self, folder: Path) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec

        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.ca = folder / "ca.pem"
        self.ca.write_bytes(self._sign("authority", self._key, authority=True))

    def certificate(self, name: str) -> tuple[Path, Path]:
        """Certificate and key of ``name``."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        certificate, secret = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        certificate.write_bytes(self._sign(name, key, authority=False))
        plain = serialization.NoEncryption()
        encoding, layout = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        secret.write_bytes(key.private_bytes(encoding, layout, plain))
        secret.chmod(0o600)
        return certificate, secret

    def _sign(self, name: str, key: Any, *, authority: bool) -> bytes:
        import datetime

        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.x509.oid import NameOID

        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if authority:
            usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
            builder = builder.add_extension(usage, critical=True)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
