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
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface
from pathlib import Path

import pytest
from tests.network_boot import job
from tests.network_boot.boot_server import serving
from tests.network_boot.controller import Controller, controlling, unpack
from tests.network_boot.deployment import Operator, new_key, new_secrets
from tests.network_boot.image import CONTAINER, END, HTTP, build, write
from tests.network_boot.machine import Machine, powered_on
from tests.network_boot.rack import RackSwitch, dropped, rack_switch, racks
from tests.network_boot.site_servers import site_servers

from clusterwright.deploy.secrets.secrets import resolve_tree
from clusterwright.intent.credentials import credentials_of
from clusterwright.intent.needs.jobs import MASTER_PORT
from clusterwright.output.rendering import Rendering
from clusterwright.plan.boot import server_addresses, servers_by_rack
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

HERE = Path(__file__).parent
NODES = ("gpu-p00r00n0", "gpu-p00r00n1")
OVER_IPV6, OVER_IPV4 = "two-machines.yaml", "two-machines-v4.yaml"
TO_SYSTEM_S, TO_IDLE_S = 900, 600  # with an emulated processor on a busy machine
ASK_A_NODE = "cat /run/clusterwright/health.json; systemctl --failed; journalctl --unit=slurmd --no-pager --lines=30"
AGENT = "etc/coop/agent.conf"

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
    tree: Path
    process: int
    """One in the namespaces of the boot server."""
    address: str


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
    secrets = new_secrets([server, *NODES])
    rendered = resolve_tree(tuple(Rendering(plan).of_device(server)), secrets)
    write({each.path: each for each in rendered}, tree)
    built(tree, plan)
    prefix = f"{spec.removesuffix('.yaml')}.{os.getpid()}."
    namespace = f"{prefix}{server}"
    beyond = [str(prefix) for zone in plan.spec.zones if zone.name == "site-services" for prefix in zone.prefixes]
    rack, hall = (
        rack_switch(plan, text, name, prefix)
        for name in (
            next(c.b.device for c in plan.cables_of[end] if c.fabric == "frontend") for end in (NODES[0], server)
        )
        for text in (
            artifact.content.decode() for artifact in Rendering(plan).of_device(name) if artifact.path == AGENT
        )
    )
    addresses = [f"addr add {ip_interface((c.a.address or 0, c.a.prefix_length))} dev {c.a.port}" for c in hall.cables]
    with (
        racks(prefix, rack, hall, namespace, beyond, logs),
        site_servers(plan, hall.namespace, logs),
        serving(namespace, server, tree, addresses, hall.gateway.partition("/")[0], logs) as process,
    ):
        yield Site(
            plan=plan,
            server=server,
            rack=rack,
            hall=hall,
            operator=Operator(plan, namespace, key, folder, secrets),
            folder=folder,
            tree=tree,
            process=process,
            address=str(ip_address(server_addresses(plan)[server])),
        )


def until(found: Callable[[], bool], seconds: int, machine: Machine) -> None:
    """Wait for what a machine does. Fails with its console when it does not come."""
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline, f"{machine.console[-3000:]}\n{machine.said[-2000:]}"
        time.sleep(0.5)


def lost(switch: RackSwitch, version: int) -> list[str]:
    """The drops that a switch's lists counted of packets of an IP version."""
    family = {4: "ip", 6: "ip6"}[version]
    return re.findall(rf"meta protocol {family} counter packets [1-9]\d* bytes \d+ drop", dropped(switch))


@pytest.mark.parametrize("spec", [OVER_IPV6, OVER_IPV4])
def test_the_specs_are_clean(spec: str) -> None:
    assert lint_path(HERE / spec).findings == ()


@pytest.mark.parametrize("flow", ["boot", "boot-firmware"])
def test_lint_misses_a_flow_before_a_machine_does(flow: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"extends: {HERE}/two-machines.yaml\nflows: [{{name: {flow}, remove: true}}]\n")
    assert {"CW622"} <= {finding.code for finding in lint_path(spec).findings}


@dataclass(frozen=True)
class Cluster:
    """A rack of machines that came up by themselves, and the scheduler that has them."""

    site: Site
    machines: tuple[Machine, ...]
    controller: Controller

    def come_up(self, nodes: Sequence[str], boot: int = 1) -> None:
        """Wait until machines have started their system for the ``boot``-th time, and do as people do: deploy."""
        machines = [machine for machine in self.machines if machine.node in nodes]
        until(lambda: all(each.said.count(END) == boot for each in machines), TO_SYSTEM_S, machines[0])
        # Slurm gave them up: this is what a boot looks like that takes longer than it waits.
        away = ("update", f"NodeName={','.join(nodes)}", "State=DOWN", "Reason=Not responding")
        self.controller.ask("scontrol", *away, user="slurm")
        self.site.operator.deploy(nodes)
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

    def run_a_job(self) -> list[str]:
        """What a batch job over all machines writes, line by line in alphabetical order. It has no errors.

        Slurm tells a job of a prolog that took longer than it waits for a message, and starts it all the same: a node
        check does on an emulated processor that is busy.
        """
        submit = ["sbatch", "--parsable", "--wait", "--nodes=2", "--time=15", "--chdir=/var/tmp"]
        files = ["--output=/var/tmp/job-%j", "--error=/var/tmp/job-%j.errors"]
        job = self.controller.ask(*submit, *files, "/var/tmp/job.sh").strip()
        written = self.site.operator.run(NODES[0], f"cd /var/tmp; cat job-{job}; echo errors:; cat job-{job}.errors")
        lines, _, errors = written.partition("errors:\n")
        assert not re.sub(r"^slurmstepd(?:-\S+)?: error: Prolog hung on node \S+\n", "", errors, flags=re.M), errors
        return sorted(lines.splitlines())

    def said(self, node: str) -> dict[str, str]:
        """What a node last said of itself, by section."""
        text = next(machine.said for machine in self.machines if machine.node == node)
        return {part.partition("\n")[0]: part.partition("\n")[2] for part in text.split("## ")[1:]}


@pytest.fixture(scope="module", params=[OVER_IPV6, OVER_IPV4], ids=["ipv6", "ipv4"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Both machines of a spec, powered on at the same time, and slurmctld beside the boot server."""
    folder = tmp_path_factory.mktemp("site")

    def built(tree: Path, plan: Plan) -> None:
        addresses = sum(cable.a.device == NODES[0] and cable.a.side == "host" for cable in plan.cables)
        build(tree, "training", addresses, folder / "image")

    with ExitStack() as stack:
        place = stack.enter_context(site(request.param, folder, built))
        machines = [stack.enter_context(powered_on(place.plan, node, place.rack, folder / node)) for node in NODES]
        root, served = folder / "root", folder / place.server
        unpack(next((served / HTTP / "images").glob("*.cpio.zst")), root)
        shutil.copytree(served / "etc", root / "etc", dirs_exist_ok=True)
        job.write(root / "var/tmp", MASTER_PORT)
        controller = stack.enter_context(controlling(place.operator.namespace, place.server, root, place.folder))
        found = Cluster(place, tuple(machines), controller)
        found.come_up(NODES)
        yield found


JOB = sorted([*NODES, *(f"sum 3 of 2 on {node}" for node in NODES)])


def test_both_fetched_what_their_scripts_name(cluster: Cluster) -> None:
    for machine in cluster.machines:
        names = [path.rpartition("/")[2] for path in re.findall(r"^http://\S+?(/\S+?)\.\.\. ", machine.console, re.M)]
        assert names[0] == "boot.ipxe"
        assert names[1].endswith(".ipxe")
        assert names[2].startswith("training_")
        assert names[2].endswith(".vmlinuz")
        assert names[3].endswith(".cpio.zst")
        assert names[4:] == ["tree.cpio", f"{machine.node}.cpio"]


@pytest.mark.parametrize("node", NODES)
def test_image_and_overlay_are_its_system(cluster: Cluster, node: str) -> None:
    """The overlay brings the name and the network: all ten adapters with the addresses of the plan."""
    said = cluster.said(node)
    assert said["hostname"].strip() == node
    ends = {cable.a.port: cable.a for cable in cluster.site.plan.cables_of[node] if cable.a.side == "host"}
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


@pytest.mark.parametrize("node", NODES)
def test_it_starts_containers(cluster: Cluster, node: str) -> None:
    """On a root in memory: a runtime leaves it by pivot_root."""
    assert cluster.said(node)["container"].strip() == CONTAINER


def test_both_run_a_job(cluster: Cluster) -> None:
    """With the key that only the deployment brings: steps on both, and ranks that meet at MASTER_PORT."""
    assert cluster.run_a_job() == JOB


def test_both_judge_themselves_fit(cluster: Cluster) -> None:
    """As Slurm's prolog found them before the job."""
    for node in NODES:
        verdict = json.loads(cluster.site.operator.run(node, "cat /run/clusterwright/health.json"))
        assert (verdict["node"], verdict["reason"], verdict["ok"]) == (node, "", True)


def test_a_machine_that_is_reset_starts_from_the_network_again(cluster: Cluster) -> None:
    """Its address is still lent to the system that was there before."""
    machine = cluster.machines[0]
    machine.reset()
    until(lambda: machine.console.count(f"{machine.node}.cpio... ok") == 2, TO_SYSTEM_S, machine)


@pytest.mark.parametrize("cluster", [OVER_IPV6], ids=["ipv6"], indirect=True)
def test_it_has_forgotten_its_secrets_and_runs_a_job_again(cluster: Cluster) -> None:
    """Units wait for what a deployment brings then: what they do depends on no IP version."""
    operator, (node, machine) = cluster.site.operator, (NODES[0], cluster.machines[0])
    (place,) = (
        credential.file
        for credential in credentials_of(cluster.site.plan.spec, "compute")
        if credential.key == "watch_key"
    )
    until(lambda: machine.said.count(END) == 2, TO_SYSTEM_S, machine)
    assert not {"munge.key", place.rpartition("/")[2]} & set(cluster.said(node)["secrets"].split())
    cluster.come_up([node], boot=2)
    operator.run(node, "systemctl is-active rsyslog.service munge.service slurmd.service")
    assert operator.run(node, "systemctl --failed --plain --no-legend") == ""
    assert json.loads(operator.run(node, "tail -n 1 /var/lib/clusterwright/isolation.jsonl"))["ok"]
    assert cluster.run_a_job() == JOB


def test_nothing_was_dropped_on_the_way(cluster: Cluster) -> None:
    for switch in (cluster.site.rack, cluster.site.hall):
        assert not lost(switch, switch.version)
