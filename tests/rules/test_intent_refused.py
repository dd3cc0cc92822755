"""Classes, NCCL, isolation, images, scheduler and space that contradict each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.mistakes import IB, ROCE, Mistake, is_refused, named, nccl, tier
from tests.rules.overlays import findings_of

EXECUTION = """
nodes:
  - {name: services, count: 2}
execution: {controller: svc-v00n0, fabric: frontend, nodes: [{device: svc-v01n0}]}
"""

MISTAKES = [
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
        "zones:\n  - {name: site-services, prefixes: [0.0.0.0/1, 128.0.0.0/1, 'fd00:1ab:f:fff0::/64']}\n",
        "zones[site-services].prefixes[0]",
        "0.0.0.0/1 covers the internet",
    ),
    Mistake(
        "CW501",
        ROCE,
        "zones:\n  - {name: site-services, prefixes: ['2000::/3', 'fd00:1ab:f:fff0::/64']}\n",
        "zones[site-services].prefixes[0]",
        "2000::/3",
    ),
    Mistake(
        "CW502",
        IB,
        "zones:\n  - {name: site-services, prefixes: [10.97.1.128/25, 10.98.240.0/24]}\n",
        "zones[site-services].prefixes[0]",
        "hosts of management (10.97.0.0/23)",
    ),
    Mistake(
        "CW502",
        ROCE,
        "zones:\n  - {name: site-services, prefixes: ['fd00:1ab:f:1::/64', 'fd00:1ab:f:fff0::/64']}\n",
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
        "  - {name: rdma, remove: true}\n  - {name: nccl-bootstrap, remove: true}\n"
        "  - {name: rendezvous, remove: true}\n  - {name: steps, remove: true}\n  - {name: kubelet, remove: true}\n",
        "nodes[compute].zone",
        "No flow leads to compute",
    ),
    Mistake(
        "CW506",
        ROCE,
        "flows:\n  - {name: names, protocol: any, ports: [53, 123]}\n",
        "flows[names].ports",
        "Flow names is any",
    ),
    Mistake(
        "CW621",
        ROCE,
        EXECUTION + "zones:\n  - {name: services, nodes: []}\n",
        "execution.nodes[0].device",
        "No flow leads from services to services over TCP port 27199",
    ),
    Mistake(
        "CW621",
        ROCE,
        EXECUTION + "zones:\n  - {name: services, nodes: [], fabrics: [management]}\n"
        "  - {name: boot, nodes: [storage]}\n"
        "flows:\n  - {name: slurmctld, remove: true}\n  - {name: slurmd, remove: true}\n"
        "  - {name: ssh, remove: true}\n",
        "execution.controller",
        "svc-v00n0 is in no zone on frontend",
    ),
    Mistake(
        "CW614",
        ROCE,
        "nodes:\n  - {name: compute, zone: storage}\nflows:\n  - {name: nccl-bootstrap, ports: [40000-50000]}\n",
        "nccl.sockets",
        "storage to storage over TCP ports 32768 to 60999",
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
        "atsw states 400 m for its cables from below, ctsw states 30 m",
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=named)
def test_a_mistake_is_refused_where_it_was_made(mistake: Mistake, tmp_path: Path) -> None:
    is_refused(mistake, tmp_path)


def test_the_boot_fabric_is_named_to_nodes_without_a_nic_on_it(tmp_path: Path) -> None:
    attachments = "[{nodes: storage, nics: frontend}, {nodes: services, nics: frontend}]"
    findings = findings_of(tmp_path, f"fabrics:\n  - {{name: frontend, attach: {attachments}}}\n", ROCE)
    messages = [finding.message for finding in findings if finding.code == "CW606"]
    assert messages == ["Nodes of compute have an image and no NIC on frontend, over which nodes boot."]
