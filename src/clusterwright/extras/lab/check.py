"""Comparison of a running twin with its plan: sessions, every route of every switch, announcements, and packets."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from clusterwright.child_environment import child_environment
from clusterwright.extras.lab import frr
from clusterwright.extras.lab.expected import ExpectedRoutes, expected_routes
from clusterwright.extras.lab.packets import Endpoint, endpoints, pairs, trace, unreached
from clusterwright.extras.lab.running import folder_of
from clusterwright.extras.lab.twin import Twin
from clusterwright.finding import ClusterwrightError
from clusterwright.intent.switch import SwitchView

_AT_ONCE = 4
_POLL_S = 0.1
_MOST_PAIRS = 512
_TRACES = 6
_MOST_NAMED = 3  # prefixes or ports named in one problem


class DidNotConverge(ClusterwrightError):
    """A running twin without the planned routes or sessions after the timeout; the text lists the first differences."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A difference between twin and plan, with its device."""

    device: str
    message: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Numbers of compared objects, and every difference.

    ``widths`` counts routes to racks by role and number of paths.
    """

    switches: int
    sessions: int
    routes: int
    paths: int
    pairs: int
    traces: tuple[tuple[str, ...], ...]
    widths: Mapping[tuple[str, int], int]
    problems: tuple[Deviation, ...]


def check(twin: Twin) -> CheckResult:
    """Compare all of a running twin with its plan. Raises ClusterwrightError for a router without an answer."""
    expected = expected_routes(twin)
    problems = check_routes(twin, expected) + _check_sessions(twin, expected)
    tried = _sampled(pairs(endpoints(twin)), _MOST_PAIRS)
    for a, b in unreached(twin, tried):
        problems.append(Deviation(a.node.name, f"cannot send from {_end(a)} to {_end(b)}"))
    traced = [trace(twin, a, b) for a, b in _sampled(tried, _TRACES)]
    for item in traced:
        between = f"{_end(item.source)} to {_end(item.target)}"
        for fault in _path_faults(twin, item.switches, item.arrived):
            problems.append(Deviation(item.source.node.name, f"{between}: {fault}"))
    return CheckResult(
        switches=len(twin.views),
        sessions=sum(len(view.sessions) for view in twin.views) // 2,
        routes=sum(len(routes) for routes in expected.ports.values()),
        paths=sum(sum(map(len, routes.values())) for routes in expected.ports.values()),
        pairs=len(tried),
        traces=tuple((item.source.node.name, *item.switches, item.target.node.name) for item in traced),
        widths=_widths(twin, expected),
        problems=tuple(problems),
    )


def await_routes(twin: Twin, timeout_s: float, without: Iterable[str] = ()) -> float:
    """Wait until every switch but ``without`` has exactly the planned routes; the elapsed seconds.

    Raises DidNotConverge with the first differences after the timeout.
    """
    expected = expected_routes(twin)
    ignored = set(without)
    waiting = [view for view in twin.views if view.device.name not in ignored]
    start = time.monotonic()
    while True:
        problems = []
        for view in waiting:
            problems += _route_problems(twin, view, expected)
        late = {problem.device for problem in problems}
        elapsed = time.monotonic() - start
        if not late:
            # A switch with the right routes earlier may have changed since: check all of them again.
            if len(waiting) == len(twin.views) - len(ignored):
                return elapsed
            waiting = [view for view in twin.views if view.device.name not in ignored]
            continue
        if elapsed > timeout_s:
            named = "\n".join(f"{item.device}: {item.message}" for item in problems[:_MOST_NAMED])
            raise DidNotConverge(f"{twin.name}: {len(late)} switches did not converge in {timeout_s:g} s:\n{named}")
        waiting = [view for view in waiting if view.device.name in late]
        time.sleep(_POLL_S)


def await_sessions(twin: Twin, switches: Iterable[str], timeout_s: float) -> None:
    """Wait until these switches have exactly the planned sessions. Raises DidNotConverge after the timeout."""
    expected = expected_routes(twin)
    deadline = time.monotonic() + timeout_s
    for name in switches:
        while problems := _session_problems(twin, twin.view_of[name], expected):
            if time.monotonic() > deadline:
                raise DidNotConverge(f"{twin.name}: {name}: {problems[0].message}")
            time.sleep(_POLL_S)


def check_routes(twin: Twin, expected: ExpectedRoutes) -> list[Deviation]:
    """Differences between the kernel's routing tables and the expected ports of every prefix."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        problem_lists = pool.map(lambda view: _route_problems(twin, view, expected), twin.views)
        return list(chain.from_iterable(problem_lists))


def kernel_routes(twin: Twin, switch: str) -> dict[str, frozenset[str]]:
    """The BGP routes in a switch's kernel: interfaces by prefix."""
    text = subprocess.run(
        ["ip", "-j", f"-{twin.version}", "-n", twin.namespace(switch), "route", "show", "proto", "bgp"],
        capture_output=True,
        text=True,
        check=False,
        env=child_environment(),
    ).stdout
    routes: dict[str, frozenset[str]] = {}
    address_bits = 32 if twin.version == 4 else 128
    for route in json.loads(text or "[]"):
        prefix = route["dst"] if "/" in route["dst"] else f"{route['dst']}/{address_bits}"
        hops: list[dict[str, Any]] = route.get("nexthops", [route])
        usable = {hop["dev"] for hop in hops if {"dead", "linkdown"}.isdisjoint(hop.get("flags", []))}
        routes[prefix] = routes.get(prefix, frozenset()) | usable
    return routes


def _route_problems(twin: Twin, view: SwitchView, expected: ExpectedRoutes) -> list[Deviation]:
    name = view.device.name
    planned_ports: dict[str, frozenset[str]] = {}
    for prefix, ports in expected.ports[name].items():
        planned_ports[prefix] = frozenset(twin.interfaces[name, port] for port in ports)
    routes = kernel_routes(twin, name)
    problems = []
    missing = [prefix for prefix in planned_ports if prefix not in routes]
    leaked = [prefix for prefix in routes if prefix not in planned_ports]
    if missing:
        problems.append(Deviation(name, f"lacks {len(missing)} of {len(planned_ports)} routes: {_listed(missing)}"))
    if leaked:
        problems.append(Deviation(name, f"has {len(leaked)} routes that the policy forbids: {_listed(leaked)}"))
    wrong = [prefix for prefix, ports in planned_ports.items() if prefix in routes and routes[prefix] != ports]
    if wrong:
        prefix = wrong[0]
        gone, more = sorted(planned_ports[prefix] - routes[prefix]), sorted(routes[prefix] - planned_ports[prefix])
        detail = f"{prefix} has {len(routes[prefix])} paths, planned {len(planned_ports[prefix])}"
        if gone:
            detail += f"; without {_listed(gone)}"
        if more:
            detail += f"; also {_listed(more)}"
        problems.append(Deviation(name, f"reaches {len(wrong)} prefixes over other links than planned: {detail}"))
    return problems


def _check_sessions(twin: Twin, expected: ExpectedRoutes) -> list[Deviation]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        problem_lists = pool.map(lambda view: _session_problems(twin, view, expected), twin.views)
        return list(chain.from_iterable(problem_lists))


def _session_problems(twin: Twin, view: SwitchView, expected: ExpectedRoutes) -> list[Deviation]:
    name = view.device.name
    folder = folder_of(twin.name) / name
    if frr.bgpd_config(view) is None or not (folder / "bgpd.pid").exists():
        return []
    peers = frr.bgp_summary(folder, twin.version)
    planned = {session.remote: session for session in view.sessions}
    problems: list[Deviation] = []
    for address, peer in peers.items():
        if address not in planned and peer["state"] == "Established":
            problems.append(Deviation(name, f"has a session that is not planned, to {address}"))
    upward = expected.upward[name]
    everything = len(upward | set(expected.ports[name]))
    for address, session in planned.items():
        peer = peers.get(address, {"state": "absent", "remoteAs": 0})
        if peer["state"] != "Established" or peer["remoteAs"] != session.remote_as:
            state = f"{peer['state']}, AS {peer['remoteAs']}"
            problems.append(
                Deviation(name, f"session to {session.description}: {state}; planned AS {session.remote_as}")
            )
        elif session.side == "up" and peer["pfxSnt"] != len(upward):
            sent = frr.advertised(folder, twin.version, address)
            problems += _announcement_problems(name, session.description, upward, sent)
        elif session.side == "down" and peer["pfxSnt"] > everything:
            problems.append(
                Deviation(name, f"announces {peer['pfxSnt']} prefixes to {session.description}, of {everything}")
            )
    return problems


def _announcement_problems(name: str, to: str, planned: frozenset[str], sent: frozenset[str]) -> list[Deviation]:
    problems = []
    leaked, withheld = sorted(sent - planned), sorted(planned - sent)
    if leaked:
        text = f"leaks {len(leaked)} prefixes upwards to {to}, which came neither from itself nor from below"
        problems.append(Deviation(name, f"{text}: {_listed(leaked)}"))
    if withheld:
        problems.append(Deviation(name, f"withholds {len(withheld)} prefixes from {to}: {_listed(withheld)}"))
    return problems


def _path_faults(twin: Twin, switches: tuple[str, ...], arrived: bool) -> list[str]:
    """Faults of a packet's path: it must arrive, and go up and down once.

    A switch that bridges two nodes of one subnet does not appear in the path.
    """
    views = [twin.view_of.get(name) for name in switches]
    if not arrived or None in views:
        return [f"did not arrive; answers came from {_listed(switches)}"]
    if not switches:
        return []
    levels = [twin.plan.level(view.device) for view in views if view is not None]
    top = levels.index(max(levels))
    is_climb = all(low < high for low, high in pairwise(levels[: top + 1]))
    is_descent = all(high > low for high, low in pairwise(levels[top:]))
    if not is_climb or not is_descent:
        return [f"takes a way that is not up and down once: {' '.join(switches)}"]
    return []


def _widths(twin: Twin, expected: ExpectedRoutes) -> dict[tuple[str, int], int]:
    hosts = set(twin.racks.values())
    widths = Counter[tuple[str, int]]()
    for name, routes in expected.ports.items():
        role = twin.view_of[name].device.role
        widths.update((role, len(ports)) for prefix, ports in routes.items() if prefix in hosts)
    return dict(sorted(widths.items()))


def _sampled(items: list[tuple[Endpoint, Endpoint]], most: int) -> list[tuple[Endpoint, Endpoint]]:
    """At most ``most`` items, evenly spread and the same in every run."""
    step = max(1, -(-len(items) // most))
    return items[::step]


def _end(end: Endpoint) -> str:
    return f"{end.node.name} {end.interface}"


def _listed(items: Iterable[str]) -> str:
    names = list(items)
    return ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
