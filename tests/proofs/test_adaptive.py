"""Adaptive routing: rendered for switches, adapters and NCCL, proven at both ends, and refused where it cannot be."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.proofs.trees import edited

from clusterwright import data_files
from clusterwright.artifact import Artifact
from clusterwright.extras.simulate.choices import RENDERED
from clusterwright.extras.simulate.collective import Simulation, simulate
from clusterwright.extras.simulate.flows import FlowTransport
from clusterwright.extras.simulate.network import build_network
from clusterwright.extras.simulate.traffic import Traffic
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.hashing import HASHING
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.spec.load import load_spec

NVUE, SCRIPT, NCCL = "etc/clusterwright/nvue.yaml", "usr/local/sbin/roce-qos", "etc/nccl.conf"
SPEC = f"""\
version: 1
extends: {data_files.folder("inventory")}/lab-nvue.yaml
name: adaptive
fabrics:
  - name: backend
    balancing: {{kind: adaptive}}
    addressing: {{loopbacks: "10.97.0.0/24", links: "10.97.2.0/23", hosts: "10.97.16.0/20", hosts_per_switch: 24}}
    tiers: [{{role: rtsw, release: "5.15"}}]
images:
  - name: training
    packages: [ibverbs-utils, mlnx-tools, mstflint, perftest, procps]
"""


@cache
def plan() -> Plan:
    path = Path("/dev/shm" if Path("/dev/shm").is_dir() else "/tmp") / "clusterwright-adaptive.yaml"
    path.write_text(SPEC)
    try:
        return build_plan(load_spec(path))
    finally:
        path.unlink()


@cache
def rendered() -> tuple[Artifact, ...]:
    return tuple(Rendering(plan()).of_kinds(KINDS))


@cache
def whole() -> RenderedTree:
    return tree_of("adaptive", rendered(), Declaration(plan()))


def text_of(device: str, path: str) -> str:
    return next(file.content.decode() for file in rendered() if (file.device, file.path) == (device, path))


def judged(device: str, path: str, edit: Callable[[str], str], *, declaration: bool = True) -> Verdict:
    """The answer about hashing once a file is edited."""
    before = text_of(device, path)
    after = edit(before)
    assert after != before
    file = next(file for file in rendered() if (file.device, file.path) == (device, path))
    changed = Artifact(device, path, after.encode(), file.kind)
    return HASHING.run(edited(whole(), [changed], declaration=declaration))


def test_every_cable_between_switches_has_it_and_the_claim_is_proven() -> None:
    verdict = HASHING.run(whole())

    assert verdict.is_proven, verdict
    facts = {fact.name: fact.value for fact in verdict.facts}
    assert facts["rtsw-ctsw-atsw: cables whose ends choose a path for each packet"] == 72


def test_it_is_written_in_the_words_of_the_release() -> None:
    assert "      adaptive-routing:\n        state: enabled\n" in text_of("rtsw-p00r00", NVUE), "5.15"
    assert '      adaptive-routing:\n        enable: "on"\n' in text_of("ctsw-p00-00", NVUE), "5.10"


def test_ports_to_hosts_and_other_fabrics_have_none() -> None:
    leaf = text_of("rtsw-p00r00", NVUE)
    assert leaf.count("adaptive-routing:") == 1 + 16, "the switch and its uplinks"
    assert "adaptive-routing" not in text_of("rsw-p00r00", NVUE)


def test_adapters_and_nccl_are_told() -> None:
    (line,) = re.findall(r"^ *mstreg .*$", text_of("gpu-p00r00n0", SCRIPT), re.M)
    assert "--reg_name ROCE_ACCL" in line
    assert "adaptive_routing_forced_en=0x1" in line
    assert "NCCL_IB_ADAPTIVE_ROUTING=1\n" in text_of("gpu-p00r00n0", NCCL)


def off(text: str) -> str:
    """The last port with it goes without."""
    head, _, tail = text.rpartition('adaptive-routing:\n            enable: "on"')
    return f'{head}adaptive-routing:\n            enable: "off"{tail}'


def globally_off(text: str) -> str:
    return text.replace('      adaptive-routing:\n        enable: "on"\n', "", 1)


@pytest.mark.parametrize(
    ("device", "path", "edit", "message"),
    [
        ("ctsw-p00-00", NVUE, off, "chooses by a hash, the fabric chooses a path for each packet"),
        ("ctsw-p00-00", NVUE, globally_off, "chooses by a hash, the fabric chooses a path for each packet"),
        ("gpu-p00r00n0", SCRIPT, lambda text: text.replace("forced_en=0x1", "forced_en=0x0"), "takes packets in order"),
        ("gpu-p00r00n0", SCRIPT, lambda text: re.sub(r"\n *mstreg .*", "", text), "be0 takes packets in order"),
        ("gpu-p00r00n0", NCCL, lambda text: text.replace("ROUTING=1", "ROUTING=0"), "NCCL_IB_ADAPTIVE_ROUTING is 0"),
        ("gpu-p00r00n0", NCCL, lambda text: re.sub(r"\nNCCL_IB_ADAPTIVE.*", "", text), "ROUTING is not set"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("declaration", [True, False])
def test_one_end_without_it_is_refuted(
    device: str, path: str, edit: Callable[[str], str], message: str, *, declaration: bool
) -> None:
    verdict = judged(device, path, edit, declaration=declaration)
    assert any(message in str(found) for found in verdict.counterexamples), verdict.counterexamples


def test_a_port_to_a_host_with_it_is_refuted() -> None:
    def host_port(text: str) -> str:
        place = text.index("swp1s0:\n")
        end = text.index("        type: swp\n", place)
        return f"{text[:end]}        router:\n          adaptive-routing:\n            state: enabled\n{text[end:]}"

    verdict = judged("rtsw-p00r00", NVUE, host_port)
    assert any(
        "swp1s0 chooses a path for each packet, and leads to no switch" in str(f) for f in verdict.counterexamples
    )


def test_a_fabric_that_hashes_has_no_port_with_it() -> None:
    def uplink(text: str) -> str:
        place = text.rindex("        type: swp\n")
        router = '      router:\n          adaptive-routing:\n            enable: "on"\n'
        on = text[:place] + "  " + router + text[place:]
        return on.replace(
            "    router:\n      bgp:", '    router:\n      adaptive-routing:\n        enable: "on"\n      bgp:', 1
        )

    verdict = judged("ssw-00", NVUE, uplink)
    assert any("the fabric chooses by a hash" in str(found) for found in verdict.counterexamples), verdict


def test_the_simulator_divides_packets_and_states_what_it_assumes() -> None:
    network = build_network(plan(), "backend")
    question = Simulation(Traffic("all-gather", "ring"), FlowTransport(RENDERED, 4), ranks=32)
    (outcome,) = simulate(network, question, (0,))
    assert outcome.share == pytest.approx(1)
