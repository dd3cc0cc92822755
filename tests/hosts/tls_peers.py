"""A storage server and a node in network namespaces of their own: which handshakes succeed, and what the wire shows.

Run inside ``unshare --net --mount`` by test_mutual_tls.py: ``tls_peers.py drive CONFIG CASES`` prints one JSON object.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from configparser import ConfigParser
from pathlib import Path
from typing import Any

SERVER, NODE, PORT = "fd00:77::1", "fd00:77::2", 2049
STORAGE_NAME = "nfs.lab.example.net"
MARKER = b"a page of the training set, in clear"
LAST = b"the last packet"


def serve(folder: Path, cases: list[dict[str, Any]]) -> None:
    """One connection a case: mutual TLS against the authority and its list, then an echo."""
    run("ip", "link", "set", "lo", "up")
    say("up")
    sys.stdin.readline()
    run("ip", "address", "add", f"{SERVER}/64", "dev", "storage", "nodad")
    run("ip", "link", "set", "storage", "up")
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.bind(("storage", 0))
    seen: list[bytes] = []
    threading.Thread(target=lambda: sniff(wire, seen), daemon=True).start()
    listener = socket.create_server((SERVER, PORT), family=socket.AF_INET6)
    say("ready")
    answers: list[dict[str, Any]] = []
    for number, case in enumerate(cases):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        context.load_verify_locations(folder / "authorities.pem")
        context.load_verify_locations(folder / "withdrawn.pem")
        context.load_cert_chain(folder / f"{case['server']}.pem", folder / f"{case['server']}.key")
        raw, _ = listener.accept()
        raw.settimeout(10)
        try:
            with context.wrap_socket(raw, server_side=True) as connection:
                heard = connection.recv(1000)
                connection.sendall(heard)
            told = "served" if heard == page(number) else "nothing heard"
        except (OSError, ssl.SSLError) as error:
            told = getattr(error, "reason", None) or type(error).__name__
        finally:
            with contextlib.suppress(OSError):
                raw.close()
        answers.append({"server": told})
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as last:
        last.sendto(LAST, (NODE, PORT))
    while not any(LAST in packet for packet in list(seen)):  # the capture is behind: what it is to judge is in it now
        time.sleep(0.01)
    for number, answer in enumerate(answers):
        answer["in_clear"] = any(page(number) in packet for packet in seen)
    say(json.dumps(answers))


def sniff(wire: socket.socket, seen: list[bytes]) -> None:
    while True:
        seen.append(wire.recv(65535))


def ask(config: Path, number: int, case: dict[str, Any]) -> str:
    """What a node hears that mounts with the files its tlshd configuration names, or with the case's own."""
    parser = ConfigParser(delimiters=("=",), interpolation=None)
    parser.read(config)
    files = dict(parser["authenticate.client"])
    if case["client"] == "plaintext":
        with socket.create_connection((SERVER, PORT), timeout=10) as raw:
            raw.sendall(page(number))
            raw.settimeout(10)
            try:
                return "answered in clear" if raw.recv(1000) == page(number) else "refused"
            except OSError:
                return "refused"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    context.load_verify_locations(files["x509.truststore"])
    context.load_verify_locations(files["x509.crl"])
    folder = Path(files["x509.certificate"]).parent
    if case["client"] == "node":
        context.load_cert_chain(files["x509.certificate"], files["x509.private_key"])
    elif case["client"] != "anonymous":
        context.load_cert_chain(folder / f"{case['client']}.pem", folder / f"{case['client']}.key")
    try:
        raw = socket.create_connection((SERVER, PORT), timeout=10)
        with raw, context.wrap_socket(raw, server_hostname=STORAGE_NAME) as connection:
            connection.sendall(page(number))
            return "served" if connection.recv(1000) == page(number) else "refused"
    except ssl.SSLCertVerificationError as error:
        return f"node refuses: {error.verify_message}"
    except OSError:
        return "refused"


def drive(config: Path, cases: list[dict[str, Any]]) -> None:
    folder = config.parents[1] / "pki" / "clusterwright"
    command = ["unshare", "--net", sys.executable, __file__, "serve", str(folder), json.dumps(cases)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stdout.readline() == "up\n"
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "node", "type", "veth", "peer", "name", "storage", "netns", str(server.pid))
        run("ip", "address", "add", f"{NODE}/64", "dev", "node", "nodad")
        run("ip", "link", "set", "node", "up")
        server.stdin.write("linked\n")
        server.stdin.flush()
        assert server.stdout.readline() == "ready\n"
        told = [ask(config, number, case) for number, case in enumerate(cases)]
        answers = json.loads(server.stdout.readline())
    say(json.dumps([{"node": mine, **theirs} for mine, theirs in zip(told, answers, strict=True)]))


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def page(number: int) -> bytes:
    """What the node of one case reads and writes: another text for each, so that the wire tells them apart."""
    return MARKER + b" %03d" % number


def run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    action, place, cases = sys.argv[1:]
    {"serve": serve, "drive": drive}[action](Path(place), json.loads(cases))
