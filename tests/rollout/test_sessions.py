"""The gate that reads BGP: real routers over SSH as SONiC has them, switches with eAPI, FBOSS as it is published."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.deploy.ansible.eapi_server import PASSWORD, USER, Pki, Switch
from tests.lab.sshfleet import SshFleet

from clusterwright.data_files import folder
from clusterwright.deploy.ansible.eapi import EapiAccess
from clusterwright.deploy.ansible.query import CommandResult, Devices
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.target import Unreachable
from clusterwright.device_files.effect import Effect
from clusterwright.intent.switch_links import links_of
from clusterwright.intent.switch_sessions import PlannedSession, sessions_of
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rollout.gates.sessions import Sessions, read_states
from clusterwright.rollout.waves import Wave
from clusterwright.spec.load import load_spec
from clusterwright.spec.rollout import GatePolicy
from clusterwright.switches.registry import SYSTEMS
from clusterwright.switches.switch_system import SessionsProbe

RACK_SWITCH, ABOVE = "rtsw-p00r00", "ctsw-p00-00"


def wave_of(*devices: str) -> Wave:
    return Wave("pod0", "rack", False, devices, devices, Effect.RESTART, (), 1.0, "", "", "")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return build_plan(load_spec(folder("inventory") / "lab-sonic.yaml"))


def own_sessions(plan: Plan, name: str) -> tuple[PlannedSession, ...]:
    device = plan.by_name[name]
    return sessions_of(plan, device, links_of(plan, device))


def start_router(fleet: SshFleet, host: str, asn: int, ends: list[tuple[str, str, int]]) -> None:
    """zebra and bgpd with a session for each end: own address, the neighbour's, its AS number."""
    lines = [f"router bgp {asn}", " bgp router-id 10.0.0.1", " no bgp ebgp-requires-policy", " timers bgp 1 3"]
    lines += [f" neighbor {remote} remote-as {far}\n neighbor {remote} timers connect 1" for _, remote, far in ends]
    lines += [" address-family ipv6 unicast", *(f"  neighbor {remote} activate" for _, remote, _ in ends)]
    text = "\n".join(lines)
    addresses = "\n".join(f"ip addr add {local}/127 dev eth0 nodad" for local, _, _ in ends)
    fleet.run(host, "sh", "-ec", f"mkdir -p /run/frr; chown frr:frr /run/frr; {addresses}")
    fleet.run(host, "sh", "-ec", f"echo '{text}' > /etc/frr/bgpd.conf; : > /etc/frr/zebra.conf")
    for daemon in ("zebra", "bgpd"):
        fleet.run(host, f"/usr/lib/frr/{daemon}", "-d", "-u", "frr", "-g", "frr", "-f", f"/etc/frr/{daemon}.conf")


@dataclass(frozen=True)
class Fabric:
    """A rack switch with FRR under it and its neighbours, and one of those over eAPI."""

    plan: Plan
    fleet: SshFleet
    above: Switch
    devices: Devices

    def gate(self, deadline_s: int, *waves: Wave) -> Sessions:
        return Sessions(self.plan, self.devices, GatePolicy(deadline_s), waves)


@pytest.fixture(scope="module")
def fabric(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fabric]:
    place = tmp_path_factory.mktemp("pki")
    pki = Pki(place)
    password = place / "password"
    password.write_text(PASSWORD)
    password.chmod(0o600)
    ends = [(session.local, session.remote, session.remote_as) for session in own_sessions(plan, RACK_SWITCH)]
    asn = plan.by_name[RACK_SWITCH].asn or 0
    neighbours = "".join(f"   neighbor {session.remote} remote-as 1\n" for session in own_sessions(plan, ABOVE))
    addresses = {RACK_SWITCH: "10.213.1.1", "everybody-above": "10.213.1.2"}
    with contextlib.ExitStack() as stack:
        fleet = stack.enter_context(SshFleet(addresses))
        stack.enter_context(fleet.as_controller())
        with socket.create_server(("127.0.1.1", 0)) as probe:
            port = probe.getsockname()[1]
        running = f"hostname {ABOVE}\nrouter bgp 4200010000\n{neighbours}"
        above = stack.enter_context(Switch(ABOVE, "127.0.1.1", port, pki, running))
        eapi = EapiAccess({ABOVE: "127.0.1.1"}, pki.ca, user=USER, password_file=password, port=port, answer_s=5)
        access = Access({RACK_SWITCH: "10.213.1.1"}, fleet.private_key, fleet.known_hosts, eapi=eapi)
        start_router(fleet, RACK_SWITCH, asn, ends)
        start_router(fleet, "everybody-above", ends[0][2], [(remote, local, asn) for local, remote, _ in ends])
        found = Fabric(plan, fleet, above, Devices(access))
        end = time.monotonic() + 60
        while established(found) < len(ends):
            assert time.monotonic() < end, found.gate(1).before(wave_of(RACK_SWITCH))
            time.sleep(0.5)
        yield found


def established(fabric: Fabric) -> int:
    states = fabric.gate(1).before(wave_of(RACK_SWITCH))[RACK_SWITCH]
    return list(states.values()).count("Established") if isinstance(states, dict) else 0


def test_sessions_that_are_back_at_both_ends_are_well(fabric: Fabric) -> None:
    wave = wave_of(RACK_SWITCH)
    gate = fabric.gate(20, wave)
    before = gate.before(wave)
    assert {name: len(states) for name, states in before.items()} == {RACK_SWITCH: 16, ABOVE: 18}
    fabric.fleet.run(RACK_SWITCH, "vtysh", "-c", "clear bgp *")

    said = gate.after(wave, {RACK_SWITCH: "x"}, before)

    assert (said.asked, said.wrong, said.notes) == (2, {}, ())


def test_a_session_that_only_the_far_end_misses_counts_unless_it_was_down_before(fabric: Fabric) -> None:
    wave = wave_of(RACK_SWITCH)
    gate = fabric.gate(1, wave)
    before = gate.before(wave)
    lost = own_sessions(fabric.plan, RACK_SWITCH)[0].local
    fabric.above.commits, fabric.above.faults.lost = 1, frozenset({lost})

    said = gate.after(wave, {RACK_SWITCH: "x"}, before)
    again = gate.after(wave, {RACK_SWITCH: "x"}, gate.before(wave))
    fabric.above.faults.lost = frozenset()

    assert said.wrong == {
        RACK_SWITCH: f"1 of 24 ends of its BGP sessions are not established: {ABOVE} sees {lost} is Active",
    }
    assert again.wrong == {}
    assert again.notes == (f"{ABOVE} to {RACK_SWITCH} {lost} was Active before and is Active",)


def test_a_router_that_is_gone_after_the_wave_is_told_as_it_says_it(fabric: Fabric) -> None:
    wave = wave_of(RACK_SWITCH)
    gate = fabric.gate(1, wave)
    before = gate.before(wave)
    fabric.fleet.run(RACK_SWITCH, "sh", "-c", "kill -STOP $(pidof bgpd); mv /run/frr/bgpd.vty /run/frr/aside")

    said = gate.after(wave, {RACK_SWITCH: "x"}, before)
    fabric.fleet.run(RACK_SWITCH, "sh", "-c", "mv /run/frr/aside /run/frr/bgpd.vty; kill -CONT $(pidof bgpd)")

    assert list(said.wrong) == [RACK_SWITCH]
    assert f"{RACK_SWITCH} does not say: " in said.wrong[RACK_SWITCH]


def test_a_new_session_waits_for_its_other_end_only_while_that_is_in_a_later_wave(fabric: Fabric) -> None:
    first, second = wave_of(ABOVE), wave_of("rtsw-p00r01")
    new = own_sessions(fabric.plan, ABOVE)
    absent = {ABOVE: {each.remote: "Established" for each in new if each.neighbour != "rtsw-p00r01"}}
    fabric.above.commits, fabric.above.faults.lost = (
        1,
        frozenset(each.remote for each in new if each.neighbour == "rtsw-p00r01"),
    )

    early = fabric.gate(1, first, second).after(first, {ABOVE: "x"}, {**absent, RACK_SWITCH: {}})
    late = fabric.gate(1, first).after(first, {ABOVE: "x"}, {**absent, RACK_SWITCH: {}})
    fabric.above.faults.lost = frozenset()

    assert early.wrong == {}
    assert early.notes[0] == f"{ABOVE} to rtsw-p00r01 {new[8].remote} waits for a later wave"
    assert "8 of 26 ends of its BGP sessions are not established: rtsw-p00r01 " in late.wrong[ABOVE]
    assert late.wrong[ABOVE].endswith(" and 5 more")


def test_a_switch_that_nobody_can_be_asked_about_is_told(plan: Plan) -> None:
    devices = Devices(Access({}, Path("no-key"), Path("no-hosts")))
    wave = wave_of(RACK_SWITCH)
    gate = Sessions(plan, devices, GatePolicy(1), (wave,))

    said = gate.after(wave, {RACK_SWITCH: "x"}, gate.before(wave))

    assert (said.asked, said.wrong) == (0, {})
    assert said.notes == (f"{RACK_SWITCH}: no device can be queried for its BGP sessions",)


FBOSS_ANSWER = {
    "127.0.0.1": {
        "sessions": [
            {"peer": {"peer_state": 5, "remote_as_4_byte": 1}, "my_addr": "fd00::2", "peer_addr": "fd00::03"},
            {"peer": {"peer_state": 2}, "my_addr": "fd00::4", "peer_addr": "fd00::5"},
            {"peer": {"peer_state": 0}, "my_addr": "::", "peer_addr": "10.127.240.0/23"},
        ],
        "config": {},
        "drain_state": {},
    }
}


@pytest.mark.parametrize(
    ("system", "answer", "states"),
    [
        ("fboss", CommandResult(0, json.dumps(FBOSS_ANSWER), ""), {"fd00::3": "Established", "fd00::5": "Active"}),
        ("eos", {"vrfs": {"default": {"peers": {"fd00::3": {"peerState": "Idle"}}}}}, {"fd00::3": "Idle"}),
        ("eos", {}, {}),
        ("eos", Unreachable("no answer from 10.0.0.1:443: timed out"), "no answer from 10.0.0.1:443: timed out"),
        ("sonic", CommandResult(1, "", "vtysh: container bgp is not running"), "vtysh: container bgp is not running"),
        ("sonic", CommandResult(0, "%", ""), "its BGP answer cannot be read (JSONDecodeError"),
        (
            "fboss",
            CommandResult(0, '{"h": {"sessions": [{"peer_addr": 7}]}}', ""),
            "its BGP answer cannot be read (TypeErr",
        ),
    ],
)
def test_what_a_switch_says_is_read_or_told(system: str, answer: Any, states: object) -> None:
    probe = SYSTEMS[system].probes.sessions
    assert isinstance(probe, SessionsProbe)
    found = read_states(probe, answer)

    assert found == states or (isinstance(states, str) and str(found).startswith(states))
