"""NCCL itself reads what is rendered for it: sixteen ranks on two nodes of a rack meet through every filter.

Outside of `make test`: NCCL is built from its sources, with CUDA's compiler (100 MB). `make test-nccl` does that and
runs them. No GPU is needed: job.py says what stands for it.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections import Counter
from functools import cache
from ipaddress import ip_network
from pathlib import Path

import pytest
from tests.hosts.nccl_reader import read_parameters
from tests.proofs.test_port_planes import dual_plane
from tests.rendezvous.job import (
    CONF,
    GID_TYPES,
    Job,
    Libraries,
    Order,
    backwards,
    bridges_of,
    build_stand_ins,
    gid_of,
    gpus_of,
    of_another_machine,
    ports_of,
    run_job,
)
from tests.rendezvous.rack import switches_of, texts_of

from clusterwright import data_files
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

pytestmark = [pytest.mark.nccl, pytest.mark.slow, pytest.mark.timeout(300)]

REPOSITORY = Path(__file__).parents[2]
SPECS = ("roce-24k", "ib-24k", "rsc", "lab-roce", "lab-ib")
LABS = {
    "lab-roce": "images: [{name: training, modules: [ib_uverbs, mlx5_ib, nvidia_peermem]}]\n",
    "lab-ib": "images: [{name: training, modules: [ib_umad, ib_uverbs, mlx5_ib, nvidia_peermem]}]\n"
    "nccl: {topology_file: true}\n",
}
# In the file, and not read until a job sends data, or until something happens to an adapter.
LATER = {"NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_IB_RETURN_ASYNC_EVENTS"}
# Not read by so few ranks, or without the memory that the stand-in for CUDA lacks.
NOT_HERE = {"NCCL_UID_STAGGER_RATE", "NCCL_RUNTIME_CONNECT", "NCCL_COLLNET_ENABLE"}
# The rack has them elsewhere (job.py, and the test of the tuner).
ELSEWHERE = {"NCCL_TOPO_FILE", "NCCL_TUNER_PLUGIN"}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    """NCCL, built once, and what stands for GPUs and adapters."""
    done = subprocess.run([REPOSITORY / "tools/build-nccl"], stdout=subprocess.PIPE, text=True, check=True)
    return build_stand_ins(Path(done.stdout.strip()), tmp_path_factory.mktemp("stand-ins"))


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Specs of this test's own."""
    return tmp_path_factory.mktemp("specs")


def spec(name: str, folder: Path, more: str = "") -> Path:
    """A spec of the inventory. Labs get what their machines without GPUs lack: a topology, which NCCL would look for
    itself, and the module by which adapters reach GPUs."""
    path = folder / f"{name}-{len(more)}.yaml"
    path.write_text(f"extends: {data_files.folder('inventory') / name}.yaml\n{LABS.get(name, '')}{more}")
    return path


@cache
def plan_of(path: Path) -> Plan:
    return build_plan(load_spec(path))


def nodes_of(plan: Plan) -> tuple[str, str]:
    """Two nodes of a profile's that share their rack switches."""
    (profile,) = plan.spec.nccl_profiles
    first, *others = (device.name for device in plan.devices if device.node_group in profile.nodes)
    switches = switches_of(plan, [first], profile.sockets)
    return first, next(name for name in others if switches_of(plan, [name], profile.sockets) == switches)


@pytest.fixture(scope="module", params=SPECS)
def plan(request: pytest.FixtureRequest, specs: Path) -> Plan:
    """Each spec in turn."""
    return plan_of(spec(request.param, specs))


@pytest.fixture(scope="module")
def job(plan: Plan, libraries: Libraries, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Its job, run once for all tests."""
    return run_job(plan, nodes_of(plan), libraries, tmp_path_factory.mktemp("job"), {"NCCL_TUNER_PLUGIN": "none"})


def test_the_ranks_meet_and_no_filter_drops_a_packet(job: Job) -> None:
    assert job.statuses == (0,) * len(job.statuses), (job.printed, [log[-2000:] for log in job.logs])
    assert all(text.startswith("connected ") for text in job.printed)
    assert job.lost == ()
    assert [line for log in job.logs for line in log.splitlines() if "WARN" in line] == []


def test_every_value_is_taken_as_it_stands(job: Job) -> None:
    written = read_parameters(job.texts[CONF])
    taken = dict(re.findall(r"(NCCL_\w+) set (?:by environment )?to (\S+?)\.?$", job.logs[0], re.MULTILINE))
    asked = set(written) - LATER - NOT_HERE - ELSEWHERE
    assert {name: taken.get(name) for name in asked} == {name: written[name] for name in asked}


def test_the_adapters_are_those_of_the_fabric(plan: Plan, job: Job) -> None:
    (profile,) = plan.spec.nccl_profiles
    planned = {nic.rdma_device for nic in ports_of(plan, nodes_of(plan)[0]) if nic.fabric.name == profile.fabric}
    for adapters in job.adapters:
        assert len(adapters) == len(planned)
        assert set(adapters) == planned


def test_data_goes_from_gpu_to_adapter_below_one_switch(plan: Plan, job: Job) -> None:
    """Past processors and their memory, and by all adapters."""
    gpus = gpus_of(job.texts)
    above_gpus, above_adapters = bridges_of(job.texts, "0x0302"), bridges_of(job.texts, "0x02")
    places = {nic.rdma_device: nic.pci for nic in ports_of(plan, nodes_of(plan)[0])}
    for end in job.ends:
        assert end.direct
        assert above_gpus[gpus[end.rank % len(gpus)]] == above_adapters[places[end.adapter] or ""]
    assert {end.adapter for end in job.ends} == set(job.adapters[0])


def test_rails_cross_only_where_they_share_a_switch(plan: Plan, job: Job) -> None:
    adapters: dict[tuple[int, int, int], set[str]] = {}
    for end in job.ends:
        adapters.setdefault(end.connection, set()).add(end.adapter)
    (profile,) = plan.spec.nccl_profiles
    switches = switches_of(plan, nodes_of(plan)[:1], profile.fabric)
    assert (max(map(len, adapters.values())) > 1) == (len(switches) == 1)


def test_queue_pairs_are_what_the_spec_says(plan: Plan, job: Job) -> None:
    (profile,) = plan.spec.nccl_profiles
    fabric = plan.spec.fabric(profile.fabric)
    assert fabric is not None
    connections = len({end.connection for end in job.ends})
    assert len(job.ends) == 2 * connections > 0
    each, flushes = profile.qps_per_connection, connections  # a receiver flushes what came by a pair with itself
    asked = Counter(pair.wanted["traffic_class"] for pair in job.queue_pairs)
    common = {"timeout": profile.timeout, "retry_count": profile.retry_count}
    if fabric.technology == "infiniband":
        common |= {"service_level": profile.service_level or 0, "pkey_index": 1}
        assert asked == {0: 2 * connections * each + flushes}
    else:
        (data,) = (item for item in fabric.classes if item.name == profile.data_class)
        assert profile.control_dscp is not None
        # A receiver says by RDMA that its buffer is free, in a class of its own.
        sent, freed = 4 * data.dscp[0], 4 * profile.control_dscp
        assert asked == {sent: connections * each + flushes, freed: connections * each}
    for pair in job.queue_pairs:
        assert common.items() <= pair.wanted.items()


def test_gids_are_the_planned_addresses(plan: Plan, job: Job) -> None:
    """Of the four that an adapter has: the one in the fabric's range, by RoCE's second version."""
    wanted = read_parameters(job.texts[CONF])
    if "NCCL_IB_ADDR_RANGE" not in wanted:
        assert {pair.wanted["gid_index"] for pair in job.queue_pairs} == {0}
        return
    pool = ip_network(wanted["NCCL_IB_ADDR_RANGE"])
    used = {nic.rdma_device: nic.address for nic in ports_of(plan, nodes_of(plan)[0])}
    assert all(int(pool[0]) <= (used[name] or 0) <= int(pool[-1]) for name in job.adapters[0])
    assert {pair.wanted["gid_index"] for pair in job.queue_pairs} == {GID_TYPES.index("RoCE v2", 2)}


@pytest.mark.parametrize("order", [backwards, of_another_machine], ids=["as on the first node", "otherwise"])
def test_ports_of_a_gpu_meet_those_of_their_plane_where_kernels_agree(
    order: Order, libraries: Libraries, tmp_path: Path
) -> None:
    """NCCL pairs ports by their order, whatever their names: for planes apart, rdma-names fails on another one."""
    plan = dual_plane()
    nodes = nodes_of(plan)
    more = {"NCCL_TUNER_PLUGIN": "none"}
    job = run_job(plan, nodes, libraries, tmp_path, more, orders=(backwards, order))
    assert set(job.statuses) == {0}, job.printed
    port_of = {gid_of(nic).hex(): nic.rail for node in nodes for nic in ports_of(plan, node) if nic.address is not None}
    rails = {nic.rdma_device: nic.rail for nic in ports_of(plan, nodes[0])}
    crossing = [pair for pair in job.queue_pairs if (rails[pair.adapter] or 0) % 2 != (port_of[pair.gid] or 0) % 2]
    assert len(job.queue_pairs) > 0
    assert bool(crossing) == (order is not backwards)


def test_without_their_flow_the_ranks_do_not_meet(specs: Path, libraries: Libraries, tmp_path: Path) -> None:
    """What CW614 says of it."""
    path = spec("lab-roce", specs, "flows: [{name: nccl-bootstrap, remove: true}]\n")
    plan = plan_of(path)
    assert "CW614" in {finding.code for finding in lint_path(path).findings}
    job = run_job(plan, nodes_of(plan), libraries, tmp_path, patience_s=15)
    assert set(job.statuses) != {0}
    assert "connected" not in "".join(job.printed)
    assert any(rule.startswith(nodes_of(plan)) for rule in job.lost)


@pytest.mark.parametrize(("plugin", "status"), [("plugin", -signal.SIGSEGV), ("mended", 0)])
def test_the_tuner_s_table_applies_with_a_sound_plugin(
    plugin: str, status: int, specs: Path, libraries: Libraries, tmp_path: Path
) -> None:
    """The example of this release ends the job, as CW424 says; with its mend the first row of two fits."""
    plan = plan_of(spec("lab-roce", specs))
    table = tmp_path / "tuner.csv"
    table.write_text(texts_of(plan, nodes_of(plan)[0])["etc/nccl/tuner.csv"])
    more = {"NCCL_TUNER_PLUGIN": f"{libraries.nccl}/lib/tuner-{plugin}.so", "NCCL_TUNER_CONFIG_FILE": str(table)}
    folder = tmp_path / "job"
    folder.mkdir()
    job = run_job(plan, nodes_of(plan), libraries, folder, more)
    assert status in job.statuses
    assert job.logs[0].count("TUNER/ExamplePlugin: Loaded config: allreduce") == 2
    if status == 0:
        assert "Applied config for collType=allreduce, bytes=65536" in job.logs[0]
        assert job.logs[0].count("Applied config") == 1
