"""Generated clusters: whole specs with hardware of their own, written to files and read by the real loader.

Two kinds. ``built_to_fit`` gives specs that anybody would accept: every switch has ports enough, every pool has
addresses enough. ``as_it_comes`` draws counts, ports and pools freely, so that lint refuses many.

Tests run under the profile ``ci`` of conftest.py, which draws the same examples every time. To look further:
``HYPOTHESIS_PROFILE=long pytest tests/plan`` draws 40 times as many, anew in each run, and makes
a failing one as small as it can.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

Data = dict[str, Any]

EXAMPLES = 120
SPEEDS = (100, 200, 400)
ASSUMED = "A figure of a generated example."
LEVELS = (("rack", "r"), ("pod", "p"), ("hall", "h"))
AMPLE_CAGES = 400


@dataclass(frozen=True)
class Case:
    """A generated cluster: the data of its spec and of the catalogue file that it brings along."""

    cluster: Data
    hardware: Data

    def write(self, folder: Path) -> Path:
        """Writes both into ``folder`` as YAML (of which JSON is a part); returns the spec's path."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "own-hardware.yaml").write_text(json.dumps(self.hardware, indent=1))
        path = folder / "cluster.yaml"
        path.write_text(json.dumps(self.cluster, indent=1))
        return path

    def with_exceptions(self, *exceptions: Data) -> Case:
        """The same cluster with exceptions of its own."""
        return Case(
            {**self.cluster, "exceptions": [{"reason": "generated", **item} for item in exceptions]}, self.hardware
        )

    def declaring(self, **figures: float) -> Case:
        """The same cluster, expecting these figures; ``__`` in a name stands for a dot."""
        expect = [
            {"figure": name.replace("__", "."), "value": value, "tolerance": 1e-9, "assumed": ASSUMED}
            for name, value in figures.items()
        ]
        return Case({**self.cluster, "expect": expect}, self.hardware)

    def with_cages(self, cages: dict[str, int]) -> Case:
        """The same cluster on plain switches with as many cages for each model as ``cages`` says."""
        models = [
            {**model, "ports": [_plain_block(cages[model["name"]])]} if model["name"] in cages else model
            for model in self.hardware["models"]
        ]
        return Case(self.cluster, {**self.hardware, "models": models})

    def tier_models(self, fabric: str) -> list[str]:
        """Names of the models of a fabric's tiers, from the bottom up."""
        found = next(item for item in self.cluster["fabrics"] if item["name"] == fabric)
        return [tier["model"] for tier in found["tiers"]]


def _figure(value: float) -> Data:
    return {"value": value, "assumed": ASSUMED}


def _model(name: str, kind: str, technology: str, units: float) -> Data:
    return {
        "name": name,
        "kind": kind,
        "manufacturer": "Example",
        "part": name,
        "technology": [technology] if technology == "infiniband" else ["ethernet", "roce"],
        "units": _figure(units),
        "power_w": _figure(500),
        "weight_kg": _figure(10),
    }


def _mode(name: str, speed: int, subports: list[str], **more: str) -> Data:
    return {"name": name, "speed_gbps": speed, "subports": subports, **more}


def _block(name: str, cages: str, *modes: Data) -> Data:
    return {"block": name, "cages": cages, "connector": "osfp", "modes": list(modes), "assumed": ASSUMED}


def _plain_block(cages: int) -> Data:
    return _block("ports", f"p[1-{cages}]", *(_mode(f"1x{speed}", speed, [""]) for speed in SPEEDS))


def _split_blocks(cages: int) -> list[Data]:
    """Cages that break out: at 200G into two, at 100G into four."""
    modes = (
        _mode("1x400", 400, ["/1"]),
        _mode("2x200", 200, ["/1", "/5"]),
        _mode("4x100", 100, ["/1", "/3", "/5", "/7"]),
    )
    return [_block("ports", f"p[1-{cages}]", *modes)]


def _excluding_blocks(cages: int) -> list[Data]:
    """Pairs of cages: at 400G the odd one takes the lanes of the even one beside it."""
    odd = (_mode("1x400", 400, ["/1"], disables="even"), _mode("1x200", 200, ["/1"]), _mode("1x100", 100, ["/1"]))
    even = (_mode("1x200", 200, ["/1"]), _mode("2x100", 100, ["/1", "/3"]))
    return [_block("odd", f"o[1-{cages}]", *odd), _block("even", f"e[1-{cages}]", *even)]


def _halved_blocks(cages: int) -> list[Data]:
    """Cards that breakouts and plain cages are dealt to, for sides that name their blocks."""
    modes = (_mode("1x400", 400, ["/1"]), _mode("1x200", 200, ["/1"]), _mode("2x100", 100, ["/1", "/2"]))
    return [_block("card[1-2]", f"c[1-2]/[1-{cages}]", *modes)]


_SHAPES = (lambda cages: [_plain_block(cages)], _split_blocks, _excluding_blocks, _halved_blocks)


@st.composite
def _switches(draw: st.DrawFn, names: list[str], technology: str, ample: bool) -> list[Data]:
    """One model of switch for each name."""
    found = []
    for name in names:
        cages = AMPLE_CAGES if ample else draw(st.integers(1, 99))
        model = _model(name, "switch", technology, draw(st.sampled_from([1, 1, 2, 4.5, 0, 10])))
        model["ports"] = draw(st.sampled_from(_SHAPES))(cages)
        # SONiC's ports are those of a platform; tests/generated draws its models from the catalogue.
        model["network_os"] = "unmanaged" if technology == "infiniband" else "eos"
        if model["network_os"] == "eos":
            model["asic"] = "tomahawk5"  # which takes a seed for each of six tiers, and names its queues
        if draw(st.booleans()):
            model["management"] = {"name": "mgmt0", "speed_gbps": 1, "assumed": ASSUMED}
        found.append(model)
    return found


@st.composite
def _node_model(draw: st.DrawFn, name: str, technology: str, rails: int) -> Data:
    model = _model(name, "node", technology, draw(st.sampled_from([1, 2, 2.5, 0.5])))
    model["technology"] = ["ethernet", "roce", "infiniband"]
    model["management"] = {"name": "bmc", "speed_gbps": 1, "assumed": ASSUMED}
    if draw(st.booleans()):
        model["gpus"] = {"count": rails, "model": "gpu", "memory_gb": 80, "assumed": ASSUMED}
    groups = (("backend", "be", rails, draw(st.sampled_from(SPEEDS))), ("frontend", "fe", draw(st.integers(1, 2)), 100))
    model["nics"] = [
        {
            "group": group,
            "speed_gbps": speed,
            "assumed": ASSUMED,
            "devices": [{"interface": f"{letters}{nic}"} for nic in range(count)],
        }
        for group, letters, count, speed in groups
    ]
    return model


@st.composite
def _levels(draw: st.DrawFn, depth: int, largest: int) -> list[Data]:
    """Grouping levels from the rack up; numbers run on through the cluster or begin anew in each larger group."""
    levels = []
    for index in range(depth):
        name, code = LEVELS[index]
        level: Data = {"name": name, "of": draw(st.integers(1, largest)), "code": code}
        if index + 1 < depth and draw(st.booleans()):
            level["within"] = draw(st.sampled_from([*(name for name, _ in LEVELS[index + 1 : depth]), "cluster"]))
        levels.append(level)
    return levels


@st.composite
def _tiers(draw: st.DrawFn, technology: str, models: list[str], levels: list[str], ample: bool) -> list[Data]:
    """One tier for each model, from the bottom up, each at its level or a larger one than the tier below."""
    places = [*levels, "cluster"]
    at = draw(st.integers(0, len(places) - 1))
    tiers: list[Data] = []
    railed = True
    for depth, model in enumerate(models):
        top = depth == len(models) - 1
        at = len(places) - 1 if top else draw(st.integers(at, len(places) - 1))
        joins = ["all", *(["rail"] if railed else []), *(["position"] if depth else [])]
        join = draw(st.sampled_from(joins))
        railed = join == "rail"
        tier: Data = {
            "role": f"tier{depth}",
            "model": model,
            "per": places[at],
            "join": join,
            "count": draw(st.integers(1, 3)),
        }
        if not top:
            links = draw(st.integers(1, 7))
            tier["up"] = {"links": links, "speed_gbps": draw(st.sampled_from(SPEEDS)), "medium": "mmf", "length_m": 30}
        if technology != "infiniband":
            per = draw(st.sampled_from(["switch", "group", "tier"]))
            # Below the top, switches that share a number drop each other's routes.
            tier["asn"] = {"base": 4_200_000_000 + 100_000 * depth, "per": per if top or not ample else "switch"}
        tiers.append(tier)
    if ample:
        for lower, upper in pairwise(tiers):
            # No plane may have more switches than links from below reach, or some would stay dark.
            upper["count"] = min(upper["count"], lower["up"]["links"])
    return tiers


@st.composite
def _addressing(draw: st.DrawFn, number: int, ample: bool) -> Data:
    shared = draw(st.booleans())
    host_links = "shared" if shared else "point-to-point"
    if draw(st.booleans()):
        hosts, subnet, loopbacks, links = (48, 64, 64, 64) if ample else draw(st.tuples(*[st.integers(60, 127)] * 4))
        return {
            "loopbacks": f"fd00:{number}:1::/{loopbacks}",
            "links": f"fd00:{number}:2::/{links}",
            "hosts": f"fd01:{number}::/{hosts}",
            "hosts_per_switch": subnet,
            "host_links": host_links,
        }
    hosts, subnet, loopbacks, links = (10, 20, 16, 16) if ample else draw(st.tuples(*[st.integers(18, 31)] * 4))
    return {
        "loopbacks": f"10.{number}.0.0/{loopbacks}",
        "links": f"10.{64 + number}.0.0/{links}",
        "hosts": f"{20 + number}.64.0.0/{hosts}",
        "hosts_per_switch": subnet,
        "host_links": host_links,
    }


@st.composite
def _fabric(
    draw: st.DrawFn, name: str, number: int, technology: str, attach: list[Data], tiers: list[Data], ample: bool
) -> Data:
    fabric: Data = {
        "name": name,
        "technology": technology,
        "attach": attach,
        "tiers": tiers,
        "mtu": 4096 if technology == "infiniband" else 9000,
    }
    if technology == "infiniband":
        fabric["subnet_manager"] = {"nodes": attach[0]["nodes"], "count": 1, "routing_engine": "updn"}
    else:
        fabric["addressing"] = draw(_addressing(number, ample or draw(st.integers(0, 7)) > 0))
    if technology == "roce":
        fabric["classes"] = [
            {"name": "default", "dscp": [], "queue": 0, "weight": 5},
            {"name": "rdma", "dscp": [50], "queue": 2, "priority": 2, "weight": 8},
        ]
    return fabric


@st.composite
def _cases(draw: st.DrawFn, ample: bool) -> Case:
    technology = draw(st.sampled_from(["roce", "ethernet", "infiniband"]))
    depth = draw(st.integers(1, 3))
    rails = draw(st.integers(1, 5))
    largest = 4 if ample else 6
    groups: list[Data] = []
    models: list[Data] = []
    for number in range(draw(st.integers(1, 3))):
        model = f"node{number}"
        models.append(draw(_node_model(model, technology, rails if number == 0 else draw(st.integers(1, 5)))))
        groups.append(
            {
                "name": f"group{number}",
                "role": "node",
                "model": model,
                "count": draw(st.integers(1, 30 if number == 0 else 9)),
                "prefix": f"n{'abc'[number]}",
                "levels": draw(_levels(depth if number == 0 else draw(st.integers(1, depth)), largest)),
            }
        )
    names = [f"switch{index}" for index in range(draw(st.integers(1, 4)))]
    models += draw(_switches(names, technology, ample))
    levels = [level["name"] for level in groups[0]["levels"]]
    attach = [{"nodes": group["name"], "nics": "backend"} for group in groups]
    tiers = draw(_tiers(technology, names, levels, ample))
    fabrics = [draw(_fabric("backend", 1, technology, attach, tiers, ample))]
    if draw(st.booleans()):
        models += draw(_switches(["front-switch"], "ethernet", ample))
        fabrics.append(draw(_second("frontend", 2, [{**item, "nics": "frontend"} for item in attach], levels, ample)))
    if draw(st.booleans()):
        manager = _model("manager", "switch", "ethernet", 1)
        manager["ports"] = [_block("ports", f"m[1-{AMPLE_CAGES}]", _mode("1x1", 1, [""]))]
        models.append({**manager, "network_os": "eos"})
        fabrics.append(draw(_second("management", 3, [{"management": True}], levels, ample)))
        if ample:  # links of two are refused there (CW254)
            fabrics[-1]["addressing"]["host_links"] = "shared"
    cluster = {
        "version": 1,
        "name": "generated",
        "hardware": ["own-hardware.yaml"],
        "site": {"domain": "example.net", "rack_units": draw(st.sampled_from([42, 48, 60]))},
        "nodes": groups,
        "fabrics": [{**fabric, "accepts_single_failures": ASSUMED} for fabric in fabrics],
    }
    return Case(cluster, {"version": 1, "kind": "hardware", "models": models})


@st.composite
def _second(draw: st.DrawFn, name: str, number: int, attach: list[Data], levels: list[str], ample: bool) -> Data:
    """A fabric of one tier: the frontend, or the management network."""
    tier = {
        "role": name,
        "model": "manager" if name == "management" else "front-switch",
        "per": "cluster" if ample else draw(st.sampled_from([*levels, "cluster"])),
        "count": 1 if ample else draw(st.integers(1, 3)),
        "asn": {"base": 4_210_000_000 + number, "per": "tier"},
    }
    return draw(_fabric(name, number, "ethernet", attach, [tier], ample))


def built_to_fit() -> st.SearchStrategy[Case]:
    """Clusters with ports and addresses enough. Some still have a dark switch, a tier in a level without nodes, ..."""
    return _cases(ample=True)


def as_it_comes() -> st.SearchStrategy[Case]:
    """Clusters that may or may not be buildable."""
    return _cases(ample=False)
