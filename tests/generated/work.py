"""What runs on a generated cluster: NCCL, schedulers with the flows that they need, jobs, and how changes roll out."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.generated import access
from tests.generated.machines import chance, instances

Data = dict[str, Any]


@st.composite
def work(draw: st.DrawFn, spec: Data, rare: str) -> None:
    """Adds it to a spec that has its nodes, fabrics, images, zones and flows."""
    compute = spec["nodes"][0]
    workers = [group for group in spec["nodes"] if group["role"] == "node" and group.get("image")]
    several = len(workers) > 1 and (rare in {"tenants", "two slurms"} or chance(draw, 60))
    draw(_nccl(spec, workers if several else workers[:1]))
    # Jobs are given out by a daemon, which runs on a machine for services.
    hosts = [group["name"] for group in spec["nodes"] if group["role"] == "service"]
    if workers and hosts and (rare in {"tenants", "two slurms"} or chance(draw, 70)):
        used = workers if several else workers[:1]
        apart = several and "controllers" in hosts and (rare == "two slurms" or chance(draw, 30))
        entries = [[group] for group in used] if apart else [used]
        found = [
            draw(_slurm(spec, each, hosts if not apart else hosts[-1 - index :][:1]))
            for index, each in enumerate(entries)
        ]
        spec["scheduler"] = (
            [{"name": f"slurm-{index}", **each} for index, each in enumerate(found)] if apart else found[0]
        )
        for entry in found:
            _flows(spec, entry, hosts[0])
    if chance(draw, 50):
        draw(_jobs(spec, compute))
    if chance(draw, 60):
        spec["rollout"] = {
            "min_bandwidth_percent": draw(st.sampled_from([0, 25, 50, 75])),
            "racks_at_once": draw(st.integers(1, 4)),
            "canaries": draw(st.integers(0, 2)),
        }


@st.composite
def _nccl(draw: st.DrawFn, spec: Data, workers: list[Data]) -> None:
    """A profile for all of them, or one for each."""
    fabrics = {fabric["name"]: fabric for fabric in spec["fabrics"]}
    rdma = next((f for f in spec["fabrics"] if f["technology"] != "ethernet"), None)
    sockets = fabrics.get("frontend", rdma)
    if not (workers and rdma and sockets) or sockets["technology"] == "infiniband" or chance(draw, 15):
        return
    served = {attach.get("nodes") for attach in rdma["attach"]} & {attach.get("nodes") for attach in sockets["attach"]}
    names = [group["name"] for group in workers if group["name"] in served] or ["compute"]
    if len(names) > 1 and chance(draw, 70):
        spec["nccl"] = [{"name": f"of-{name}", **draw(_profile(rdma, sockets, name))} for name in names]
    else:
        spec["nccl"] = draw(_profile(rdma, sockets, names if len(names) > 1 else names[0]))


@st.composite
def _profile(draw: st.DrawFn, rdma: Data, sockets: Data, nodes: str | list[str]) -> Data:
    versions = ["2.27", "2.32", *(["2.18"] if rdma["technology"] == "infiniband" else [])]
    nccl: Data = {
        "version": draw(st.sampled_from(versions)),
        "fabric": rdma["name"],
        "nodes": nodes,
        "sockets": sockets["name"],
    }
    if rdma["technology"] == "roce":
        nccl["data_class"] = "rdma"
        if chance(draw, 30):
            nccl["qps_per_connection"] = draw(st.sampled_from([1, 2, 4, 16]))
        if any(item["name"] == "control" for item in rdma["classes"]) and nccl["version"] != "2.18":
            nccl["control_dscp"] = 56
    else:
        nccl["service_level"] = 0
    if chance(draw, 30):
        nccl |= {"pytorch": "2.9", "heartbeat_timeout_s": 600, "topology_file": True}
    return nccl


@st.composite
def _slurm(draw: st.DrawFn, spec: Data, workers: list[Data], hosts: list[str]) -> Data:
    """A Slurm for these groups, whose controllers run on machines of one of ``hosts``."""
    names = [group["name"] for group in workers]
    levels = [{level["name"] for level in group["levels"]} for group in workers]
    plugin = draw(st.sampled_from(["tree", "tree", "block"])) if len(names) == 1 else "tree"
    found: Data = {
        "kind": "slurm",
        "nodes": names if len(names) > 1 else names[0],
        "plugin": plugin,
        "leaf": draw(st.sampled_from(sorted(set.intersection(*levels)))),
        "munge": draw(st.sampled_from([{"secret": "munge"}, {"by_site": "Everybody makes their own."}])),
    }
    if plugin == "block":
        leaf = next(nodes for name, _, nodes in instances(workers[0]) if name == found["leaf"])
        found["block_sizes"] = [leaf * 2**power for power in range(draw(st.integers(1, 3)))]
    elif chance(draw, 50):
        found["partitions"] = [{"name": f"p-{name}", "nodes": name, "allow_groups": [name]} for name in names]
        spec["site"]["directory"] = {"by_site": "SSSD asks the site's LDAP.", "groups": list(names)}
    host = next(group for group in spec["nodes"] if group["name"] == hosts[0])
    if hosts[0] == "controllers" or chance(draw, 40):
        backups = min(host["count"], draw(st.integers(1, 2)))
        shared = {"state": "/srv/slurm", "shared_by": "They mirror a volume of their own."} if backups > 1 else {}
        found["controllers"] = {"nodes": hosts[0], "count": backups, **shared}
    if chance(draw, 40):
        database = {"host": "db.example.net", "secret": "slurm-database"}
        found["accounting"] = {"nodes": hosts[0], "database": database}
    if chance(draw, 30):
        found["kueue"] = {"label_prefix": "topology.example.net", "flavor": "gpus"}
    return found


def _flows(spec: Data, slurm: Data, first: str) -> None:
    """What the daemons of a Slurm, and of Kubernetes beside it, say to each other."""
    host = slurm.get("controllers", {}).get("nodes", first)
    zones = {zone["name"] for zone in spec["zones"]}
    workers = slurm["nodes"] if isinstance(slurm["nodes"], list) else [slurm["nodes"]]
    for name in workers:
        spec["flows"].append(access.flow(f"slurmctld-{name}", name, host, "tcp", "6817-6819"))
        spec["flows"].append(access.flow(f"slurmd-{name}", host, name, "tcp", 6818))
        spec["flows"].append(access.flow(f"kubernetes-{name}", name, host, "tcp", 6443))
        spec["flows"].append(access.flow(f"kubelet-{name}", host, name, "tcp", 10250))
    spec["flows"].append(access.flow(f"takeover-{host}", host, host, "tcp", 6817, 6819))
    if "site-services" in zones:
        spec["flows"].append(access.flow(f"records-{host}", host, "site-services", "tcp", 3306))


@st.composite
def _jobs(draw: st.DrawFn, spec: Data, compute: Data) -> None:
    nodes = draw(st.integers(1, compute["count"]))
    tensor = draw(st.sampled_from([1, 2, 4, 8]))
    axes = {"tensor": tensor, "data": nodes * 8 // tensor}
    sent = {"tensor": 4.0e10, "data": 8.0e9}
    # An axis of one rank sends nothing.
    bytes_per_step = {axis: sent[axis] for axis in axes if axes[axis] > 1}
    spec["jobs"] = [{"name": "small", "nodes": "compute", "axes": axes, "bytes_per_step": bytes_per_step}]
