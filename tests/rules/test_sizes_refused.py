"""Sizes, ports and speeds that do not fit, and fabrics that are not joined."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.mistakes import IB, ROCE, Mistake, is_refused, named, tier

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
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=named)
def test_a_mistake_is_refused_where_it_was_made(mistake: Mistake, tmp_path: Path) -> None:
    is_refused(mistake, tmp_path)
