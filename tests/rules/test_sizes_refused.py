"""Sizes, ports and speeds that do not fit, and fabrics that are not joined."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.mistakes import IB, ROCE, Mistake, is_refused, named, tier
from tests.rules.overlays import findings_of

MISTAKES = [
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
        + tier("frontend", "role: rsw, count: 40, up: {links: 1}"),
        "fabrics[frontend].tiers[rsw].count",
        "600,200",
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
        "supports infiniband",
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
        "CW214", IB, tier("frontend", "role: rsw, per: rack, count: 1"), "fabrics[frontend].tiers[rsw].per", "6 groups"
    ),
    Mistake(
        "CW214",
        IB,
        tier("frontend", "role: rsw, join: all, count: 2"),
        "fabrics[frontend].tiers[rsw].count",
        "gpu-s00r00n0 fe0 (at rsw-00) has no path to gpu-s00r00n1 fe1 (at rsw-01)",
    ),
    Mistake(
        "CW214", ROCE, tier("management", "role: mgmt, count: 3"), "fabrics[management].tiers[mgmt].count", "3 mgmt"
    ),
    Mistake(
        "CW214",
        IB,
        "fabrics:\n  - name: backend\n    tiers:\n      - {role: leaf, remove: true}\n"
        "expect:\n  - {figure: switches.leaf, remove: true, value: 1}\n"
        "  - {figure: oversubscription.backend.leaf, remove: true, value: 1}\n",
        "fabrics[backend].tiers[spine].count",
        "gpu-s00r00n0 be0 (at spine-00) has no path to gpu-s00r00n1 be1 (at spine-01)",
    ),
    Mistake(
        "CW214",
        ROCE,
        "fabrics:\n  - name: frontend\n    tiers:\n      - {role: rsw, up: {links: 1}}\n"
        "      - {role: ssw, count: 6}\n",
        "fabrics[frontend].tiers[rsw].up.links",
        "reach 1 of 6 ssw switches",
    ),
    Mistake(
        "CW214",
        ROCE,
        "fabrics:\n  - name: frontend\n    tiers:\n      - {role: rsw, count: 2}\n"
        "      - {role: ssw, join: position}\n",
        "fabrics[frontend].tiers[ssw].join",
        "st-s00n0 fe0 (at rsw-s00-00) has no path to st-s00n1 fe0 (at rsw-s00-01)",
    ),
    Mistake(
        "CW244",
        IB,
        "nodes:\n  - {name: managers, model: infiniband-server, role: manager, count: 1, zone: services,"
        " levels: [{name: rack, of: 1, code: m}]}\n"
        "fabrics:\n  - name: backend\n    attach:\n      - {nodes: compute, nics: backend}\n"
        "      - {nodes: managers, nics: fabric, to: leaf}\n"
        "    tiers:\n      - {role: spine, join: rail, count: 2}\n"
        "    subnet_manager: {nodes: managers, count: 1}\n"
        "expect:\n  - {figure: oversubscription.backend.leaf, value: 1.03, tolerance: 0.02, assumed: more adapters}\n",
        "fabrics[backend].subnet_manager.nodes",
        "managers-m00n0 has no adapter in plane 2 of backend",
    ),
    Mistake(
        "CW242",
        ROCE,
        "fabrics:\n  - name: backend\n    tiers:\n      - {role: rtsw, count: 3, up: {links: 6, length_m: 30}}\n"
        "      - {role: ctsw, remove: true}\n      - {role: atsw, join: position, count: 2}\n"
        "expect:\n  - {figure: switches.rtsw, remove: true, value: 1}\n"
        "  - {figure: oversubscription.backend.rtsw, remove: true, value: 1}\n"
        "  - {figure: oversubscription.backend.ctsw, remove: true, value: 1}\n",
        "fabrics[backend]",
        "gpu-p00r00n0 be0 (at rtsw-p00r00-00) and gpu-p00r00n1 be0 (at rtsw-p00r00-02) are in different planes",
    ),
    # what is out of service
    Mistake(
        "CW240",
        ROCE,
        "exceptions:\n  - {device: atsw-00, state: out-of-service, reason: broken}\n"
        "  - {device: atsw-01, state: drained, reason: upgrade}\n",
        "exceptions[1].state",
        "gpu-p00r00n0 be0 (at rtsw-p00r00) to gpu-p01r00n0",
    ),
    Mistake(
        "CW240",
        ROCE,
        "exceptions:\n  - {device: rsw-p00r00, port: eth1/1/1, state: drained, reason: dirty}\n"
        "  - {device: rsw-p00r00, port: eth1/3/1, state: drained, reason: dirty}\n",
        "exceptions[1].state",
        "frontend has no path from gpu-p00r00n0 fe0",
    ),
    Mistake(
        "CW241",
        ROCE,
        "exceptions:\n  - {device: mgmt-00, state: drained, reason: upgrade}\n",
        "exceptions[0].state",
        "11 active nodes have no path to management",
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=named)
def test_a_mistake_is_refused_where_it_was_made(mistake: Mistake, tmp_path: Path) -> None:
    is_refused(mistake, tmp_path)


def test_what_a_single_tier_lacks_is_not_mended_by_switches_that_nothing_joins(tmp_path: Path) -> None:
    """Two management switches side by side would be a fabric in pieces, which is refused next (CW214)."""
    overlay = "nodes:\n  - {name: services, count: 60, levels: [{name: rack, of: 20, code: v}]}\n"
    (hint,) = [finding.hint for finding in findings_of(tmp_path, overlay, "lab-roce") if finding.code == "CW201"]
    assert hint == "Take a larger model, attach less, or put a tier above mgmt: then several of them are joined."
