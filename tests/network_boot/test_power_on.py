"""Machines without a disk, from power-on to their own system, through everything as it was rendered.

Firmware asks by DHCP, its rack switch's list lets it, the relay passes it on, Kea offers iPXE, TFTP brings it, and iPXE
asks again and fetches script, kernel, image and overlay over HTTP. What the lists drop on the way fails the test.
Expected values come from the plan.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface
from pathlib import Path

import pytest
from tests.network_boot import job
from tests.network_boot.boot_server import serving
from tests.network_boot.controller import Controller, controlling, unpack
from tests.network_boot.deployment import Operator, new_key
from tests.network_boot.image import END, HTTP, build, write
from tests.network_boot.machine import Machine, powered_on
from tests.network_boot.rack import RackSwitch, dropped, rack_switch, racks
from tests.network_boot.site_servers import site_servers

from clusterwright.deploy.secrets.secrets import resolve_tree
from clusterwright.intent.needs.jobs import MASTER_PORT
from clusterwright.output.engine import render_device
from clusterwright.plan.boot import servers_by_rack
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

HERE = Path(__file__).parent
NODES = ("gpu-p00r00n0", "gpu-p00r00n1")
TO_KERNEL_S, TO_SYSTEM_S, TO_IDLE_S = 300, 900, 600  # with an emulated processor on a busy machine
ASK_A_NODE = "cat /run/clusterwright/health.json; systemctl --failed; journalctl --unit=slurmd --no-pager --lines=30"
AGENT = "etc/coop/agent.conf"
SECRETS = {"munge-key": "0123456789abcdef" * 4}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]  # each step has its own, which says what it waited for


@dataclass(frozen=True)
class Site:
    """A boot server that runs, and the rack of two machines that boot from it."""

    plan: Plan
    server: str
    rack: RackSwitch
    hall: RackSwitch
    operator: Operator
    folder: Path

    @property
    def fetched(self) -> list[str]:
        """What nginx handed out whole, in order."""
        lines = (self.folder / "logs/access.log").read_text().splitlines()
        return [found[1] for line in lines if (found := re.search(r'"GET (\S+) HTTP/1.1" 200', line))]


@contextmanager
def site(spec: str, folder: Path, built: Callable[[Path, Plan], None]) -> Iterator[Site]:
    """Within, the boot server of a spec of this folder serves; ``built`` puts the images into its tree.

    The operator of the spec has a key that was made now.
    """
    own, key = folder / "spec.yaml", folder / "operator"
    own.write_text(f"extends: {HERE / spec}\nsite: {{operators: [{{name: netops, keys: ['{new_key(key)}']}}]}}\n")
    plan = build_plan(load_spec(own))
    (server,) = servers_by_rack(plan)[plan.by_name[NODES[0]].rack]
    tree, logs = folder / server, folder / "logs"
    logs.mkdir()
    rendered = resolve_tree(tuple(render_device(plan, server)), SECRETS)
    write({each.path: each for each in rendered}, tree)
    built(tree, plan)
    prefix = f"{spec.removesuffix('.yaml')}.{os.getpid()}."
    namespace = f"{prefix}{server}"
    beyond = [str(each) for zone in plan.spec.zones if zone.name == "site-services" for each in zone.prefixes]
    rack, hall = (
        rack_switch(plan, text, name, prefix)
        for name in (
            next(c.b.device for c in plan.cables_of[end] if c.fabric == "frontend") for end in (NODES[0], server)
        )
        for text in (each.content.decode() for each in render_device(plan, name) if each.path == AGENT)
    )
    addresses = [f"addr add {ip_interface((c.a.address or 0, c.a.prefix_length))} dev {c.a.port}" for c in hall.cables]
    with (
        racks(prefix, rack, hall, namespace, beyond, logs),
        site_servers(plan, hall.namespace, logs),
        serving(namespace, server, tree, addresses, hall.gateway.partition("/")[0], logs),
    ):
        yield Site(plan, server, rack, hall, Operator(plan, namespace, key, folder, SECRETS), folder)


def until(found: Callable[[], bool], seconds: int, machine: Machine) -> None:
    """Wait for what a machine does. Fails with its console when it does not come."""
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline, machine.console[-3000:]
        time.sleep(0.5)


def lost(switch: RackSwitch, version: int) -> list[str]:
    """The drops that a switch's lists counted of packets of an IP version."""
    family = {4: "ip", 6: "ip6"}[version]
    return re.findall(rf"meta protocol {family} counter packets [1-9]\d* bytes \d+ drop", dropped(switch))


@pytest.mark.parametrize("spec", ["two-machines.yaml", "two-machines-v4.yaml"])
def test_the_specs_are_clean(spec: str) -> None:
    assert lint_path(HERE / spec).findings == ()


@pytest.mark.parametrize("flow", ["boot", "boot-firmware"])
def test_lint_misses_a_flow_before_a_machine_does(flow: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"extends: {HERE}/two-machines.yaml\nflows: [{{name: {flow}, remove: true}}]\n")
    assert {"CW622"} <= {each.code for each in lint_path(spec).findings}


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Machine]]:
    """A machine that has come up, with another one beside it that is switched off."""
    folder = tmp_path_factory.mktemp("site")

    def built(tree: Path, plan: Plan) -> None:
        addresses = sum(cable.a.device == NODES[0] and cable.a.side == "host" for cable in plan.cables)
        build(tree, "training", addresses, folder / "image")

    with ExitStack() as stack:
        place = stack.enter_context(site("two-machines-v4.yaml", folder, built))
        machine = stack.enter_context(powered_on(place.plan, NODES[0], place.rack, folder / NODES[0]))
        until(lambda: END in machine.said, TO_SYSTEM_S, machine)
        yield place, machine


@pytest.fixture(scope="module")
def said(booted: tuple[Site, Machine]) -> dict[str, str]:
    """What the node says of itself, by section."""
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in booted[1].said.split("## ")[1:]}


def test_it_fetched_what_its_script_names_and_nothing_was_dropped(booted: tuple[Site, Machine]) -> None:
    place, _ = booted
    names = [path.rpartition("/")[2] for path in place.fetched]
    assert names[0] == "boot.ipxe"
    assert names[1].endswith(".ipxe")
    assert names[2].startswith("training_")
    assert names[2].endswith(".vmlinuz")
    assert names[3].endswith(".cpio.zst")
    assert names[4:] == [f"{NODES[0]}.cpio"]
    assert not lost(place.rack, 4)
    assert not lost(place.hall, 4)


def test_image_and_overlay_are_its_system(booted: tuple[Site, Machine], said: dict[str, str]) -> None:
    """The overlay brings the name and the network: all ten adapters with the addresses of the plan."""
    place, _ = booted
    assert said["hostname"].strip() == NODES[0]
    ends = {cable.a.port: cable.a for cable in place.plan.cables_of[NODES[0]] if cable.a.side == "host"}
    assert len(ends) == 10
    held = {
        (link["ifname"], each["local"], each["prefixlen"])
        for link in json.loads(said["addresses"])
        for each in link.get("addr_info", ())
        if each
    }
    assert held == {(port, str(ip_address(end.address or 0)), end.prefix_length) for port, end in ends.items()}
    routes = json.loads(said["routes"]) + json.loads(said["routes6"])
    assert not [route for route in routes if route["dst"] in ("default", "0.0.0.0/0", "::/0") and "dev" in route]
    assert "policy drop" in said["filter"]


def test_it_boots_again_when_it_is_reset(booted: tuple[Site, Machine]) -> None:
    """Its address is still lent to the system that was there before."""
    place, machine = booted
    machine.reset()
    until(lambda: place.fetched.count(f"/nodes/{NODES[0]}.cpio") == 2, TO_KERNEL_S, machine)
    machine.power_off()  # nothing after this asks it, and two others want the processor
    assert not lost(place.rack, 4)


@dataclass(frozen=True)
class Cluster:
    """A rack of machines that came up by themselves, and the scheduler that has them."""

    site: Site
    machines: tuple[Machine, ...]
    controller: Controller

    def come_up(self) -> None:
        """Wait until every machine's system has started, and do what its people do then: deploy."""
        until(lambda: all(END in each.said for each in self.machines), TO_SYSTEM_S, self.machines[0])
        # Slurm gave them up: this is what a boot looks like that takes longer than it waits.
        away = ("update", f"NodeName={','.join(NODES)}", "State=DOWN", "Reason=Not responding")
        self.controller.ask("scontrol", *away, user="slurm")
        self.site.operator.deploy(NODES)
        states = ""
        deadline = time.monotonic() + TO_IDLE_S
        while set(states.split()) != {"idle"}:
            assert time.monotonic() < deadline, f"{self.controller.ask('scontrol', 'show', 'nodes')}{self.why()}"
            time.sleep(1)
            states = self.controller.ask("sinfo", "--noheader", "--Node", "--format=%T")

    def why(self) -> str:
        """What the controller and every node say of what keeps the nodes from jobs."""
        of_nodes = (self.site.operator.run(node, ASK_A_NODE) for node in NODES)
        return "\n".join((self.controller.log[-3000:], *of_nodes))

    def run_a_job(self) -> str:
        """What a batch job over all machines writes."""
        output = "/var/tmp/job-%j"
        submit = ["sbatch", "--parsable", "--wait", "--nodes=2", "--time=15", "--chdir=/var/tmp", f"--output={output}"]
        job = self.controller.ask(*submit, "/var/tmp/job.sh").strip()
        return self.site.operator.run(NODES[0], f"cat {output.replace('%j', job)}")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Both machines of a spec, powered on at the same time, and slurmctld beside the boot server."""
    folder = tmp_path_factory.mktemp("site")

    def built(tree: Path, plan: Plan) -> None:
        addresses = sum(cable.a.device == NODES[0] and cable.a.side == "host" for cable in plan.cables)
        build(tree, "training", addresses, folder / "image")

    with ExitStack() as stack:
        place = stack.enter_context(site("two-machines.yaml", folder, built))
        machines = [stack.enter_context(powered_on(place.plan, node, place.rack, folder / node)) for node in NODES]
        root, served = folder / "root", folder / place.server
        unpack(next((served / HTTP / "images").glob("*.cpio.zst")), root)
        shutil.copytree(served / "etc", root / "etc", dirs_exist_ok=True)
        job.write(root / "var/tmp", MASTER_PORT)
        controller = stack.enter_context(controlling(place.operator.namespace, place.server, root, place.folder))
        found = Cluster(place, tuple(machines), controller)
        found.come_up()
        yield found


def test_both_fetched_what_their_scripts_name_over_ipv6(cluster: Cluster) -> None:
    for node in NODES:
        console = next(machine for machine in cluster.machines if machine.node == node).console
        names = [path.rpartition("/")[2] for path in re.findall(r"^http://\S+?(/\S+?)\.\.\. ", console, re.M)]
        assert names[0] == "boot.ipxe"
        assert names[1].endswith(".ipxe")
        assert names[2].startswith("training_")
        assert names[2].endswith(".vmlinuz")
        assert names[3].endswith(".cpio.zst")
        assert names[4:] == [f"{node}.cpio"]


def test_both_run_a_job(cluster: Cluster) -> None:
    """With the key that only the deployment brings: steps on both, and ranks that meet at MASTER_PORT."""
    lines = [*NODES, *(f"sum 3 of 2 on {node}" for node in NODES)]
    assert sorted(cluster.run_a_job().splitlines()) == sorted(lines)


def test_both_judge_themselves_fit(cluster: Cluster) -> None:
    """As Slurm's prolog found them before the job."""
    for node in NODES:
        verdict = json.loads(cluster.site.operator.run(node, "cat /run/clusterwright/health.json"))
        assert (verdict["node"], verdict["reason"], verdict["ok"]) == (node, "", True)


def test_nothing_was_dropped_on_the_way(cluster: Cluster) -> None:
    for switch in (cluster.site.rack, cluster.site.hall):
        assert not lost(switch, switch.version)
