"""The newest Slurm over what is rendered: it reads topology.yaml, knows blocks, and has a plugin for IMEX channels.

Outside of `make test`: `make test-slurm` runs it, with the packages of Debian's unstable release.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.hosts.slurm.controller import controller_answers, only_slurm
from tests.hosts.slurm.test_hostlist import expand
from tests.plans import plan_of, plan_with

from clusterwright.hosts.slurm.reader import TOPOLOGY_CONF, TOPOLOGY_YAML
from clusterwright.hosts.slurm.topology import blocks
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

pytestmark = pytest.mark.newest
BLOCKS = "scheduler: {kind: slurm, nodes: compute, plugin: block, leaf: rack, block_sizes: [2, 4, 8]}\n"
NVLINK_DOMAINS = Path(__file__).parents[2] / "rules/examples/CW428/good.yaml"


def test_the_release_reads_topology_yaml() -> None:
    done = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True)
    release = re.findall(r"\d+", done.stdout)
    assert [int(part) for part in release[:2]] >= [25, 5]


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "rsc"])
def test_both_files_of_the_topology_make_one_tree(name: str, tmp_path: Path) -> None:
    trees = []
    for missing in (TOPOLOGY_CONF, TOPOLOGY_YAML):
        folder = tmp_path / Path(missing).suffix
        folder.mkdir()
        topology = controller_answers(plan_of(name), folder, without=[missing])["topology"]
        trees.append(re.sub(" LinkSpeed=[01] ", " ", topology))  # topology.conf(5): has no effect yet
    from_yaml, from_conf = trees
    assert from_yaml == from_conf
    assert "SwitchName=cluster" in from_yaml


def test_topology_yaml_counts_where_the_two_differ(tmp_path: Path) -> None:
    """So the proof compares both: a topology.conf that is right proves nothing of such a release."""
    renamed = "sed -i 's/SwitchName=p00r00 /SwitchName=elsewhere /' /etc/slurm/topology.conf"
    again = f"{renamed}\nscontrol reconfigure\nscontrol show topology > {tmp_path}/again\n"
    answers = controller_answers(plan_of("lab-roce"), tmp_path, then=again)
    assert "SwitchName=elsewhere " in (tmp_path / TOPOLOGY_CONF).read_text()
    assert (tmp_path / "again").read_text() == answers["topology"]


def test_blocks_are_those_of_the_plan(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", BLOCKS)
    topology = controller_answers(plan, tmp_path)["topology"]
    base = dict(re.findall(r"^BlockName=(\S+) BlockIndex=\d+ Nodes=(\S+) BlockSize=2$", topology, re.M))
    planned = {block.name: block.nodes for block in blocks(plan, only_slurm(plan))}
    assert {name: set(expand(nodes)) for name, nodes in base.items()} == {
        name: set(expand(nodes)) for name, nodes in planned.items()
    }
    assert re.findall(r"^AggregatedBlock=\S+ .* BlockSize=(\d+)$", topology, re.M) == ["4", "4", "8"]


def test_sizes_that_lint_refuses_end_slurmctld(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", BLOCKS.replace("[2, 4, 8]", "[2, 4, 6]"))
    with pytest.raises(AssertionError, match="Invalid BlockSizes"):
        controller_answers(plan, tmp_path)


def test_nvlink_domains_are_blocks_with_imex_channels(tmp_path: Path) -> None:
    answers = controller_answers(build_plan(load_spec(NVLINK_DOMAINS)), tmp_path)
    assert "SwitchType              = switch/nvidia_imex" in answers["config"]
    assert len(re.findall("^BlockName=", answers["topology"], re.M)) == 4
