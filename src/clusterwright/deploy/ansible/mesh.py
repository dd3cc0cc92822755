"""Run jobs on execution nodes, over a mesh of receptors; the share of a lost node is repeated by another one.

A lost share is repeated as a whole, with the devices that had answered: only a completed run counts, and a device with
its tree has nothing to change. A worker outliving its node's receptor does no harm meanwhile: a device over SSH is
locked while it changes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from clusterwright.deploy.ansible.execution import ConnectedMesh
from clusterwright.deploy.ansible.folder import RunFolder, abandoned_units, run_folder
from clusterwright.deploy.ansible.job import PlaybookJob
from clusterwright.deploy.ansible.receptor import Receptor, ReceptorError
from clusterwright.deploy.ansible.transcript import Transcript
from clusterwright.deploy.ansible.worker_stream import StreamError, WorkerStream
from clusterwright.spec.execution import WORK_TYPE

POLL_S = 1.0
_MARGIN_S = 60  # time for a worker beyond the limit of its run, to end the run and report that


class NodeLostError(Exception):
    """A lost execution node, or a mesh without a route to it."""


class WorkLostError(Exception):
    """A worker ended without its final status, on a present node."""


class Mesh:
    """The execution nodes of one deployment; safe for threads.

    ``folder`` has the runs' private folders. A node works on ``jobs_at_once`` jobs, and on none after it was lost.
    """

    def __init__(self, execution: ConnectedMesh, folder: Path, jobs_at_once: int) -> None:
        self._execution = execution
        self._folder = folder
        self._receptor = Receptor(execution.control_socket)
        self._slots = {node.name: threading.Semaphore(jobs_at_once) for node in execution.nodes}
        self._jobs = dict.fromkeys(self._slots, 0)
        self._lost: dict[str, str] = {}
        self._lock = threading.Lock()  # over the nodes' numbers of jobs, and the lost nodes

    def shares(self, devices: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Execution node -> its share of ``devices``, even for an absent node; every device is in one share.

        Work left by a killed process is ended first. Raises ReceptorError if this machine's own receptor does not
        answer.
        """
        for unit in abandoned_units(self._folder):
            self._receptor.forget(unit)
        self._wait_for_nodes()
        return self._execution.partition(devices)

    def run(self, job: PlaybookJob, home: str, given_up: threading.Event) -> Transcript:
        """Run ``job`` on ``home``, or on the least busy node. One device's failure raises nothing."""
        before = Transcript()
        tried = {home: self._lost[home]} if home in self._lost else {}
        begun = False
        while (node := self.take(home, tried)) is not None and not given_up.is_set():
            attempt = _Attempt(receptor=self._receptor, execution=self._execution, job=job, node=node)
            try:
                with self._slots[node], run_folder(self._folder) as private:
                    if node in self._lost:
                        raise NodeLostError(self._lost[node])
                    attempt.run(private, given_up)
            except WorkLostError as error:
                tried[node] = str(error)
            except NodeLostError as error:
                tried[node] = str(error)
                self.leave_out(node, str(error))
            finally:
                with self._lock:
                    self._jobs[node] -= 1
            begun = begun or attempt.begun
            attempt.transcript.follow(before)
            before = attempt.transcript
            if node not in tried:
                before.note = f"done by {node}: {_listed(tried)}" if tried else ""
                return before
        before.ended = False
        if given_up.is_set():
            return before
        reason = f"no execution node is left to reach it from: {_listed({**self._lost, **tried})}"
        if begun:
            before.complaints.append(reason)
        else:
            before.untried = reason
        return before

    def _wait_for_nodes(self) -> None:
        """Find the present nodes; wait only if there is none, as after a start of this receptor."""
        deadline = time.monotonic() + self._execution.lost_after_s
        while not (alive := self._receptor.reachable() & self._slots.keys()) and time.monotonic() < deadline:
            time.sleep(POLL_S)
        for name in self._slots:
            if name not in alive:
                self.leave_out(name, "the mesh has no route to it")

    def leave_out(self, node: str, reason: str) -> None:
        """Assign no further job to ``node``."""
        with self._lock:
            self._lost[node] = reason

    def take(self, home: str, tried: Collection[str]) -> str | None:
        """The node to try next, counted as busy from now on: ``home``, then the least busy one; None: no node."""
        with self._lock:
            candidates = [name for name in self._slots if name not in tried and name not in self._lost]
            if not candidates:
                return None
            node = home if home in candidates else min(candidates, key=lambda name: (self._jobs[name], name))
            self._jobs[node] += 1
            return node


@dataclass(slots=True)
class _Attempt:
    """One job on one node; ``begun`` is True once its devices may have been reached."""

    receptor: Receptor
    execution: ConnectedMesh
    job: PlaybookJob
    node: str
    transcript: Transcript = field(default_factory=Transcript)
    begun: bool = False

    def run(self, private: RunFolder, given_up: threading.Event) -> None:
        """Submit the job, and read its output until it is over. Raises NodeLostError and WorkLostError."""

        def write(unit: str, stream: IO[bytes]) -> None:
            private.note.write_text(unit)
            self.job.transmit(private, stream)

        try:
            unit = self.receptor.submit(self.node, WORK_TYPE, self.execution.tls, write)
        except ReceptorError as error:
            raise NodeLostError(str(error)) from None
        self.begun = True
        try:
            self._listen(unit, given_up)
        finally:
            self.receptor.forget(unit)
            private.note.unlink()

    def _listen(self, unit: str, given_up: threading.Event) -> None:
        stream = WorkerStream(len(self.job.shard))
        watch = _NodeWatch(self.receptor, self.execution, self.node, self.job.timeout_s + _MARGIN_S)
        over = ""
        while not given_up.is_set():
            position = stream.received_bytes
            try:
                with self.receptor.results(unit, position, POLL_S) as receive:
                    if self._take(stream, receive, watch, given_up):
                        break
                if over and stream.received_bytes == position:
                    raise WorkLostError(f"its worker ended without a last word: {over}")
                state, detail = self.receptor.state(unit)
                over = detail if state.is_over else ""
            except ReceptorError as error:
                watch.require_mesh(error)
            except StreamError as error:
                raise WorkLostError(str(error)) from None
            if not over:
                given_up.wait(POLL_S)
        self.transcript.close(stream.exit_code)
        if stream.explanation:
            self.transcript.complaints.append(stream.explanation)

    def _take(
        self, stream: WorkerStream, receive: Callable[[], bytes], watch: _NodeWatch, given_up: threading.Event
    ) -> bool:
        """Read results until the connection ends. True if the worker has finished."""
        while not stream.ended and not given_up.is_set():
            try:
                piece = receive()
            except TimeoutError:
                watch.require_node()
                continue
            if not piece:
                break
            watch.heard()
            for event in stream.feed(piece):
                self.transcript.hear(event)
        return stream.ended


class _NodeWatch:
    """Watches the signs of life of a node's worker."""

    def __init__(self, receptor: Receptor, execution: ConnectedMesh, node: str, limit_s: float) -> None:
        self._receptor, self._execution, self._node = receptor, execution, node
        self._heard = self._reached = time.monotonic()
        self._deadline = self._heard + limit_s

    def heard(self) -> None:
        """Note output of the worker."""
        self._heard = self._reached = time.monotonic()

    def require_node(self) -> None:
        """Check the node after a while without output. Raises NodeLostError, and ReceptorError."""
        now = time.monotonic()
        if self._node in self._receptor.reachable():
            self._reached = now
        if now - self._reached > self._execution.lost_after_s:
            raise NodeLostError(f"the mesh has had no route to it for {now - self._reached:.0f} s")
        if now - self._heard > self._execution.silent_after_s:
            raise NodeLostError(f"its worker has said nothing for {now - self._heard:.0f} s")
        if now > self._deadline:
            raise NodeLostError("its worker did not end in time")

    def require_mesh(self, error: ReceptorError) -> None:
        """Tolerate a failure of this machine's receptor for a while. Raises NodeLostError."""
        if time.monotonic() - self._reached > self._execution.lost_after_s:
            raise NodeLostError(str(error)) from None


def _listed(reasons: Mapping[str, str]) -> str:
    return "; ".join(f"{node}: {reason}" for node, reason in reasons.items())
