"""FRR as the routers of a twin: their configuration, and zebra and bgpd in each switch's namespace."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.child_environment import child_environment
from clusterwright.extras.lab.namespaces import inside
from clusterwright.finding import ClusterwrightError
from clusterwright.intent.routing_policy import (
    FROM_BELOW_COMMUNITY,
    Mark,
    PolicyTerm,
    RouteSet,
    side_policies,
)
from clusterwright.intent.switch import SwitchView
from clusterwright.intent.switch_sessions import PlannedSession, route_limit
from clusterwright.text.templates import template

_DAEMONS = Path("/usr/lib/frr")
_MOST_PATHS = 256  # of Debian's build of FRR
# The kernel drops a dead link from its next-hop groups, and zebra 8.4 considers such a group complete once the link is
# back: paths would be missing permanently. Without groups it writes every route with its own next hops.
_ZEBRA_CONFIG = "no zebra nexthop kernel enable\n"
# Without it zebra deletes an IPv6 route before it adds the one with new next hops, and packets in between are lost
# (netlink_put_route_update_msg in zebra/rt_netlink.c).
_ZEBRA_OPTIONS = ("--v6-rr-semantics",)


@dataclass(frozen=True, slots=True)
class TwinNeighbour:
    """A BGP neighbour; ``side`` is UP or DOWN, ``password`` None for a session without authentication."""

    address: str
    remote_as: int
    side: str
    description: str
    password: str | None


@dataclass(frozen=True, slots=True)
class TwinPolicyEntry:
    """One entry of a route map with the lines below it. All entries permit: the lab drains by an entry of its own."""

    name: str
    number: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FrrSide:
    """The neighbours above or below: ``name`` is UP or DOWN, ``most_routes`` the route limit of a session.

    ``entries`` are those of its two route maps.
    """

    name: str
    most_routes: int
    entries: tuple[TwinPolicyEntry, ...]


@dataclass(frozen=True, slots=True)
class FrrSwitch:
    """Values of the template: the same sessions, prefixes and policy as the switch's own configuration."""

    name: str
    asn: int
    router_id: str
    ip: str
    family: str
    paths: int
    sides: tuple[FrrSide, ...]
    withdraws: bool
    neighbours: tuple[TwinNeighbour, ...]
    networks: tuple[str, ...]
    pools: tuple[str, ...]
    mark: str = FROM_BELOW_COMMUNITY


def bgpd_config(view: SwitchView) -> str | None:
    """The configuration of bgpd for one switch; None for a switch without BGP sessions."""
    asn, router_id = view.device.asn, view.router_id
    if asn is None or router_id is None or not view.bgp_sides:
        return None
    switch = FrrSwitch(
        name=view.device.name,
        asn=asn,
        router_id=router_id,
        ip=_word(view),
        family=f"ipv{view.version}",
        paths=min(view.ecmp_width, _MOST_PATHS),
        sides=tuple(_side(view, side) for side in view.bgp_sides),
        withdraws=view.is_drained,
        neighbours=tuple(
            TwinNeighbour(
                address=item.remote,
                remote_as=item.remote_as,
                side=item.side.upper(),
                description=item.description,
                password=_password(item),
            )
            for item in view.sessions
        ),
        networks=tuple(origin.text for origin in view.origins),
        pools=tuple(_pool(network, length) for network, length in view.pools),
    )
    return template("frr/bgpd.conf.j2").render(sw=switch)


def require_frr() -> None:
    """Raises ClusterwrightError for a missing installation of FRR."""
    if not (_DAEMONS / "bgpd").exists() or shutil.which("vtysh") is None:
        raise ClusterwrightError("a lab needs the routers zebra and bgpd: install the package frr")


def start_router(namespace: str, folder: Path, config: str | None) -> None:
    """Start zebra and, with a configuration, bgpd. ``folder`` is created for the router.

    Raises ClusterwrightError with the daemon's error message.
    """
    folder.mkdir()
    files = {"zebra": _ZEBRA_CONFIG}
    if config is not None:
        files["bgpd"] = config
    for daemon, text in files.items():
        with (folder / f"{daemon}.conf").open("x") as file:
            file.write(text)
    # After writing: other routers run as the same user, and could place a link in root's path.
    shutil.chown(folder, "frr", "frr")
    for daemon in files:
        command = [
            *(str(_DAEMONS / daemon), "-d", "-u", "frr", "-g", "frr"),
            *("-f", str(folder / f"{daemon}.conf"), "-i", str(folder / f"{daemon}.pid"), "-P", "0"),
            *("-z", str(folder / "zserv.api"), "--vty_socket", str(folder), "--log", f"file:{folder / daemon}.log"),
        ]
        if daemon == "zebra":
            command += _ZEBRA_OPTIONS
        # Into a file: daemons of FRR 10 keep their standard error, and a pipe would not end before them.
        with inside(namespace), (folder / f"{daemon}.out").open("x") as output:
            ended = subprocess.run(command, stdout=output, stderr=output, check=False, env=child_environment())
        if ended.returncode != 0:
            message = (folder / f"{daemon}.out").read_text(errors="replace").strip()
            raise ClusterwrightError(f"{daemon} does not start in {namespace}: {message}")


def bgp_summary(folder: Path, version: int) -> dict[str, Any]:
    """Neighbours of a running router by address, as bgpd reports them. Raises ClusterwrightError without an answer."""
    answer = json.loads(_vtysh(folder, [f"show bgp ipv{version} unicast summary json"]) or "{}")
    peers = answer.get("peers", answer.get(f"ipv{version}Unicast", {}).get("peers", {}))
    return dict(peers)


def advertised(folder: Path, version: int, neighbour: str) -> frozenset[str]:
    """The prefixes announced by a running router to a neighbour."""
    text = _vtysh(folder, [f"show bgp ipv{version} unicast neighbors {neighbour} advertised-routes json"])
    return frozenset(json.loads(text or "{}").get("advertisedRoutes", {}))


def configure(folder: Path, lines: Iterable[str]) -> None:
    """Enter configuration lines into a running bgpd. Raises ClusterwrightError for a refused line."""
    _vtysh(folder, ["configure terminal", *lines])


def announce_again(folder: Path, version: int) -> None:
    """Send all routes through the outbound policy once more, without waiting for the router to notice a change."""
    _vtysh(folder, [f"clear bgp ipv{version} unicast * soft out"])


def _vtysh(folder: Path, commands: Iterable[str]) -> str:
    words: list[str] = []
    for command in commands:
        words += ["-c", command]
    ended = subprocess.run(
        ["vtysh", "--vty_socket", str(folder), "-d", "bgpd", *words],
        capture_output=True,
        text=True,
        check=False,
        env=child_environment(),
    )
    if ended.returncode != 0:
        raise ClusterwrightError(f"bgpd of {folder.name} does not answer: {(ended.stderr or ended.stdout).strip()}")
    return ended.stdout


def _side(view: SwitchView, side: str) -> FrrSide:
    sessions = [session for session in view.sessions if session.side == side]
    most = route_limit(sessions).maximum if sessions else 1
    entries = []
    for policy in side_policies(side, is_drained=False):
        for number, term in enumerate(policy.terms, 1):
            entries.append(TwinPolicyEntry(policy.name, 10 * number, tuple(_policy_lines(term, _word(view)))))
    return FrrSide(side.upper(), most, tuple(entries))


def _policy_lines(term: PolicyTerm, ip: str) -> Iterator[str]:
    match term.routes:
        case RouteSet.OWN:
            yield f"match {ip} address prefix-list OWN"
        case RouteSet.FABRIC:
            yield f"match {ip} address prefix-list FABRIC"
        case RouteSet.FROM_BELOW:
            yield "match community FROM-BELOW"
        case RouteSet.ALL | RouteSet.BORDER:
            raise ValueError("no side of a fabric has such a term while it is not drained")
    if term.mark is not None:
        community = FROM_BELOW_COMMUNITY if term.mark is Mark.FROM_BELOW else "none"
        yield f"set community {community}"


def _password(session: PlannedSession) -> str | None:
    """A password from its secret's name: a lab has no secrets. TCP-MD5 replaces TCP-AO, which FRR lacks."""
    return None if session.authentication is None else f"lab-{session.authentication.secret}"


def _word(view: SwitchView) -> str:
    return "ip" if view.version == 4 else "ipv6"


def _pool(network: str, length: int) -> str:
    """A prefix list's entry for a pool with the single length of its prefixes."""
    prefix_length = int(network.rpartition("/")[2])
    return network if prefix_length == length else f"{network} ge {length} le {length}"
