"""Generated zones and flows: zones that overlap in every way there is, and flows that say things twice.

Laid over small versions of the labs, so that whatever lint accepts can be rendered and proven in a second.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from clusterwright import data_files
from clusterwright.spec.text.extends import read_spec_document

Data = dict[str, Any]

BASES = ("lab-border", "lab-sonic", "lab-ib")
KINDS = ("compute", "storage", "management", "boot", "services", "production", "ingest-gateway", "internet", "other")
# Nested, side by side and far apart, in both IP versions.
PREFIXES = (
    "198.18.0.0/16", "198.18.0.0/24", "198.18.1.0/24", "198.19.7.7/32",
    "2001:db8:4000::/36", "2001:db8:4000::/48", "2001:db8:4001::/48", "2001:db8:7::7/128",
)  # fmt: skip
# Single ports, ranges that overlap and follow each other, and ranges too long for a chip that lists port by port. What
# a chip's tables hold is another question, so that the short ranges are short.
PORTS: tuple[int | str, ...] = (22, 22, 443, 4791, 53, "20-23", "22-25", "442-443", "1000-1001", "1000-2000", "1-65535")
UNUSED = ("mounts", "keys", "secrets", "datasets", "nccl", "scheduler", "jobs", "boot", "execution",
          "exceptions", "promises", "borders", "rollout")  # fmt: skip


@cache
def _base(name: str) -> str:
    """A lab without what else asks for flows: nobody is told to use a server, and nothing is mounted."""
    data = json.loads(json.dumps(read_spec_document(data_files.folder("inventory") / f"{name}.yaml").data))
    data = {key: value for key, value in data.items() if key not in {*UNUSED, "extends"}}
    site = data["site"]
    for key in ("dns", "ntp", "syslog"):
        site.pop(key, None)
    for group in data["nodes"]:
        group.pop("zone", None)
    for fabric in data["fabrics"]:
        if fabric["technology"] == "infiniband":
            fabric.pop("partitions", None)
    return json.dumps(data)


def _names(drawn: Any) -> list[str]:
    return [group["name"] for group in drawn["nodes"]]


@st.composite
def _zone(draw: st.DrawFn, name: str, groups: list[str], fabrics: list[str]) -> Data:
    zone: Data = {"name": name, "kind": draw(st.sampled_from(KINDS)), "isolated": draw(st.booleans())}
    shape = draw(st.sampled_from(("nodes", "nodes", "fabric", "prefixes", "mixed")))
    if shape in ("nodes", "mixed"):
        zone["nodes"] = draw(st.lists(st.sampled_from(groups), min_size=1, max_size=3, unique=True))
    if shape == "fabric" or (shape == "nodes" and draw(st.booleans())):
        zone["fabrics"] = draw(st.lists(st.sampled_from(fabrics), min_size=1, max_size=2, unique=True))
    if shape in ("prefixes", "mixed"):
        zone["prefixes"] = draw(st.lists(st.sampled_from(PREFIXES), min_size=1, max_size=3, unique=True))
    return zone


@st.composite
def _flow(draw: st.DrawFn, name: str, zones: list[str]) -> Data:
    protocol = draw(st.sampled_from(("tcp", "tcp", "udp", "icmp", "any")))
    flow: Data = {
        "name": name,
        "from": draw(st.sampled_from(zones)),
        "to": draw(st.sampled_from(zones)),
        "protocol": protocol,
        "reason": "generated",
        "owner": "tests",
    }
    if protocol in ("tcp", "udp") and draw(st.booleans()):
        flow["ports"] = draw(st.lists(st.sampled_from(PORTS), min_size=1, max_size=4))
    return flow


@st.composite
def zoned_specs(draw: st.DrawFn) -> Data:
    """The data of a spec with 2 to 5 zones and 1 to 6 flows, now and then with partitions, a border or promises."""
    name = draw(st.sampled_from(BASES))
    data: Data = copy.deepcopy(json.loads(_base(name)))
    groups = _names(data)
    fabrics = [fabric["name"] for fabric in data["fabrics"]]
    names = [f"z{number}" for number in range(draw(st.integers(2, 5)))]
    data["zones"] = [draw(_zone(zone, groups, fabrics)) for zone in names]
    for group in data["nodes"]:
        if draw(st.booleans()):
            group["zone"] = draw(st.sampled_from(names))
    flows = draw(st.integers(1, 6))
    data["flows"] = [draw(_flow(f"f{number}", names)) for number in range(flows)]
    _let_in(data)
    outside = [zone["name"] for zone in data["zones"] if set(zone) == {"name", "kind", "isolated", "prefixes"}]
    has_border = draw(st.booleans())
    if name == "lab-border" and outside and has_border:
        data["borders"] = [
            {"name": "owner", "device": "ssw-00", "port": "Ethernet6/36/1", "speed_gbps": 400, "asn": 64601,
             "address": "fd00:1ab:f:fffd::/127", "neighbour": "fd00:1ab:f:fffd::1",
             "zones": draw(st.lists(st.sampled_from(outside), min_size=1, max_size=2, unique=True)),
             "authentication": {"method": "tcp-ao", "secret": "bgp-owner"}}
        ]  # fmt: skip
    for fabric in data["fabrics"]:
        if fabric["technology"] == "infiniband":
            joined = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
            fabric["partitions"] = [
                {"name": f"p{number}", "pkey": 100 + number, "membership": "full", "zones": zones}
                for number, zones in enumerate((*([zone] for zone in names), joined))
            ]
    if draw(st.booleans()):
        kind = draw(st.sampled_from(("no-internet", "owner-only")))
        data["promises"] = [{"name": "P1", "promise": kind, "says": "The cluster is closed."}]
    return data


def _let_in(data: Data) -> None:
    """Nodes with an image need a flow that leads to them; there is one inside a zone of theirs, at the least."""
    for group in data["nodes"]:
        if "image" not in group:
            continue
        mine = [
            z["name"] for z in data["zones"] if group["name"] in z.get("nodes", ()) or group.get("zone") == z["name"]
        ]
        if not mine:
            mine = [group.setdefault("zone", data["zones"][0]["name"])]
        if not any(flow["to"] in mine for flow in data.setdefault("flows", [])):
            flow = {"name": f"into-{group['name']}", "from": mine[0], "to": mine[0], "protocol": "tcp", "ports": [22]}
            data["flows"].append({**flow, "reason": "generated", "owner": "tests"})


def without(data: Data, paths: Iterable[str]) -> Data:
    """The spec without the flows, promises, borders and partitions that findings point at."""
    found = copy.deepcopy(data)
    words = set(re.findall(r"(?:flows|promises|borders|partitions)\[([\w-]+)\]", " ".join(paths)))
    for owner in (found, *found["fabrics"]):
        for key in ("flows", "promises", "borders", "partitions"):
            if key in owner:
                owner[key] = [item for item in owner[key] if item["name"] not in words]
                if not owner[key]:
                    del owner[key]
    _let_in(found)
    return found


def written(data: Data, folder: Path) -> Path:
    """The spec in a file of its own."""
    file = folder / "spec.yaml"
    file.write_text(json.dumps(data, indent=1))
    return file
