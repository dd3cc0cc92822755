"""Mistakes beyond each rule's example: the one code that is given, the value that it points at, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from tests.rules.overlays import codes, findings_of


class Mistake(NamedTuple):
    """An overlay of a lab, the only code that it gives, where (in words of the spec), and a part of the message."""

    code: str
    base: str
    text: str
    path: str
    message: str


ROCE, IB = "lab-roce", "lab-ib"


def tier(fabric: str, text: str) -> str:
    return f"fabrics:\n  - name: {fabric}\n    tiers:\n      - {{{text}}}\n"


def fabric(name: str, text: str) -> str:
    return f"fabrics:\n  - {{name: {name}, {text}}}\n"


def nccl(text: str) -> str:
    return f"nccl: {{{text}}}\n"


def by_hand(line: str) -> str:
    return f"extra_config:\n  - {{role: ctsw, lines: [{line}], reason: by mistake}}\n"


MISTAKES = [
    # configuration by hand
    Mistake("CW171", ROCE, by_hand('"   mtu 1500"'), "extra_config[ctsw].lines[0]", "no section stands before it"),
    Mistake("CW171", ROCE, by_hand('no logging console, "end"'), "extra_config[ctsw].lines[1]", "nothing behind"),
    # names that do not exist
    Mistake("CW150", ROCE, "mounts:\n  - {name: home, system: storge}\n", "mounts[home].system", '"storge"'),
    Mistake("CW150", ROCE, "scheduler: {nodes: gpu}\n", "scheduler.nodes", '"gpu"'),
    Mistake(
        "CW150", IB, fabric("backend", "subnet_manager: {nodes: ufm}"), "fabrics[backend].subnet_manager.nodes", "ufm"
    ),
    Mistake("CW150", ROCE, "zones:\n  - {name: storage, nodes: [storages]}\n", "zones[storage].nodes[0]", "storages"),
    Mistake("CW151", ROCE, nccl("fabric: back-end"), "nccl.fabric", "back-end"),
    Mistake("CW151", ROCE, "zones:\n  - {name: storage, fabrics: [fe]}\n", "zones[storage].fabrics[0]", '"fe"'),
    Mistake("CW152", ROCE, "nodes:\n  - {name: storage, zone: storages}\n", "nodes[storage].zone", "storages"),
    Mistake(
        "CW152",
        IB,
        "fabrics:\n  - name: backend\n    partitions:\n      - {name: training, zones: [computes]}\n",
        "fabrics[backend].partitions[training].zones[0]",
        "computes",
    ),
    Mistake(
        "CW153",
        ROCE,
        "exceptions:\n  - {group: p00r00, image: canary, reason: try it}\n",
        "exceptions[0].image",
        "canary",
    ),
    Mistake("CW155", ROCE, "scheduler: {leaf: pods}\n", "scheduler.leaf", 'compute has no level "pods"'),
    Mistake(
        "CW155",
        ROCE,
        "nodes:\n  - name: compute\n    levels:\n      - {name: rack, of: 2, within: rack}\n",
        "nodes[compute].levels[rack].within",
        "level larger than rack",
    ),
    Mistake(
        "CW156", ROCE, tier("backend", "role: ctsw, up: {mode: 4x100x}"), "fabrics[backend].tiers[ctsw].up.mode", "4x"
    ),
    Mistake(
        "CW157",
        ROCE,
        "exceptions:\n  - {device: ctsw-p00-00, port: Ethernet9/1/1, state: out-of-service, reason: dirty}\n",
        "exceptions[0].port",
        "ctsw-p00-00 has no port",
    ),
    Mistake(
        "CW157",
        ROCE,
        "exceptions:\n  - {device: gpu-p00r00n0, port: be8, state: out-of-service, reason: bad cable}\n",
        "exceptions[0].port",
        'gpu-p00r00n0 has no port "be8"',
    ),
    Mistake(
        "CW157", ROCE, "exceptions:\n  - {group: p02, state: drained, reason: move}\n", "exceptions[0].group", "p02"
    ),
    # names that cannot be told apart
    Mistake(
        "CW158", ROCE, "nodes:\n  - {name: storage, prefix: gpu}\n", "nodes[storage].prefix", "prefixes of node names"
    ),
    Mistake(
        "CW158",
        ROCE,
        "nodes:\n  - name: storage\n    levels:\n      - {name: cluster, of: 2}\n",
        "nodes[storage].levels[cluster].name",
        "whole cluster",
    ),
    # sizes, ports, speeds
    Mistake(
        "CW200",
        ROCE,
        tier("backend", "role: atsw, count: 4096, up: {links: 1024, speed_gbps: 400}"),
        "fabrics[backend].tiers[atsw].up.links",
        "4,194,304 of them begin here",
    ),
    Mistake(
        "CW200",
        ROCE,
        "nodes:\n  - {name: storage, count: 15000, levels: [{name: rack, of: 1, code: s}]}\n"
        + tier("frontend", "role: rsw, count: 3"),
        "fabrics[frontend].tiers[rsw].count",
        "45,015",
    ),
    Mistake(
        "CW201",
        ROCE,
        "nodes:\n  - {name: services, count: 60, levels: [{name: rack, of: 20, code: v}]}\n",
        "fabrics[management].tiers[mgmt].model",
        "for the links from below",
    ),
    Mistake(
        "CW205",
        ROCE,
        tier("frontend", "role: rsw, down: {blocks: [uplink]}, up: {speed_gbps: 400}"),
        "fabrics[frontend].tiers[rsw].up.speed_gbps",
        "400G",
    ),
    Mistake(
        "CW205", ROCE, tier("management", "role: mgmt, model: dcs-7804r3"), "fabrics[management].attach[0]", "run at 1G"
    ),
    Mistake(
        "CW208",
        ROCE,
        tier("management", "role: mgmt, model: qm9700"),
        "fabrics[management].tiers[mgmt].model",
        "speaks infiniband",
    ),
    # how fabrics are joined
    Mistake(
        "CW202",
        ROCE,
        "fabrics:\n  - name: frontend\n    tiers:\n      - {role: ssw, remove: true}\n"
        "      - role: rsw\n        up: {links: 2}\n",
        "fabrics[frontend].tiers[rsw].up",
        "6 rsw switches have 2 uplinks each",
    ),
    Mistake(
        "CW210", IB, tier("backend", "role: leaf, join: position"), "fabrics[backend].tiers[leaf].join", "no tier below"
    ),
    Mistake(
        "CW210", ROCE, tier("management", "role: mgmt, join: rail"), "fabrics[management].tiers[mgmt].join", "rails"
    ),
    Mistake(
        "CW211",
        ROCE,
        """fabrics:
  - name: lights-out
    technology: ethernet
    mtu: 1500
    attach: [{management: true}]
    tiers: [{role: lo, model: dcs-7010tx-48, per: cluster, asn: {base: 64512, per: tier}}]
    addressing:
      {loopbacks: 10.5.0.0/24, links: 10.5.1.0/24, hosts: 10.5.2.0/24, hosts_per_switch: 25, host_links: shared}
zones:
  - {name: lights-out, kind: management, fabrics: [lights-out]}
""",
        "fabrics[lights-out].attach[0]",
        "attached to management already",
    ),
    Mistake(
        "CW207", ROCE, tier("frontend", "role: ssw, count: 13"), "fabrics[frontend].tiers[ssw].count", "1 of the 13"
    ),
    Mistake(
        "CW214", IB, tier("frontend", "role: rsw, per: rack, count: 1"), "fabrics[frontend].tiers[rsw].per", "6 groups"
    ),
    # addresses, AS numbers
    Mistake(
        "CW301",
        IB,
        fabric("backend", "classes: [{name: rdma, dscp: [26], queue: 3, weight: 1}]"),
        "fabrics[backend].classes[rdma].dscp",
        "no DSCP",
    ),
    Mistake(
        "CW301",
        ROCE,
        fabric("frontend", "partitions: [{name: all, pkey: 1, zones: [], membership: full}]"),
        "fabrics[frontend].partitions",
        "only InfiniBand",
    ),
    Mistake(
        "CW301",
        IB,
        tier("backend", "role: spine, asn: {base: 64512, per: tier}"),
        "fabrics[backend].tiers[spine].asn",
        "no BGP",
    ),
    Mistake(
        "CW302",
        ROCE,
        fabric("management", "addressing: {hosts: 10.99.254.0/23}"),
        "fabrics[management].addressing.",
        "shares addresses",
    ),
    Mistake(
        "CW302",
        ROCE,
        fabric("backend", "addressing: {hosts: 'fd00:1ab:b::/48'}"),
        "fabrics[backend].addressing.",
        "shares addresses",
    ),
    Mistake(
        "CW303",
        ROCE,
        fabric("management", "addressing: {loopbacks: 10.99.255.0/32}"),
        "fabrics[management].addressing.loopbacks",
        "1 switches, and loopbacks for 0",
    ),
    Mistake(
        "CW303",
        ROCE,
        fabric("management", "addressing: {hosts_per_switch: 28}"),
        "fabrics[management].addressing.hosts_per_switch",
        "addresses for 13 in a /28",
    ),
    Mistake(
        "CW303",
        ROCE,
        fabric("backend", "addressing: {links: 'fd00:1ab:b:fffe::/121'}"),
        "fabrics[backend].addressing.links",
        "72 links between switches, and prefixes for 6",
    ),
    Mistake(
        "CW303",
        ROCE,
        fabric("backend", "addressing: {hosts_per_switch: 40}"),
        "fabrics[backend].addressing.hosts",
        "subnets of /40 for 0",
    ),
    Mistake(
        "CW304",
        ROCE,
        tier("frontend", "role: ssw, asn: {base: 4200200005}"),
        "fabrics[frontend].tiers[ssw].asn.base",
        "rsw takes 4200200000 to 4200200005",
    ),
    Mistake(
        "CW305",
        ROCE,
        tier("frontend", "role: ssw, asn: {base: 65535}"),
        "fabrics[frontend].tiers[ssw].asn.base",
        "65535",
    ),
    Mistake(
        "CW306",
        IB,
        fabric("frontend", "addressing: {hosts_per_switch: 64}"),
        "fabrics[frontend].addressing.hosts_per_switch",
        "no IPv4 subnet",
    ),
    Mistake("CW308", ROCE, fabric("frontend", "mtu: 1000"), "fabrics[frontend].mtu", "1280 of IPv6"),
    Mistake("CW308", IB, fabric("backend", "mtu: 4092"), "fabrics[backend].mtu", "no MTU of 4092"),
    Mistake(
        "CW309",
        ROCE,
        tier("backend", "role: ctsw, asn: {per: tier}"),
        "fabrics[backend].tiers[ctsw].asn.per",
        "4 ctsw switches share",
    ),
    # lossless classes and NCCL
    Mistake(
        "CW402",
        ROCE,
        "fabrics:\n  - name: backend\n    classes:\n"
        "      - {name: storage, dscp: [18], queue: 3, priority: 2, weight: 10}\n",
        "fabrics[backend].classes[storage].priority",
        "Priority 2 belongs to rdma",
    ),
    Mistake("CW403", ROCE, nccl("data_class: rmda"), "nccl.data_class", "does not exist"),
    Mistake(
        "CW423",
        ROCE,
        "fabrics:\n  - name: frontend\n    classes:\n"
        "      - {name: bulk, dscp: [10], queue: 1, priority: 1, weight: 1}\n"
        "      - {name: files, dscp: [18], queue: 3, priority: 3, weight: 1}\n",
        "fabrics[frontend].classes[files].priority",
        "files is lossless on frontend, as bulk is",
    ),
    Mistake("CW404", IB, nccl("control_dscp: 56"), "nccl.control_dscp", "no DSCP there"),
    Mistake(
        "CW406",
        ROCE,
        nccl("nodes: storage") + "nodes:\n  - {name: storage, image: training}\n"
        "flows:\n  - {name: admin, from: services, to: storage, protocol: tcp, ports: [22], reason: ssh, owner: ops}\n"
        "  - {name: n, from: storage, to: site-services, protocol: udp, ports: [53, 123], reason: dns, owner: ops}\n"
        "  - {name: l, from: storage, to: site-services, protocol: tcp, ports: [6514], reason: logs, owner: ops}\n",
        "nccl.fabric",
        "backend serves no NIC of storage",
    ),
    Mistake("CW406", IB, nccl("sockets: backend"), "nccl.sockets", "no IP addresses"),
    Mistake("CW407", ROCE, nccl("variables: {NCCL_DEBUG: '\"WARN\"'}"), "nccl.variables.NCCL_DEBUG", "in quotes"),
    Mistake("CW407", ROCE, nccl("variables: {NCCL_DEBUG: 'WARN '}"), "nccl.variables.NCCL_DEBUG", "blanks"),
    Mistake("CW407", ROCE, nccl("variables: {NCCL_DEBUG: ''}"), "nccl.variables.NCCL_DEBUG", "empty"),
    Mistake(
        "CW408", ROCE, nccl("variables: {NCCL_SOCKET_IFNAME: eth0}"), "nccl.variables.NCCL_SOCKET_IFNAME", "sockets"
    ),
    # isolation
    Mistake(
        "CW501",
        ROCE,
        "zones:\n  - {name: site-services, prefixes: [0.0.0.0/1, 128.0.0.0/1]}\n",
        "zones[site-services].prefixes[0]",
        "0.0.0.0/1 takes in the internet",
    ),
    Mistake(
        "CW501",
        ROCE,
        "zones:\n  - {name: site-services, prefixes: ['2000::/3']}\n",
        "zones[site-services].prefixes[0]",
        "2000::/3",
    ),
    Mistake(
        "CW502",
        IB,
        "zones:\n  - {name: site-services, prefixes: [10.98.240.0/24, 10.97.1.128/25]}\n",
        "zones[site-services].prefixes[1]",
        "hosts of management (10.97.0.0/23)",
    ),
    Mistake(
        "CW502",
        ROCE,
        "zones:\n  - {name: site-services, prefixes: ['fd00:1ab:f:1::/64']}\n",
        "zones[site-services].prefixes[0]",
        "hosts of frontend",
    ),
    Mistake(
        "CW503",
        ROCE,
        "mounts:\n  - {name: home, type: nfs, options: [vers=4.2, nfsvers=3]}\n",
        "mounts[home].options",
        "asks for NFS 3",
    ),
    Mistake(
        "CW504",
        IB,
        "fabrics:\n  - name: backend\n    partitions:\n      - {name: training, pkey: 32767}\n",
        "fabrics[backend].partitions[training].pkey",
        "0x7fff",
    ),
    Mistake("CW505", ROCE, "flows:\n  - {name: nfs, protocol: udp}\n", "mounts[home].nodes[0]", "TCP port 2049"),
    Mistake(
        "CW505",
        ROCE,
        "mounts:\n  - {name: home, options: [vers=4.2, port=12049]}\n",
        "mounts[home].nodes[0]",
        "TCP port 12049",
    ),
    Mistake(
        "CW505",
        ROCE,
        "flows:\n  - {name: nfs, from: storage, to: compute}\n",
        "mounts[home].nodes[0]",
        "compute to storage",
    ),
    Mistake(
        "CW507",
        ROCE,
        "flows:\n  - {name: slurmd, remove: true}\n  - {name: ssh, remove: true}\n"
        "  - {name: rdma, remove: true}\n  - {name: nccl-bootstrap, remove: true}\n",
        "nodes[compute].zone",
        "No flow leads to compute",
    ),
    # images, scheduler, space
    Mistake("CW602", ROCE, "scheduler: {plugin: block}\n", "scheduler.plugin", "needs `block_sizes`"),
    Mistake("CW602", ROCE, "scheduler: {block_sizes: [2, 4]}\n", "scheduler.block_sizes", "tree plugin"),
    Mistake(
        "CW602", ROCE, "scheduler: {plugin: block, block_sizes: [4, 8]}\n", "scheduler.block_sizes[0]", "A rack has 2"
    ),
    Mistake(
        "CW602", ROCE, "scheduler: {plugin: block, block_sizes: [2, 2]}\n", "scheduler.block_sizes[1]", "larger than"
    ),
    Mistake(
        "CW602",
        IB,
        "nodes:\n  - {name: compute, levels: [{name: rack, of: 6}, {name: su, of: 2}]}\n"
        "fabrics:\n  - {name: backend, tiers: [{role: leaf, up: {links: 12}}]}\n"
        "scheduler: {plugin: block, leaf: rack, block_sizes: [6]}\n",
        "scheduler.block_sizes[0]",
        "The last rack has 4 nodes",
    ),
    Mistake("CW603", ROCE, "scheduler: {nodes: storage}\n", "scheduler.nodes", "storage have no image"),
    Mistake(
        "CW702",
        ROCE,
        tier("backend", "role: ctsw, up: {medium: dac, length_m: 5}")
        + "      - {role: atsw, down: {medium: dac, length_m: 5}}\n",
        "fabrics[backend].tiers[ctsw].up.length_m",
        "400G it reaches 3 m",
    ),
    Mistake(
        "CW702",
        ROCE,
        tier("management", "role: mgmt, down: {medium: dac, length_m: 8}"),
        "fabrics[management].tiers[mgmt].down.length_m",
        "8 m",
    ),
    Mistake(
        "CW703",
        ROCE,
        tier("backend", "role: atsw, down: {length_m: 400}"),
        "fabrics[backend].tiers[atsw].down.length_m",
        "atsw says 400 m of its cables from below, ctsw says 30 m",
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake.code} {mistake.path} {mistake.message}")
def test_a_mistake_is_refused_where_it_was_made(mistake: Mistake, tmp_path: Path) -> None:
    findings = findings_of(tmp_path, mistake.text, mistake.base)
    assert codes(findings) == [mistake.code], [str(finding) for finding in findings]
    first = findings[0]
    assert first.path.startswith(mistake.path), first
    assert mistake.message in first.message, first
    assert first.hint.endswith((".", "?")), first


def test_every_finding_of_one_overlap_is_said_once(tmp_path: Path) -> None:
    text = tier("backend", "role: atsw, per: rack") + "nodes:\n  - {name: storage, levels: [{name: rack, of: 1}]}\n"
    findings = findings_of(tmp_path, text, ROCE)
    assert len(findings) == len(set(findings))


def test_a_hint_lists_no_thousand_names(tmp_path: Path) -> None:
    text = "nodes:\n  - {name: compute, count: 4000}\nexceptions:\n" + "".join(
        f"  - {{device: zz{number}, state: drained, reason: gone}}\n" for number in range(100)
    )
    unknown = [finding for finding in findings_of(tmp_path, text, ROCE) if finding.code == "CW157"]
    assert len(unknown) == 100
    assert max(len(finding.hint) for finding in unknown) < 400
    assert not any("none" in finding.hint for finding in unknown)
