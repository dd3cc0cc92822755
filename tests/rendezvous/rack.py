"""Two nodes of a rack as network namespaces, cabled to those of their rack switches.

Adapters on the sockets' fabric are set up by their rendered .network files, nodes judge by their rendered nftables,
the switch's ports by what `verify` reads in its rendered list.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from clusterwright.extras.lab.isolation import switch_filters
from clusterwright.extras.lab.namespaces import inside, remove_namespaces, run_ip
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Cable, Plan
from clusterwright.switches.fboss.reader.system import READER

BRIDGE, MTU = "hosts", 9000
AGENT, FILTER = "etc/coop/agent.conf", "etc/nftables.conf"
_LINKS = "etc/systemd/network/20-{}.network"
_NO_DAD = "net.ipv6.conf.default.accept_dad=0\nnet.ipv6.conf.all.accept_dad=0\n"

Texts = Mapping[str, str]
"""A device's files by path."""


def texts_of(plan: Plan, device: str) -> Texts:
    """What is rendered for a device, as text."""
    return {artifact.path: artifact.content.decode(errors="replace") for artifact in Rendering(plan).of_device(device)}


def uplinks(plan: Plan, node: str, fabric: str) -> tuple[Cable, ...]:
    """A node's cables to its rack switches."""
    return tuple(c for c in plan.cables_of[node] if c.fabric == fabric and c.a.device == node and c.a.side == "host")


def switches_of(plan: Plan, nodes: Sequence[str], fabric: str) -> tuple[str, ...]:
    """The rack switches of some nodes, sorted."""
    return tuple(sorted({cable.b.device for node in nodes for cable in uplinks(plan, node, fabric)}))


@contextmanager
def rack(prefix: str, plan: Plan, nodes: Sequence[str], fabric: str, filters: Plan, lists: Plan) -> Iterator[None]:
    """Within, the namespaces run, named by ``prefix`` and device; ``filters`` is rendered for nodes, ``lists`` for the
    switches."""
    switches = switches_of(plan, nodes, fabric)
    with ExitStack() as stack:
        stack.callback(remove_namespaces, prefix)
        run_ip("".join(f"netns add {prefix}{name}\n" for name in (*switches, *nodes)))
        bridge = f"link set lo up\nlink add {BRIDGE} mtu {MTU} type bridge mcast_snooping 0\nlink set {BRIDGE} up\n"
        for switch in switches:
            run_ip(bridge, f"{prefix}{switch}")
        # A switch of another system passes everything here.
        agents = {switch: texts_of(lists, switch).get(AGENT) for switch in switches}
        entries = {switch: READER.lists(text) for switch, text in agents.items() if text is not None}
        for place, node in enumerate(nodes):
            texts = texts_of(plan, node)
            namespace = f"{prefix}{node}"
            with inside(namespace):
                subprocess.run(["sysctl", "-q", "-p", "-"], input=_NO_DAD, text=True, check=True)
                settings = texts["etc/sysctl.d/90-clusterwright.conf"]
                # -e: keys of the machine are not a namespace's to set.
                subprocess.run(["sysctl", "-e", "-q", "-p", "-"], input=settings, text=True, check=False)
            run_ip("link set lo up\n", namespace)
            cables = uplinks(plan, node, fabric)
            for index, cable in enumerate(cables):
                port, own = f"n{place}-{index}", f"{prefix}{cable.b.device}"
                far = f"peer name {port} mtu {MTU} netns {own}"
                run_ip(f"link add {cable.a.port} mtu {MTU} type veth {far}\nlink set {cable.a.port} up\n", namespace)
                run_ip(f"link set {port} master {BRIDGE}\nlink set {port} up\n", own)
                if cable.b.device in entries:
                    rows = entries[cable.b.device].at(cable.b.port)
                    switch_filters.load(own, port.replace("-", "_"), [port], "ingress", rows)
            _address(namespace, [(cable.a.port, texts[_LINKS.format(cable.a.port)]) for cable in cables])
            with inside(namespace):
                rules = texts_of(filters, node)[FILTER]
                subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)
        yield


def dropped(namespace: str, version: int) -> list[str]:
    """The rules that dropped packets of an IP version so far, each with its count."""
    other = {4: "meta protocol ip6 ", 6: "meta protocol ip "}[version]
    with inside(namespace):
        said = subprocess.run(["nft", "list", "ruleset"], capture_output=True, text=True, check=True).stdout
    matches = re.findall(r"^\s*(.*counter packets [1-9]\d* bytes \d+ drop.*)$", said, re.MULTILINE)
    return [rule for rule in matches if other not in rule]


def _address(namespace: str, files: Sequence[tuple[str, str]]) -> None:
    """Do what networkd does of these files: addresses, rules, and then routes, some of which lead over several."""
    found = [(nic, section, keys) for nic, text in files for section, keys in _sections(text)]
    for nic, section, keys in found:
        if section == "Address":
            run_ip(f"addr add {keys['Address'][0]} dev {nic} nodad\n", namespace)
    for _, section, keys in found:
        if section == "RoutingPolicyRule":
            who = f"from {keys['From'][0]}" if "From" in keys else f"oif {keys['OutgoingInterface'][0]}"
            family = keys["Family"][0] if "Family" in keys else "ipv6" if ":" in keys["From"][0] else "ipv4"
            line = f"rule add {who} table {keys['Table'][0]} priority {keys['Priority'][0]}\n"
            run_ip(line, namespace, int(family[-1]))
    routes = ((nic, keys) for nic, section, keys in found if section == "Route")
    for nic, keys in sorted(routes, key=lambda each: "Gateway" in each[1] or "MultiPathRoute" in each[1]):
        words = [f"route add {keys['Destination'][0]}"]
        words += [f"table {table}" for table in keys.get("Table", ())]
        words += [f"metric {metric}" for metric in keys.get("Metric", ())]
        words += [f"src {source}" for source in keys.get("PreferredSource", ())]
        hops = [each.partition("@") for each in keys.get("MultiPathRoute", ())]
        words += [f"nexthop via {gateway} dev {link}" for gateway, _, link in hops]
        words += [f"via {gateway}" for gateway in keys.get("Gateway", ())]
        run_ip(" ".join([*words, *([] if hops else [f"dev {nic}"])]) + "\n", namespace)


def _sections(text: str) -> Iterator[tuple[str, dict[str, list[str]]]]:
    for part in text.split("\n[")[1:]:
        name, *lines = part.splitlines()
        keys: dict[str, list[str]] = {}
        for line in lines:
            if "=" in line:
                key, _, value = line.partition("=")
                keys.setdefault(key, []).append(value)
        yield name.rstrip("]"), keys


def write(texts: Texts, paths: Sequence[str], folder: Path) -> None:
    """Put some of a device's files below a folder."""
    for path in paths:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(texts[path])
