"""Client of the control socket of this machine's receptor: nodes on the mesh, and units of work on them.

A line of text, or of JSON, is answered by a line of JSON; every wait has a limit, because a mesh is queried just when
something is wrong with it. (Receptor's own Python client has no limits.)
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, Any

from clusterwright.finding import ClusterwrightError

_GREETING = "Receptor Control, node "
_ACCEPTED = re.compile(r"Work unit created with ID (\S+)\. Send stdin data and EOF\.")
_STREAMING = "Streaming results for work unit "
_REFUSED = "ERROR: "
_PIECE_BYTES = 65536


class ReceptorError(ClusterwrightError):
    """Receptor cannot be reached, or refuses a request."""


class UnitState(Enum):
    """State of a unit of work, by receptor's numbers."""

    PENDING = 0
    RUNNING = 1
    SUCCEEDED = 2
    FAILED = 3
    CANCELED = 4

    @property
    def is_over(self) -> bool:
        """Whether the unit has ended."""
        return self.value > UnitState.RUNNING.value


@dataclass(frozen=True, slots=True)
class Receptor:
    """The receptor behind ``socket_path``. Every method raises ReceptorError; an answer has ``answer_s`` seconds."""

    socket_path: Path
    answer_s: float = 20

    def reachable(self) -> frozenset[str]:
        """The nodes with a route on the mesh, and this one."""
        status = self._ask("status")
        return frozenset({*(status.get("RoutingTable") or {}), str(status.get("NodeID", ""))})

    def submit(self, node: str, work_type: str, tls: str, write: Callable[[str, IO[bytes]], None]) -> str:
        """Submit signed work to ``node``, over a connection encrypted from end to end, and return the work unit's name.

        ``write`` gets that name before the work begins, and writes the work's input.
        """
        order = {"command": "work", "subcommand": "submit", "node": node, "worktype": work_type}
        with self._asked(json.dumps({**order, "signwork": "true", "tlsclient": tls})) as channel:
            answer = channel.line()
            accepted = _ACCEPTED.fullmatch(answer)
            if accepted is None:
                raise ReceptorError(f"{node} is given no work: {answer}")
            try:
                with channel.connection.makefile("wb") as stream:
                    write(accepted[1], stream)
                channel.connection.shutdown(socket.SHUT_WR)
                _parsed(channel.line())
            except (OSError, ReceptorError) as error:
                self.forget(accepted[1])
                raise ReceptorError(f"{node} does not take the work: {error}") from None
            return accepted[1]

    def state(self, unit: str) -> tuple[UnitState, str]:
        """State of a unit, and receptor's description of it."""
        answer = self._ask(f"work status {unit}")
        try:
            return UnitState(answer.get("State")), str(answer.get("Detail", ""))
        except ValueError:
            raise ReceptorError(f"receptor knows no state of the work unit {unit}") from None

    @contextlib.contextmanager
    def results(self, unit: str, position: int, poll_s: float) -> Iterator[Callable[[], bytes]]:
        """Output of a unit from byte ``position`` on, a piece by each call; empty at the end.

        A call raises TimeoutError without output within ``poll_s``, and may then be repeated.
        """
        with self._asked(f"work results {unit} {position}") as channel:
            answer = channel.line()
            if not answer.startswith(_STREAMING):
                raise ReceptorError(f"no results of {unit}: {answer}")
            channel.connection.shutdown(socket.SHUT_WR)
            channel.connection.settimeout(poll_s)
            yield channel.receive

    def forget(self, unit: str) -> None:
        """End a unit and remove its files, here and on its node: at once, or when the node is back.

        Raises nothing: it is called after another error.
        """
        for step in ("cancel", "release", "force-release"):
            with contextlib.suppress(ReceptorError):
                self._ask(f"work {step} {unit}")

    def _ask(self, line: str) -> Mapping[str, Any]:
        with self._asked(line) as channel:
            return _parsed(channel.line())

    @contextlib.contextmanager
    def _asked(self, line: str) -> Iterator[_Channel]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(self.answer_s)
            try:
                connection.connect(str(self.socket_path))
                channel = _Channel(connection)
                if not channel.line().startswith(_GREETING):
                    raise ReceptorError(f"{self.socket_path}: this is no control socket of receptor")
                connection.sendall(f"{line}\n".encode())
            except OSError as error:
                raise ReceptorError(
                    f"{self.socket_path}: receptor does not answer: {error.strerror or error}"
                ) from None
            yield channel


class _Channel:
    """One connection: lines first, then bytes."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._held = b""

    def line(self) -> str:
        """The next line. Raises ReceptorError without a line in time."""
        try:
            while b"\n" not in self._held and (more := self.connection.recv(_PIECE_BYTES)):
                self._held += more
        except OSError as error:
            raise ReceptorError(f"receptor does not answer: {error.strerror or error}") from None
        line, _, self._held = self._held.partition(b"\n")
        return line.decode(errors="replace").strip()

    def receive(self) -> bytes:
        """The next piece; empty at the end, and after a broken connection. Raises TimeoutError without a piece."""
        if self._held:
            piece, self._held = self._held, b""
            return piece
        try:
            return self.connection.recv(_PIECE_BYTES)
        except TimeoutError:
            raise
        except OSError:
            return b""


def _parsed(line: str) -> Mapping[str, Any]:
    if line.startswith(_REFUSED):
        raise ReceptorError(f"receptor refuses: {line.removeprefix(_REFUSED)}")
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ReceptorError(f"receptor answers what is no JSON: {line[:200] or 'nothing'}")
    return answer
