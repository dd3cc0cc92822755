"""Figures in sentences: what a reference spec answers is computed anew, any other figure names its source here.

Only figures of four digits or more are looked for: smaller ones are rarely counts of a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest
from tests.plans import plan_of
from tests.test_docs import GUIDES

from clusterwright import data_files
from clusterwright.deploy.pulumi.units import cut
from clusterwright.plan.figures import figures
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.spec.load import load_spec

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"(?<![\w`.:/\-,])\d{1,3}(?:,\d{3})+(?![\w,])")
# Made by programs from the parser, the schema or tables; other tests compare them.
GENERATED_PAGES = frozenset({"access", "cli", "effects", "figures", "spec", "systems", "versions"})
GALLERY = "published"
HPN_WITHOUT_BACKUPS = "15,360"  # eight hosts of each of 15 segments stand by
SCHEMA_RANGE = re.compile(r"integer, [\d,]+ to [\d,]+")


@cache
def figure(spec: str, name: str) -> int:
    """A figure as ``expect`` names it."""
    loaded = load_spec(data_files.folder("inventory") / f"{spec}.yaml")
    return int(figures(loaded, build_skeleton(loaded))[name])


def roce_gpus() -> int:
    return figure("roce-24k", "gpus")


def roce_nodes() -> int:
    return figure("roce-24k", "nodes")


def rsc_nodes() -> int:
    return figure("rsc", "nodes")


def rsc_nodes_of_phase_1() -> int:
    return figure("rsc-phase1", "nodes")


def rack_prefixes() -> int:
    return figure("roce-24k", "switches.rtsw")


def backend_loopbacks() -> int:
    devices = plan_of("roce-24k").devices
    return sum(1 for device in devices if device.fabric == "backend" and device.loopback is not None)


def hosts_without_an_image() -> int:
    devices = plan_of("roce-24k").devices
    return sum(1 for device in devices if device.kind == "node" and device.role == "storage" and device.image is None)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A part of a line with ``{}`` in place of its figures."""

    page: str
    text: str
    answers: tuple[Callable[[], int], ...]

    @property
    def written(self) -> str:
        return self.text.format(*(f"{answer():,}" for answer in self.answers))


PHRASES = (
    Phrase("README", "slurmctld, at {} nodes", (roce_nodes,)),
    Phrase("README", "**RSC** ({} A100 on HDR InfiniBand)", (lambda: figure("rsc", "gpus"),)),
    Phrase("README", "**{} H100 on RoCE**", (roce_gpus,)),
    Phrase("README", "**{} H100 on Quantum-2 InfiniBand**", (lambda: figure("ib-24k", "gpus"),)),
    Phrase("deploy", "For {} hosts you transfer", (roce_nodes,)),
    Phrase("deploy", "| {} hosts, min: 1 machine", (roce_nodes,)),
    Phrase("deploy", "processor time for {} hosts over all cores", (roce_nodes,)),
    Phrase("deploy", "renders `roce-24k` ({} devices,", (lambda: len(plan_of("roce-24k").devices),)),
    Phrase("deploy", "`up` of all {} stacks", (lambda: len(cut(plan_of("roce-24k"))),)),
    Phrase("ethernet", "has {} rack prefixes and {} loopbacks", (rack_prefixes, backend_loopbacks)),
    Phrase("growing", "with {} nodes instead of {}", (rsc_nodes, rsc_nodes_of_phase_1)),
    Phrase("growing", "{} GPUs on RoCE make a file", (roce_gpus,)),
    Phrase("images", "At {} nodes an overlay", (roce_nodes,)),
    Phrase("isolation", "enforced by hosts and edges ({} hosts)", (roce_nodes,)),
    Phrase("isolation", "by edges alone ({} hosts without an image", (hosts_without_an_image,)),
    Phrase("checks", "a real slurmctld, at {} nodes too", (roce_nodes,)),
    Phrase("checks", "{} slurmd do not run here", (roce_nodes,)),
    Phrase("nccl", "for both {}-GPU", (roce_gpus,)),
    Phrase("placement", "with all {} nodes", (roce_nodes,)),
    Phrase("placement", "a ring of all {} ranks", (roce_gpus,)),
    Phrase("report", "For {} GPUs this takes minutes", (roce_gpus,)),
    Phrase("report", "With {} GPUs no list", (roce_gpus,)),
    Phrase("rollout", "a change of {} nodes", (roce_nodes,)),
    Phrase("sources-of-truth", "{} GPUs take hours", (roce_gpus,)),
)

# Figures that no plan answers, with their source.
CITED = {
    ("cabling", "200,000 labels"): "rounded: a label for each of both ends of the cables of ib-24k and roce-24k",
    ("cabling", "A scan of 26,500 nodes takes"): "benchmarks/observe",
    ("deploy", "7,092 of them with files"): "benchmarks/deployment",
    ("ethernet", "between 150 and 1,500 kB"): "the vendors' manuals named on the page",
    ("ethernet", "1,158.4 ns"): "IEEE 802.3, table 116-6",
    ("ethernet", "All 6,684 files of three specs"): "Meta's thrift, a check by hand",
    ("ethernet", "488, 1,528 and 1,696 session ends"): "Batfish, a check by hand",
    ("health", "on 16,384 H100"): "The Llama 3 Herd of Models, section 3.3.4",
    ("infiniband", "a broadcast group of 2,048 bytes"): "opensm, partition-config",
    ("inventory", "1,895 petaflops of TF32"): "the seed article on RSC",
    ("isolation", "lab-roce takes 67,000 packets"): "tests/proofs, the count of that run",
    ("isolation", "takes some 92,000"): "tests/proofs, the count of that run",
    ("lab", "100 | 1,648 |"): "benchmarks/lab",
    ("placement", "jobs of 1,024 ranks"): "benchmarks/simulate, its input",
    ("placement", "1,000 flows hashed over 16 links"): "SIGCOMM 2024, 5.2.1",
    ("placement", "What 1,000 balls in 16 bins give"): "the row above it",
    ("placement", "Whole racks, 1,024 ranks"): "benchmarks/simulate, its input",
    ("placement", "24,576 ranks. Rows 5"): "benchmarks/simulate, its input",
    ("rollout", "one with 15,000 devices"): "rounded: all devices of roce-24k",
    ("rollout", "no job is left within 14,400 s"): "the default of the gate `jobs`",
    ("verify", "49,151 unicast LIDs"): "InfiniBand Architecture Specification, volume 1, 4.1.3: 0x0001 to 0xbfff",
    ("secrets", "32 to 1,024 characters"): "the schema's words for the key of munge",
}


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: f"{phrase.page}: {phrase.text}")
def test_a_figure_is_what_the_spec_answers(phrase: Phrase) -> None:
    (page,) = (guide for guide in GUIDES if guide.stem == phrase.page)
    assert phrase.written in page.read_text(encoding="utf-8")


def test_every_design_in_the_gallery_has_the_gpus_that_its_page_says() -> None:
    designs = sorted((data_files.folder("inventory") / "published").glob("*.yaml"))
    counts = {f"{figure(f'published/{design.stem}', 'gpus'):,}" for design in designs}
    (page,) = (guide for guide in GUIDES if guide.stem == GALLERY)
    written = set(FIGURE.findall(FENCE.sub("", page.read_text(encoding="utf-8"))))
    assert written <= counts | {HPN_WITHOUT_BACKUPS}


def test_every_figure_is_computed_or_names_its_source() -> None:
    known = [(phrase.page, phrase.written) for phrase in PHRASES]
    known += CITED
    unknown = []
    for guide in GUIDES:
        if guide.stem in {*GENERATED_PAGES, GALLERY}:
            continue
        text = guide.read_text(encoding="utf-8")
        prose = SCHEMA_RANGE.sub("", FENCE.sub("", text))
        for page, phrase in known:
            if page == guide.stem:
                assert phrase in text, f"{guide.name} no longer says {phrase!r}"
                prose = prose.replace(phrase, "")
        unknown += [f"{guide.name}: {match[0]}" for match in FIGURE.finditer(prose)]
    assert unknown == [], "add them to PHRASES if a spec answers them, else to CITED"
