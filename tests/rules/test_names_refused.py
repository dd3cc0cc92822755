"""Names that do not exist or cannot be told apart, and configuration by hand that stands nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.mistakes import IB, ROCE, Mistake, by_hand, fabric, is_refused, named, nccl, tier
from tests.rules.overlays import findings_of

MISTAKES = [
    # configuration by hand
    Mistake("CW171", ROCE, by_hand('"   mtu 1500"'), "extra_config[ctsw].lines[0]", "no section begins above it"),
    Mistake("CW173", ROCE, by_hand('no logging console, "end"'), "extra_config[ctsw].lines[1]", "leaves the section"),
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
    # a partition by the name of its node group
    Mistake(
        "CW635",
        ROCE,
        "nodes:\n  - {name: default, model: grand-teton-h100, role: node, count: 1, prefix: dbg, zone: compute, "
        "image: training, levels: [{name: rack, of: 1, code: d}]}\nscheduler: {nodes: [compute, default]}\n",
        "scheduler.nodes",
        "`default`",
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
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=named)
def test_a_mistake_is_refused_where_it_was_made(mistake: Mistake, tmp_path: Path) -> None:
    is_refused(mistake, tmp_path)


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
