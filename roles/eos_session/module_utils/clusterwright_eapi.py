"""eAPI: JSON-RPC over HTTPS to one Arista switch, with nothing but Python's standard library.

Every request is a connection of its own: after a commit only a new connection shows that the switch can be reached.
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
from typing import Any, Mapping, Sequence

from ansible.module_utils.clusterwright_eos_text import read_secret

CONNECT_S = 10


class Unanswered(Exception):
    """No answer: whether the switch carried the commands out is not known, unless ``sent`` is False."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class Rejected(Exception):
    """The switch answered with an error. ``index`` is that of the command at fault, -1 when it names none."""

    def __init__(self, message: str, index: int = -1) -> None:
        super().__init__(message)
        self.index = index


class Eapi:
    """One switch. ``name`` is what its certificate has to say, whatever the address is."""

    def __init__(self, address: str, port: int, name: str, credentials: Mapping[str, str], answer_s: float) -> None:
        self.address, self.port, self.name, self.answer_s = address, port, name, answer_s
        self.context = ssl.create_default_context(cafile=credentials["ca"])
        self.headers = {"Content-Type": "application/json-rpc"}
        if credentials.get("certificate"):
            self.context.load_cert_chain(credentials["certificate"], credentials["key"])
        if credentials.get("password_file"):
            secret = read_secret(credentials["password_file"])
            login = base64.b64encode(f"{credentials['user']}:{secret}".encode()).decode()
            self.headers["Authorization"] = f"Basic {login}"

    def run(self, commands: Sequence[str], encoding: str = "json") -> list[Any]:
        """The answer to each command. Raises Unanswered and Rejected."""
        parameters = {"version": 1, "cmds": ["enable", *commands], "format": encoding}
        body = json.dumps({"jsonrpc": "2.0", "method": "runCmds", "params": parameters, "id": "clusterwright"})
        status, text = self._post(body.encode())
        if status != http.client.OK:
            raise Rejected(f"eAPI answers {status} {http.client.responses.get(status, '')}".strip())
        try:
            answer = json.loads(text)
            if "error" in answer:
                raise _rejected(answer["error"])
            results: list[Any] = answer["result"][1:]
        except (ValueError, KeyError, TypeError) as error:
            raise Unanswered(f"what came back is no JSON-RPC: {error}", sent=True) from error
        return results

    def _post(self, body: bytes) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.address, self.port)
        sent = False
        try:
            plain = socket.create_connection((self.address, self.port), timeout=CONNECT_S)
            connection.sock = plain
            connection.sock = self.context.wrap_socket(plain, server_hostname=self.name)
            connection.sock.settimeout(self.answer_s)
            sent = True
            connection.request("POST", "/command-api", body, self.headers)
            response = connection.getresponse()
            return response.status, response.read()
        except ssl.SSLCertVerificationError as error:
            raise Unanswered(
                f"its certificate is not that of {self.name}: {error.verify_message}", sent=sent
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise Unanswered(f"no answer from {self.address}:{self.port}: {_said(error)}", sent=sent) from error
        finally:
            connection.close()


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _rejected(error: Mapping[str, Any]) -> Rejected:
    """The switch's own words: the last of ``data`` is the command at fault, counted from the ``enable`` sent first."""
    data = error.get("data") or []
    words = [str(word) for part in data if isinstance(part, dict) for word in part.get("errors", ())]
    return Rejected("; ".join(words) or str(error.get("message", "no reason given")), len(data) - 2)
