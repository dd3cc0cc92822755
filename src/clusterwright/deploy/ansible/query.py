"""Query running devices: run programs that report state and change nothing.

Over SSH by the deployment's own access: the same key, the same known hosts, and the one command in the line for sudoers
(``docs/deploy.md``). Over eAPI as one request. A device without an answer in time is unreachable, and delays no other.
"""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
from base64 import b64encode
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from clusterwright.child_environment import child_environment
from clusterwright.deploy.ansible.eapi import EapiAccess
from clusterwright.deploy.ansible.ssh import Access, ssh_options
from clusterwright.deploy.target import Unreachable
from clusterwright.finding import ClusterwrightError

AT_ONCE = 32
"""Parallel connections: each is a waiting process on the control node."""
CONNECT_S = 10
_GRACE_S = 5  # time for an interpreter's start and the answer's transfer beyond the programs' own limits
_BECOME = "BECOME-SUCCESS-asking"

# Runs on the device; ends the program in time, with its children.
_PROGRAM = """
import json, os, signal, subprocess
command, limit_s = json.loads({question!r})
try:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    output, said = process.communicate(timeout=limit_s)
    answer = [process.returncode, output.decode(errors="replace"), said.decode(errors="replace")]
except OSError as error:
    answer = [127, "", command[0] + ": " + str(error.strerror)]
except subprocess.TimeoutExpired:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    answer = [124, "", command[0] + " did not end within %g s" % limit_s]
print(json.dumps(answer))
"""


@dataclass(frozen=True, slots=True)
class RemoteCommand:
    """A program to run on a device, with its arguments and time limit."""

    command: tuple[str, ...]
    limit_s: float


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a program; its exit status is 124 after a timeout, and 127 for a missing program."""

    status: int
    output: str
    error: str

    @property
    def said(self) -> str:
        """The last line of its error output, or else of its output, or the exit status."""
        lines = (self.error.strip() or self.output.strip()).splitlines()
        return lines[-1] if lines else f"exit status {self.status}"


@dataclass(frozen=True, slots=True)
class Devices:
    """The devices of an access file, for queries."""

    access: Access

    @property
    def over_ssh(self) -> frozenset[str]:
        """Devices able to run a program."""
        return frozenset(self.access.addresses)

    @property
    def over_eapi(self) -> frozenset[str]:
        """Switches with commands of EOS."""
        return frozenset(self.access.eapi.addresses if self.access.eapi else ())

    def run(
        self, questions: Mapping[str, RemoteCommand], *, becomes_root: bool = True
    ) -> Mapping[str, CommandResult | Unreachable]:
        """The answer of each device over SSH; every device has one. Raises ClusterwrightError without a key file.

        Programs run as root, or as the account of the access file itself.
        """
        for path in (self.access.private_key, self.access.known_hosts):
            if questions and not path.is_file():
                raise ClusterwrightError(f"{path}: there is no such file, and devices are asked with it")
        with ThreadPoolExecutor(AT_ONCE, "asking") as pool:
            run = partial(self._run, becomes_root=becomes_root)
            return dict(zip(questions, pool.map(run, questions, questions.values()), strict=True))

    def show(self, devices: Sequence[str], command: str) -> Mapping[str, Any]:
        """JSON output of a command on each switch over eAPI, or ``Unreachable``. Raises ClusterwrightError."""
        eapi = self.access.eapi
        if eapi is None or not devices:
            return {}
        context, headers = _credentials(eapi)
        with ThreadPoolExecutor(AT_ONCE, "asking") as pool:
            answers = pool.map(lambda name: _show(eapi, context, headers, name, command), devices)
            return dict(zip(devices, answers, strict=True))

    def show_text(self, devices: Sequence[str], command: str) -> Mapping[str, str | Unreachable]:
        """Text output of a command on each switch over eAPI. Raises ClusterwrightError."""
        eapi = self.access.eapi
        if eapi is None or not devices:
            return {}
        context, headers = _credentials(eapi)
        with ThreadPoolExecutor(AT_ONCE, "asking") as pool:
            answers = pool.map(lambda name: _show(eapi, context, headers, name, command, form="text"), devices)
            return {name: _printed(answer) for name, answer in zip(devices, answers, strict=True)}

    def _run(self, device: str, question: RemoteCommand, *, becomes_root: bool) -> CommandResult | Unreachable:
        address = self.access.addresses.get(device)
        if address is None:
            return Unreachable("the access file has no address for it")
        program = _PROGRAM.format(question=json.dumps([question.command, question.limit_s]))
        limit_s = CONNECT_S + question.limit_s + _GRACE_S
        try:
            # A process group of its own: the rollout itself handles a Ctrl-C.
            done = subprocess.run(
                self._ssh(address, becomes_root=becomes_root),
                input=program,
                capture_output=True,
                text=True,
                check=False,
                timeout=limit_s,
                process_group=0,
                env=child_environment(),
            )
        except subprocess.TimeoutExpired:
            return Unreachable(f"no answer from {address} within {limit_s:g} s")
        except OSError as error:
            raise ClusterwrightError(f"ssh cannot be started: {error.strerror}") from None
        try:
            status, output, error_text = json.loads(done.stdout.splitlines()[-1])
        except (ValueError, IndexError, TypeError):
            lines = done.stderr.strip().splitlines()
            return Unreachable(lines[-1] if lines else f"ssh to {address} ended with status {done.returncode}")
        return CommandResult(status, output, error_text)

    def _ssh(self, address: str, *, becomes_root: bool) -> list[str]:
        access = self.access
        options: list[str] = []
        for name, value in ssh_options(access, CONNECT_S).items():
            options += ["-o", f"{name}={value}"]
        start = [access.python]
        if becomes_root and access.user != "root":
            inner = f"'echo {_BECOME} ; {access.python}'"
            start = ["sudo", "-H", "-S", "-n", "-u", "root", "/bin/sh", "-c", inner]
        login = ["-F", "/dev/null", "-i", str(access.private_key), "-p", str(access.port), "-l", access.user]
        return ["ssh", *login, *options, address, *start]


def _credentials(eapi: EapiAccess) -> tuple[ssl.SSLContext, Mapping[str, str]]:
    headers = {"Content-Type": "application/json-rpc"}
    try:
        context = ssl.create_default_context(cafile=str(eapi.ca))
        if eapi.certificate is not None and eapi.key is not None:
            context.load_cert_chain(eapi.certificate, eapi.key)
        if eapi.password_file is not None:
            login = f"{eapi.user}:{eapi.password_file.read_text().strip()}"
            headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
    except OSError as error:
        raise ClusterwrightError(f"the credentials for eAPI cannot be read: {error}") from None
    return context, headers


def _show(
    eapi: EapiAccess,
    context: ssl.SSLContext,
    headers: Mapping[str, str],
    device: str,
    command: str,
    *,
    form: str = "json",
) -> Any | Unreachable:
    """One command's answer; empty for an error of the switch, as for a command of a disabled feature."""
    address = eapi.addresses[device]
    name = f"{device}.{eapi.domain}" if eapi.domain else device
    asked = {"version": 1, "cmds": ["enable", command], "format": form}
    body = json.dumps({"jsonrpc": "2.0", "method": "runCmds", "params": asked, "id": "clusterwright"})
    connection = _Named(address, eapi.port, name, context, eapi.answer_s)
    try:
        connection.request("POST", "/command-api", body, dict(headers))
        response = connection.getresponse()
        text = response.read()
        if response.status != http.client.OK:
            return Unreachable(f"eAPI at {address} answers {response.status} {response.reason}")
        answer = json.loads(text)
        return answer["result"][1] if "result" in answer else {}
    except (OSError, http.client.HTTPException) as error:
        return Unreachable(f"no answer from {address}:{eapi.port}: {str(error) or type(error).__name__}")
    except (ValueError, LookupError, TypeError) as error:
        return Unreachable(f"what {address} answers is no JSON-RPC: {error}")
    finally:
        connection.close()


def _printed(answer: Any) -> str | Unreachable:
    """The text of an answer in text form."""
    if isinstance(answer, Unreachable):
        return answer
    text = answer.get("output") if isinstance(answer, dict) else None
    return text if isinstance(text, str) and text else Unreachable("it prints nothing for the command")


class _Named(http.client.HTTPSConnection):
    """A connection to an address, with the certificate of a name."""

    def __init__(self, address: str, port: int, name: str, context: ssl.SSLContext, limit_s: float) -> None:
        super().__init__(address, port, timeout=CONNECT_S, context=context)
        self._name, self._tls, self._limit_s = name, context, limit_s

    def connect(self) -> None:
        """Connect, and give every answer its own limit."""
        http.client.HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._name)
        self.sock.settimeout(self._limit_s)
