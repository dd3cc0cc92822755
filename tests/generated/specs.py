"""Whole specs on the real catalogue, as an architect might write them: every section of the grammar, drawn."""

from __future__ import annotations

import copy
import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tests.generated import access
from tests.generated.machines import (
    ASSUMED,
    chance,
    compute_groups,
    other_groups,
    server_image,
    training_image,
)
from tests.generated.networks import Attached, ethernet, infiniband, management
from tests.generated.owners import owners
from tests.generated.ports import TWO_PORTS, models
from tests.generated.seldom import seldom
from tests.generated.work import work

from clusterwright.spec.load import allocation_file

Data = dict[str, Any]

# What few specs would have if nothing but chance decided. A campaign asks for each of them in as many of its specs.
RARE = (
    "two groups",
    "tenants",
    "two slurms",
    "bonds",
    "two-port NICs",
    "storage of others",
    "borders",
    "macsec",
    "nvue",
    "sonic",
)
GROWTH = ("nodes", "storage servers", "switches", "a rack left out", "a group before", "a model")


@dataclass(frozen=True)
class Case:
    """A generated spec: ``cluster``, and the ``base`` that it extends, if it is split in two.

    ``trouble`` is what is to be drained or gone once there is a plan to choose from: a kind, and a number that chooses.
    ``growth`` is in the same way what becomes of it once it is written down, ``allocated`` its allocation file then,
    and ``grown`` what has become of it.
    """

    cluster: Data
    base: Data | None = None
    trouble: tuple[tuple[str, int], ...] = ()
    growth: tuple[tuple[str, int], ...] = ()
    allocated: str | None = None
    grown: tuple[str, ...] = ()

    def write(self, folder: Path) -> Path:
        """Writes it into ``folder`` as YAML (of which JSON is a part); returns the spec's path."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.base is not None:
            (folder / "base.yaml").write_text(json.dumps(self.base, indent=1))
        if any(TWO_PORTS.name in part.get("hardware", ()) for part in (self.cluster, self.base or {})):
            shutil.copy(TWO_PORTS, folder)
        path = folder / "cluster.yaml"
        path.write_text(json.dumps(self.cluster, indent=1))
        allocation_file(path).unlink(missing_ok=True)
        if self.allocated is not None:
            allocation_file(path).write_text(self.allocated)
        return path

    def changed(self, **sections: Any) -> Case:
        """The same with these sections of the spec itself replaced; None leaves one out."""
        data = {**self.cluster, **sections}
        return replace(self, cluster={key: value for key, value in data.items() if value is not None})


@st.composite
def specs(draw: st.DrawFn, rare: str) -> Case:
    """A spec that most often lints clean once ``mended`` has declared what it oversubscribes; with ``rare``, one of
    RARE, wherever its parts allow that."""
    technologies = ["roce", "roce", "roce", "infiniband", "infiniband", "none"]
    backend = "roce" if rare == "two-port NICs" else draw(st.sampled_from(technologies))
    compute = draw(compute_groups(backend == "infiniband", rare))
    others = draw(other_groups(backend == "infiniband", rare))
    frontend = backend == "none" or rare not in {"", "two groups"} or chance(draw, 85)
    spec: Data = {
        "version": 1,
        "name": draw(st.sampled_from(["generated", "a", "c-1", "gpu-cluster-with-a-long-name"])),
        "site": {"domain": "example.net", "rack_units": draw(st.sampled_from([42, 48, 60]))},
        "nodes": [*compute, *others],
    }
    spec["fabrics"] = draw(_fabrics(backend, compute, others, frontend, rare))
    if chance(draw, 80):
        draw(_management(spec))
    served = {attach.get("nodes") for fabric in spec["fabrics"] for attach in fabric["attach"]}
    spec["nodes"] = [group for group in spec["nodes"] if group["name"] in served]
    if any(group["model"] == "two-port-node" for group in spec["nodes"]):
        spec["hardware"] = [TWO_PORTS.name]
    draw(_software(spec))
    draw(access.mounts(spec, rare))
    draw(access.zones_and_flows(spec))
    draw(access.partitions(spec))
    draw(_site(spec))
    draw(work(spec, rare))
    draw(owners(spec, rare))
    draw(_extra_config(spec))
    draw(seldom(spec))
    case = Case(spec, trouble=draw(_trouble()), growth=draw(_growth()))
    return draw(_split(case)) if chance(draw, 25) else case


@st.composite
def _trouble(draw: st.DrawFn) -> tuple[tuple[str, int], ...]:
    if not chance(draw, 35):
        return ()
    kinds = st.sampled_from(["drained", "drained", "out-of-service", "port", "port", "group"])
    return tuple(draw(st.lists(st.tuples(kinds, st.integers(0, 9999)), min_size=1, max_size=3)))


@st.composite
def _growth(draw: st.DrawFn) -> tuple[tuple[str, int], ...]:
    if not chance(draw, 50):
        return ()
    return tuple(draw(st.lists(st.tuples(st.sampled_from(GROWTH), st.integers(0, 999)), min_size=1, max_size=3)))


@st.composite
def _extra_config(draw: st.DrawFn, spec: Data) -> None:
    """Lines and patches that change nothing which a proof speaks of."""
    found = []
    for fabric in spec["fabrics"]:
        for tier in fabric["tiers"]:
            system = models()[tier["model"]].network_os
            if not chance(draw, 15):
                continue
            if system == "eos":
                lines = draw(st.sampled_from([["no logging console"], ["logging buffered 1000"]]))
                found.append({"role": tier["role"], "lines": lines})
            elif system == "fboss":
                found.append(
                    {
                        "role": tier["role"],
                        "file": "etc/coop/agent.conf",
                        "merge": {"defaultCommandLineArgs": {"v": "1"}},
                    }
                )
            elif system == "sonic":
                found.append(
                    {
                        "role": tier["role"],
                        "file": "etc/sonic/config_db.json",
                        "merge": {"DEVICE_METADATA": {"localhost": {"cloudtype": "x"}}},
                    }
                )
    if found:
        spec["extra_config"] = [{**item, "reason": "generated"} for item in found]


@st.composite
def _fabrics(
    draw: st.DrawFn, backend: str, compute: list[Data], others: list[Data], frontend: bool, rare: str
) -> list[Data]:
    found = []
    system = {"nvue": "nvue", "sonic": "sonic"}.get(rare, "eos" if rare == "borders" else "")
    # The rails of a fabric are those of the group that is named first.
    served = [Attached(group, "backend") for group in compute]
    if backend == "roce":
        found.append(draw(ethernet("backend", 1, "roce", served[: 1 if chance(draw, 20) else None], system)))
    if backend == "infiniband":
        hosts = [Attached(group, "fabric") for group in others if group["name"] == "fabric-managers"]
        managers = [host.group["name"] for host in hosts] or ["compute"]
        found.append(draw(infiniband("backend", 1, served, managers)))
        if hosts:
            # Machines with few NICs stand in racks of their own, and take ports that are free.
            to = {"to": found[-1]["tiers"][0]["role"]} if chance(draw, 70) else {}
            found[-1]["attach"] += [{"nodes": host.group["name"], "nics": host.nics, **to} for host in hosts]
    if frontend:
        everybody = [Attached(group, "frontend") for group in [*compute, *others]]
        technology = "roce" if rare not in {"bonds", "borders"} and chance(draw, 15) else "ethernet"
        able = [each for each in everybody if technology in models()[each.group["model"]].technology]
        bonded = technology == "ethernet" and (rare == "bonds" or chance(draw, 15))
        found.append(draw(ethernet("frontend", 2, technology, able, system, bonded=bonded)))
    return found


@st.composite
def _management(draw: st.DrawFn, spec: Data) -> None:
    machines = sum(group["count"] for group in spec["nodes"])
    switches = sum(tier["count"] * 4 for fabric in spec["fabrics"] for tier in fabric["tiers"])
    names = [level["name"] for level in spec["nodes"][0]["levels"]]
    shared = [name for name in names if all(name in {each["name"] for each in g["levels"]} for g in spec["nodes"])]
    spec["fabrics"].append(draw(management(machines + switches, shared)))


@st.composite
def _software(draw: st.DrawFn, spec: Data) -> None:
    images = []
    ethernet_names = {
        attach.get("nodes")
        for fabric in spec["fabrics"]
        if fabric["technology"] != "infiniband"
        for attach in fabric["attach"]
    }
    if chance(draw, 90):
        images.append(draw(training_image()))
        for group in spec["nodes"]:
            if group["role"] == "node" and group["name"] in ethernet_names:
                group["image"] = "training"
    if chance(draw, 40):
        images.append(server_image())
        for group in spec["nodes"]:
            if group["role"] != "node" and models()[group["model"]].nic_groups[-1].nics[0].pci:
                group["image"] = "server"
    used = {group.get("image") for group in spec["nodes"]}
    if images := [image for image in images if image["name"] in used]:
        spec["images"] = images
    frontend = next((fabric for fabric in spec["fabrics"] if fabric["name"] == "frontend"), None)
    names = {group["name"] for group in spec["nodes"]}
    plain = frontend is not None and frontend["technology"] == "ethernet"
    # Where hosts share a subnet they have a gateway, and a relay.
    plain = plain and frontend is not None and frontend["addressing"]["host_links"] == "shared"
    if images and plain and "services" in names and chance(draw, 70):
        spec["boot"] = {"servers": "services", "fabric": "frontend"}


@st.composite
def _site(draw: st.DrawFn, spec: Data) -> None:
    fabrics = {fabric["name"]: fabric for fabric in spec["fabrics"]}
    front = access.way_out(spec)
    site = spec["site"]
    if front is not None and chance(draw, 80):
        version = access.version_of(front)
        site["dns"] = [access.site_server(version, 53)]
        site["ntp"] = [access.site_server(version, 123)]
        site["syslog"] = [access.site_server(version, 51)]
    if "management" in fabrics:
        version = access.version_of(fabrics["management"])
        site["management"] = {
            "dns": [access.operations_server(version, 53)],
            "ntp": [access.operations_server(version, 123)],
            "syslog": [access.operations_server(version, 51)],
        }
        if chance(draw, 30):
            site["aaa"] = {
                "protocol": draw(st.sampled_from(["tacacs", "radius"])),
                "servers": [access.operations_server(version, 49)],
                "secret": "aaa-key",
            }
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ops@example.net"
    if chance(draw, 50):
        site["operators"] = [{"name": "netops", "role": "admin", "keys": [key]}]
        if chance(draw, 50):
            site["operators"][0]["password"] = "netops-hash"
    if chance(draw, 25):
        site["snmp"] = {"user": "monitoring", "authentication": "snmp-auth", "privacy": "snmp-privacy"}
    if chance(draw, 20):
        site["telemetry"] = {"certificate": "gnmi-server", "authority": "gnmi-ca", "collectors": ["t.example.net"]}
        if chance(draw, 50):
            site["telemetry"]["port"] = 6030


@st.composite
def _split(draw: st.DrawFn, case: Case) -> Case:
    """The same cluster written as a base and what changes on it."""
    base, cluster = copy.deepcopy(case.cluster), {"extends": "base.yaml", "name": case.cluster["name"]}
    for section in ("jobs", "rollout", "scheduler", "nccl", "flows", "mounts"):
        if section in base and chance(draw, 50):
            cluster[section] = base.pop(section)
    if chance(draw, 50):
        group = base["nodes"][0]
        cluster["nodes"] = [{"name": group["name"], "count": group["count"]}]
        group["count"] = 1 if chance(draw, 50) else group["count"] + 1
    if chance(draw, 30):
        base["flows"] = [
            *base.get("flows", []),
            {"name": "gone", "from": "compute", "to": "compute", "protocol": "icmp", "reason": ASSUMED},
        ]
        cluster["flows"] = [*cluster.get("flows", []), {"name": "gone", "remove": True}]
    return replace(case, cluster=cluster, base=base)
