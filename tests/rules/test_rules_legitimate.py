"""Specs that somebody has every reason to write: no rule may object to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.overlays import findings_of

HEAD = "version: 1\nname: small\nsite: {domain: example.net}\n"

IPV4_ROCE = f"""{HEAD}
nodes:
  - name: compute
    model: grand-teton-h100
    role: node
    count: 40
    levels: [{{name: rack, of: 4}}]
fabrics:
  - name: backend
    technology: roce
    mtu: 9000
    attach: [{{nodes: compute, nics: backend}}]
    tiers:
      - role: leaf
        model: minipack2
        per: rack
        down: {{blocks: [pim2-odd, pim3-odd, pim4-odd, pim5-odd], medium: dac, length_m: 3}}
        up: {{links: 32, speed_gbps: 400, blocks: [pim6-odd, pim7-odd, pim8-odd, pim9-odd]}}
        asn: {{base: 64600, per: switch}}
      - role: spine
        model: dcs-7804r3
        per: cluster
        count: 4
        asn: {{base: 64512, per: tier}}
    addressing:
      loopbacks: "10.0.0.0/27"
      links: "10.0.4.0/22"
      hosts: "10.1.0.0/20"
      hosts_per_switch: 24
      host_links: point-to-point
    classes:
      - {{name: default, dscp: [], queue: 0, weight: 20}}
      - {{name: rdma, dscp: [26], queue: 3, priority: 3, weight: 80}}
chip_settings: [{{name: minipack2, assumed: "The platform team merges what the vendor gives out."}}]
"""

INFINIBAND_ONLY = f"""{HEAD}
nodes:
  - name: compute
    model: dgx-h100
    role: node
    count: 8
    levels: [{{name: rack, of: 4}}]
fabrics:
  - name: backend
    technology: infiniband
    mtu: 4096
    attach: [{{nodes: compute, nics: backend}}]
    tiers:
      - {{role: leaf, model: qm9790, per: cluster}}
    subnet_manager: {{nodes: compute, count: 1, routing_engine: updn}}
"""

ZONES_ON_INFINIBAND = (
    INFINIBAND_ONLY.replace("count: 8", "count: 4").replace("attach: [", "attach: [{nodes: storage, nics: backend}, ")
    + """    partitions:
      - {name: training, pkey: 1, zones: [compute, storage], membership: full}
zones:
  - {name: compute, kind: compute, nodes: [compute]}
  - {name: storage, kind: storage, nodes: [storage]}
flows:
  - {name: files, from: compute, to: storage, protocol: any, reason: "RDMA to storage", owner: storage}
"""
).replace(
    "fabrics:",
    """  - {name: storage, model: dgx-h100, role: storage, count: 2, levels: [{name: rack, of: 2, code: s}]}
fabrics:""",
    1,
)

ONE_DIRECTOR = f"""{HEAD}
nodes:
  - name: compute
    model: dgx-a100
    role: node
    count: 100
    levels: [{{name: rack, of: 4}}]
fabrics:
  - name: backend
    technology: infiniband
    mtu: 4096
    attach: [{{nodes: compute, nics: backend}}]
    tiers:
      - {{role: director, model: cs8500, per: cluster}}
    subnet_manager: {{nodes: compute, count: 2, routing_engine: ftree}}
"""

RAIL_ONLY = f"""{HEAD}
nodes:
  - name: compute
    model: grand-teton-h100
    role: node
    count: 12
    levels: [{{name: rack, of: 4}}]
fabrics:
  - name: backend
    technology: roce
    mtu: 9000
    attach: [{{nodes: compute, nics: backend}}]
    tiers:
      - role: leaf
        model: dcs-7060x6-64pe-sonic
        per: cluster
        join: rail
        asn: {{base: 65000, per: switch}}
    addressing:
      loopbacks: 10.0.0.0/27
      links: 10.0.4.0/22
      hosts: 10.1.0.0/20
      hosts_per_switch: 25
      host_links: point-to-point
    classes:
      - {{name: default, dscp: [], queue: 0, weight: 20}}
      - {{name: rdma, dscp: [26], queue: 3, priority: 3, weight: 80}}
"""

NO_MANAGEMENT = """
site:
  management: {dns: ["fd00:1ab:f:fff0::53"], ntp: ["fd00:1ab:f:fff0::123"], syslog: ["fd00:1ab:f:fff0::14"]}
  aaa: {servers: ["fd00:1ab:f:fff0::49", "fd00:1ab:f:fff0::50"]}
zones:
  - {name: management, remove: true}
  - {name: operations, remove: true}
flows:
  - {name: operate, remove: true}
  - {name: monitor, remove: true}
  - {name: management-services, remove: true}
  - {name: management-aaa, remove: true}
"""

STORAGE_ONLY = f"""{HEAD}
nodes:
  - name: objects
    model: hammerspace-dsx
    role: storage
    count: 30
    levels: [{{name: rack, of: 15}}]
fabrics:
  - name: storage
    technology: ethernet
    mtu: 9000
    attach: [{{nodes: objects, nics: frontend}}]
    tiers:
      - role: rsw
        model: wedge400
        per: rack
        down: {{blocks: [downlink], medium: dac, length_m: 3}}
        up: {{links: 8, speed_gbps: 400, medium: mmf, length_m: 50}}
        asn: {{base: 64600, per: switch}}
      - {{role: ssw, model: wedge400, per: cluster, count: 2, asn: {{base: 64512, per: tier}}}}
    addressing:
      loopbacks: "10.0.0.0/28"
      links: "10.0.1.0/26"
      hosts: "10.1.0.0/24"
      hosts_per_switch: 25
      host_links: shared
chip_settings: [{{name: wedge400, assumed: "The platform team merges what the vendor gives out."}}]
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(IPV4_ROCE, id="40 nodes on IPv4 RoCE, without management network, frontend, zones or images"),
        pytest.param(INFINIBAND_ONLY, id="InfiniBand alone, one switch"),
        pytest.param(ZONES_ON_INFINIBAND, id="InfiniBand alone, zones that a partition joins"),
        pytest.param(ONE_DIRECTOR, id="a single tier"),
        pytest.param(RAIL_ONLY, id="rails that never meet"),
        pytest.param(STORAGE_ONLY, id="no GPU anywhere"),
    ],
)
def test_small_clusters_lint_clean(text: str, tmp_path: Path) -> None:
    assert not findings_of(tmp_path, text)


@pytest.mark.parametrize(
    ("base", "text"),
    [
        pytest.param(
            "lab-roce", "fabrics:\n  - {name: management, remove: true}\n" + NO_MANAGEMENT, id="no management network"
        ),
        pytest.param(
            "lab-roce",
            "nodes:\n  - {name: services, levels: [{name: cabinet, of: 4, code: c}]}\n",
            id="nodes that attach to a higher tier, which has their speed",
        ),
        pytest.param(
            "lab-roce",
            "zones:\n  - {name: owner, kind: production, prefixes: ['10.0.0.0/9', '2001:db8::/32']}\n"
            "flows:\n  - {name: login, from: owner, to: services, protocol: tcp, ports: [22], "
            "reason: log in, owner: ops}\n"
            "fabrics:\n  - name: management\n"
            "    addressing: {loopbacks: 172.16.0.0/24, links: 172.16.1.0/24, hosts: 172.16.2.0/23}\n",
            id="an owner with a very short prefix",
        ),
        pytest.param(
            "lab-ib",
            "zones:\n  - {name: owner, kind: production, prefixes: ['fc00::/7']}\n"
            "flows:\n  - {name: login, from: owner, to: services, protocol: tcp, ports: [22], "
            "reason: log in, owner: ops}\n",
            id="an owner who names all private IPv6 space",
        ),
        pytest.param(
            "lab-roce",
            "nodes:\n  - name: login\n    model: service-server\n    role: login\n    count: 1\n    image: training\n"
            "    levels: [{name: rack, of: 1, code: l}]\n"
            "zones:\n  - {name: services, nodes: [login, services]}\n"
            "mounts:\n  - {name: home, nodes: [compute, login]}\n"
            "flows:\n  - {name: nfs-login, from: services, to: storage, protocol: tcp, ports: [2049], "
            "reason: homes, owner: ops}\n"
            "  - {name: ssh-login, from: site-services, to: services, protocol: tcp, ports: [22], "
            "reason: log in, owner: ops}\n"
            "  - {name: names-login, from: services, to: site-services, protocol: udp, ports: [53, 123], "
            "reason: names and time, owner: ops}\n"
            "  - {name: logs-login, from: services, to: site-services, protocol: tcp, ports: [6514], "
            "reason: logs, owner: ops}\n",
            id="a group that only its zone names",
        ),
        pytest.param(
            "lab-roce",
            "mounts:\n  - {name: home, options: [vers=4.1, proto=tcp, port=12049]}\n"
            "flows:\n  - {name: nfs, ports: ['12040-12060']}\n",
            id="NFS on another port",
        ),
        pytest.param(
            "lab-roce",
            "mounts:\n  - {name: home, type: fuse.tectonic, options: [ro], protection: {kind: client-side-aead}}\n"
            "flows:\n  - {name: nfs, ports: [7000]}\n",
            id="a file system with ports of its own",
        ),
        pytest.param("lab-roce", "scheduler: {plugin: block, block_sizes: [2, 4, 8]}\n", id="blocks of racks"),
        pytest.param(
            "lab-roce",
            "fabrics:\n  - name: backend\n    classes:\n"
            "      # clusterwright: ignore[CW423] 2 x 190 kB on 64 ports fit its 25 MB, measured\n"
            "      - {name: storage, dscp: [18], queue: 3, priority: 3, weight: 10}\n",
            id="a second lossless class whose headroom is proven",
        ),
        pytest.param(
            "lab-roce", "scheduler: {plugin: block, block_sizes: [1, 8]}\n", id="a base smaller than the leaf"
        ),
        pytest.param(
            "lab-roce",
            "exceptions:\n"
            "  - {device: ctsw-p00-00, port: Ethernet3/1/1, state: out-of-service, reason: dirty optics}\n"
            "  - {device: gpu-p00r00n0, port: be3, state: out-of-service, reason: broken cage}\n"
            "  - {device: gpu-p00r00n1, port: bmc, state: out-of-service, reason: dead board}\n"
            "  - {group: p00r01, image: training, reason: canary}\n",
            id="exceptions",
        ),
        pytest.param("lab-roce", "nccl: {sockets: backend}\n", id="bootstrap over the RoCE fabric"),
        pytest.param(
            "lab-roce",
            "nccl: {variables: {NCCL_DEBUG: WARN, NCCL_ALGO: 'allreduce:tree,nvls', TORCH_NCCL_DUMP_ON_TIMEOUT: 1}}\n",
            id="NCCL variables",
        ),
        pytest.param(
            "lab-roce",
            "flows:\n  - {name: ping, from: services, to: compute, protocol: icmp, reason: reachability, owner: ops}\n",
            id="icmp without ports",
        ),
        pytest.param(
            "lab-roce",
            "fabrics:\n  - name: backend\n    tiers:\n      - {role: ctsw, per: cluster}\n"
            "expect:\n  - {figure: oversubscription.backend.ctsw, value: 16, assumed: one level less}\n",
            id="pods in the nodes' levels, none in the fabric",
        ),
        pytest.param(
            "lab-roce",
            "fabrics:\n  - name: backend\n    tiers:\n      - {role: atsw, join: position, count: 1}\n",
            id="planes by position",
        ),
    ],
)
def test_legitimate_changes_lint_clean(base: str, text: str, tmp_path: Path) -> None:
    assert not findings_of(tmp_path, text, base)


OVERLAPPING = """
zones:
  - {name: everybody, kind: compute, isolated: true, nodes: [compute], fabrics: [frontend]}
flows:
  - {name: names, from: everybody}
  - {name: syslog, from: everybody}
"""


def test_a_server_may_be_reached_by_any_zone_of_the_nodes(tmp_path: Path) -> None:
    """Nodes are in the zone that their group names and in all that list them."""
    assert findings_of(tmp_path, OVERLAPPING, "lab-roce") == ()


ONE_MANAGEMENT_SPINE = (
    "fabrics:\n  - name: management\n    tiers:\n"
    "      - {role: mgmt, remove: true}\n"
    "      - role: mrack\n        model: dcs-7010tx-48\n        per: rack\n"
    "        asn: {base: 4200000400, per: switch}\n        up: {links: 1, speed_gbps: 10}\n"
    "      - role: mspine\n        model: dcs-7050sx3-48yc8\n        per: cluster\n"
    "        asn: {base: 4200000310, per: tier}\n"
    "    addressing: {hosts: 10.99.0.0/22, hosts_per_switch: 26}\n"
)


def test_a_management_network_with_one_spine_is_legitimate_where_the_spec_accepts_it(tmp_path: Path) -> None:
    """Two would be apart, as both have devices of the upper layer; with one its racks hang on it."""
    assert [finding.code for finding in findings_of(tmp_path, ONE_MANAGEMENT_SPINE, "lab-roce")] == ["CW221"]
    accepted = ONE_MANAGEMENT_SPINE + "    accepts_single_failures: Jobs run on without the management network.\n"
    assert [finding.code for finding in findings_of(tmp_path, accepted, "lab-roce")] == ["CW251"]


def test_a_key_of_the_base_that_does_nothing_is_told_with_the_way_to_be_rid_of_it(tmp_path: Path) -> None:
    overlay = "scheduler: {kind: kueue}\n"
    findings = [finding for finding in findings_of(tmp_path, overlay, "lab-roce") if finding.code == "CW616"]
    assert findings
    keys = [finding.hint.split("`")[3] for finding in findings]
    assert all(key.endswith(": null") for key in keys), findings
    rid = f"scheduler: {{kind: kueue, {', '.join(keys)}}}\n"
    assert not [finding for finding in findings_of(tmp_path, rid, "lab-roce") if finding.code == "CW616"]
