"""Faults in a running twin and their repair: the routes must become those of a plan with the fault."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.extras.lab import frr
from clusterwright.extras.lab.check import await_routes, await_sessions
from clusterwright.extras.lab.expected import expected_routes
from clusterwright.extras.lab.namespaces import run_ip
from clusterwright.extras.lab.packets import endpoints, pairs, streaming
from clusterwright.extras.lab.running import folder_of
from clusterwright.extras.lab.twin import Twin, with_faults
from clusterwright.finding import ClusterwrightError
from clusterwright.spec.model import SpecException

_STREAM_INTERVAL_S = 0.01
_MOST_PAIRS = 16


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed link (a switch's ``port``), or a drained switch (``port`` None)."""

    device: str
    port: str | None

    def __str__(self) -> str:
        return f"drained {self.device}" if self.port is None else f"link down at {self.device}:{self.port}"


@dataclass(frozen=True, slots=True)
class Reconvergence:
    """Effect of a fault or its repair: ``seconds`` until all routes were as planned, datagrams ``sent``, ``received``.

    ``narrower`` counts routes to racks with fewer paths than before, on any switch; ``lost`` counts missing routes from
    a rack switch to another rack that is not drained.
    """

    what: str
    seconds: float
    narrower: int
    lost: int
    sent: int
    received: int


def parse_link(text: str) -> Fault:
    """The fault of ``DEVICE:PORT``. Raises ClusterwrightError for anything else."""
    device, colon, port = text.partition(":")
    if not (device and colon and port):
        raise ClusterwrightError(f'"{text}" is no link. Write one end of it as DEVICE:PORT.')
    return Fault(device, port)


def faulty(twin: Twin, faults: tuple[Fault, ...]) -> Twin:
    """The twin as planned with the faults. Raises ClusterwrightError for a device or link outside of the twin."""
    for fault in faults:
        _require(twin, fault)
    return with_faults(
        twin,
        tuple(
            SpecException(
                device=fault.device,
                group=None,
                port=fault.port,
                state="drained",
                image=None,
                reason="tried in the lab",
                path=(),
            )
            for fault in faults
        ),
    )


def try_change(twin: Twin, after: Twin, fault: Fault, *, fix: bool, timeout_s: float) -> Reconvergence:
    """Inject a fault into a running twin, or repair it, under traffic, and await the routes of ``after``.

    ``twin`` is the plan before. Raises DidNotConverge for other routes than those of ``after`` at the timeout.
    """
    tried = pairs(endpoints(after))
    with streaming(twin, tried[:: max(1, -(-len(tried) // _MOST_PAIRS))], _STREAM_INTERVAL_S) as stream:
        _apply(twin, fault, fix=fix)
        seconds = await_routes(after, timeout_s)
        # The kernel drops a dead next hop before the routers notice; a link repaired before that confuses them.
        await_sessions(after, _with_other_sessions(twin, after), timeout_s)
        await_routes(after, timeout_s)
    narrower, lost = _compared(twin, after)
    return Reconvergence(
        what=f"{fault}, mended" if fix else str(fault),
        seconds=seconds,
        narrower=narrower,
        lost=lost,
        sent=stream.sent,
        received=stream.received,
    )


def _apply(twin: Twin, fault: Fault, *, fix: bool) -> None:
    if fault.port is not None:
        state = "up" if fix else "down"
        run_ip(f"link set {twin.interfaces[fault.device, fault.port]} {state}\n", twin.namespace(fault.device))
        return
    folder = folder_of(twin.name) / fault.device
    word = "no " if fix else ""
    sides = twin.view_of[fault.device].bgp_sides
    frr.configure(folder, [f"{word}route-map TO-{side.upper()} deny 1" for side in sides])
    frr.announce_again(folder, twin.version)


def _with_other_sessions(before: Twin, after: Twin) -> list[str]:
    return [name for name, view in after.view_of.items() if view.sessions != before.view_of[name].sessions]


def _compared(before: Twin, after: Twin) -> tuple[int, int]:
    old, new = expected_routes(before), expected_routes(after)
    racks = {prefix for name, prefix in after.racks.items() if not after.view_of[name].is_drained}
    narrower = lost = 0
    for name, routes in old.ports.items():
        for prefix in racks & set(routes):
            remaining_ports = new.ports[name].get(prefix, frozenset())
            lost += not remaining_ports and before.plan.level(before.view_of[name].device) == 0
            narrower += 0 < len(remaining_ports) < len(routes[prefix])
    return narrower, lost


def _require(twin: Twin, fault: Fault) -> None:
    view = twin.view_of.get(fault.device)
    if view is None:
        raise ClusterwrightError(f"{twin.name}: there is no switch {fault.device} in this lab.")
    ports = [
        link.port.port for link in view.links if link.is_to_switch and (fault.device, link.port.port) in twin.interfaces
    ]
    if fault.port is not None and fault.port not in ports:
        shown = [*ports[:4], "..."] if len(ports) > 4 else ports
        raise ClusterwrightError(
            f"{twin.name}: {fault.device} has no link to a switch at port {fault.port} in this lab."
            f" It has {', '.join(shown)}."
        )
