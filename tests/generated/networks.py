"""Fabrics of a generated cluster: tiers that their switches can carry, by the figures of the real catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from tests.generated.machines import ASSUMED, chance, instances
from tests.generated.ports import carries, models, nics, ports_at, switches

Data = dict[str, Any]

_NEVER = ("dcs-7010tx-48", "dcs-7050sx3-48yc8", "ds5000-sonic")  # of copper; and one whose lanes nobody publishes
_ROLES = (("leaf", "spine", "core", "super"), ("rtsw", "ctsw", "atsw", "xtsw"), ("rsw", "fsw", "ssw", "bsw"))
_SPEEDS = {"infiniband": (200, 400, 800, 100), "roce": (400, 200, 100), "ethernet": (100, 200, 400)}


@dataclass(frozen=True)
class Attached:
    """A node group with the NICs of it that a fabric serves."""

    group: Data
    nics: str

    @property
    def count(self) -> int:
        """NICs of a node."""
        return nics(self.group["model"], self.nics)[0]

    @property
    def ports_of_gpu(self) -> int:
        """NICs beside one GPU."""
        group = models()[self.group["model"]].nic_group(self.nics)
        gpus = Counter(nic.gpu for nic in (group.nics if group is not None else ()) if nic.gpu is not None)
        return max(gpus.values(), default=1)

    @property
    def speed_gbps(self) -> int:
        """Speed of each."""
        return nics(self.group["model"], self.nics)[1]

    def nodes_in(self, place: str) -> int | None:
        """Nodes in the largest instance of a level; None when the group does not have that level."""
        return next((nodes for name, _, nodes in instances(self.group) if name == place), None)

    def instances_of(self, place: str) -> int:
        """How many instances of a level it has, 0 when it has no such level."""
        return next((count for name, count, _ in instances(self.group) if name == place), 0)


@dataclass
class _Below:
    """What the tier being built stands on: switches of each plane in all, and the links that each sends up."""

    place: str
    planes: int
    count: int
    links: int
    speed_gbps: int


@st.composite
def tiers(
    draw: st.DrawFn,
    name: str,
    technology: str,
    attached: Sequence[Attached],
    number: int,
    system: str = "",
    *,
    bonded: bool = False,
) -> list[Data]:
    """Tiers from the bottom up; the uppermost nearly always stands in the cluster. Their switches run ``system`` where
    one is named; hosts that are ``bonded`` have one switch each."""
    names = [level["name"] for level in attached[0].group["levels"]]
    depth = draw(st.sampled_from([1, 2, 2, 2, 3, 3, 4]))
    places = sorted((draw(st.sampled_from([*names, "cluster"])) for _ in range(depth)), key=[*names, "cluster"].index)
    if chance(draw, 95):
        places[-1] = "cluster"
    prefix = "gpu-" if chance(draw, 15) else ""
    roles = [f"{prefix}{role}" for role in _ROLES[{"backend": 0 if technology == "infiniband" else 1}.get(name, 2)]]
    found: list[Data] = []
    below: _Below | None = None
    railed = True
    for index, place in enumerate(places):
        joins = ["all", "all", *(["rail", "rail"] if railed else []), *(["position"] if index and below else [])]
        ports = attached[0].ports_of_gpu
        joins += ["port"] * 3 if index and ports > 1 and found[-1]["join"] in ("rail", "port") else []
        join = draw(st.sampled_from(joins if technology != "ethernet" or index else ["all"]))
        railed = join == "rail"
        planes = attached[0].count if railed else found[-1]["count"] if join == "position" else 1
        planes = ports if join == "port" else planes
        loads = _loads(attached, places[: index + 1], below, planes, join)
        count = draw(st.integers(1, min(4, max(1, sum(loads.values())))))
        if below is not None and chance(draw, 85):
            count = min(count, below.links)
        top = index == len(places) - 1
        single = bonded and any(_home(attachment, places) == place for attachment in attached)
        if single:
            count = 1
        own = system if (top if system == "eos" else index == 0) else ""
        model, count = _model(draw, technology, loads, count, not top, place, own, 1 if single else 16)
        tier: Data = {"role": roles[index], "model": model, "per": place, "join": join, "count": count}
        down = {speed: -(-load // count) for speed, load in loads.items()}
        if chance(draw, 50):
            tier["down"] = {"medium": draw(st.sampled_from(["dac", "aoc", "mmf"])), "length_m": draw(st.integers(1, 2))}
        if not top:
            tier["up"] = _up(draw, technology, model, down, attached)
            below = _Below(place, planes, count, tier["up"]["links"], tier["up"]["speed_gbps"])
        if technology != "infiniband":
            per = (
                draw(st.sampled_from(["tier", "switch"]))
                if top
                else draw(st.sampled_from(["switch", "switch", "group"]))
            )
            tier["asn"] = {"base": 4_200_000_000 + 1_000_000 * number + 100_000 * index + 100, "per": per}
        found.append(tier)
    return found


def _home(attached: Attached, places: Sequence[str]) -> str | None:
    """Where the lowest tier around a group's nodes stands."""
    return next((name for name in places if attached.nodes_in(name) is not None), None)


def _loads(
    attached: Sequence[Attached], places: Sequence[str], below: _Below | None, planes: int, join: str
) -> dict[int, int]:
    """Links from below that one plane of one instance of the tier at ``places[-1]`` gets, by their speed."""
    place = places[-1]
    loads: dict[int, int] = {}
    for attachment in attached:
        home = _home(attachment, places)
        nodes = attachment.nodes_in(place)
        if home != place or places.index(home) != len(places) - 1 or nodes is None:
            continue
        share = (
            nodes * attachment.count if planes == 1 or join == "position" else nodes * -(-attachment.count // planes)
        )
        before = loads.get(attachment.speed_gbps, 0)
        loads[attachment.speed_gbps] = before + share if place == "cluster" else max(before, share)
    if below is not None:
        around = []
        for attachment in attached:
            inner, outer = attachment.instances_of(below.place), attachment.instances_of(place)
            if inner and outer:
                around.append(-(-inner // outer) if below.place != place else 1)
        lowers = (
            sum(around) if place == "cluster" and below.place != "cluster" else max(around, default=1)
        ) * below.count
        if planes == 1 or join == "port":
            lowers = lowers * below.planes // planes
        elif join == "position":
            lowers //= below.count
        loads[below.speed_gbps] = loads.get(below.speed_gbps, 0) + max(1, lowers) * below.links
    return loads or {min(attachment.speed_gbps for attachment in attached): 1}


def _model(
    draw: st.DrawFn,
    technology: str,
    loads: dict[int, int],
    count: int,
    goes_on: bool,
    place: str,
    system: str,
    most: int,
) -> tuple[str, int]:
    """A switch that carries its share of the loads, with ports left for uplinks; and how many it takes."""
    tallest = 4 if place == "rack" else 60
    usual = [name for name in switches(technology) if models()[name].units <= tallest and name not in _NEVER]
    usual = [name for name in usual if models()[name].network_os == system] or usual
    for wanted in (count * times for times in (1, 2, 4, 8, 16) if times <= most):
        share = {speed: -(-load // wanted) + (1 if goes_on else 0) for speed, load in loads.items()}
        fitting = [name for name in usual if carries(name, share)]
        if fitting:
            # Large chassis fit everything: the others get a turn of their own.
            small = [name for name in fitting if ports_at(name, max(loads)) <= 80]
            return draw(st.sampled_from(small if small and chance(draw, 70) else fitting)), wanted
    return "dcs-7816r3" if technology != "infiniband" else "cs8500", count


def _up(draw: st.DrawFn, technology: str, model: str, down: dict[int, int], attached: Sequence[Attached]) -> Data:
    speeds = [speed for speed in _SPEEDS[technology] if ports_at(model, speed)]
    speed = draw(st.sampled_from(speeds[:2]))
    used = sum(load / max(1, ports_at(model, at)) for at, load in down.items())
    room = max(1, int((1 - used) * ports_at(model, speed)))
    links = draw(st.sampled_from([1, 2, 2, 3, 4, 4, 6, 8, 8, 16]))
    up: Data = {"links": min(links, room), "speed_gbps": speed}
    modes = sorted({mode.name for block in models()[model].blocks for mode in block.modes if mode.speed_gbps == speed})
    if chance(draw, 20):
        up["mode"] = draw(st.sampled_from(modes))
    if chance(draw, 70):
        up["medium"] = draw(st.sampled_from(["mmf", "smf", "aoc"]))
        up["length_m"] = draw(st.sampled_from([5, 20, 30, 30.5]))
    return up


@st.composite
def addressing(draw: st.DrawFn, number: int, version: int, *, shared: bool = False) -> Data:
    """Pools of one IP version that hold any cluster of this size; sometimes cut nearly to measure."""
    host_links = "shared" if shared else draw(st.sampled_from(["shared", "point-to-point"]))
    tight = chance(draw, 20)
    if version == 6:
        host_length = draw(st.sampled_from([64, 80, 112, 120])) if tight else 64
        return {
            "loopbacks": f"fd00:{number}:ffff::/{draw(st.sampled_from([64, 116, 121])) if tight else 64}",
            "links": f"fd00:{number}:fffe::/{draw(st.sampled_from([64, 112, 116])) if tight else 64}",
            "hosts": f"fd00:{number}::/{host_length - 7 if tight else 56}",
            "hosts_per_switch": host_length,
            "host_links": host_links,
        }
    host_length = draw(st.sampled_from([22, 23, 24])) if tight else 23
    return {
        "loopbacks": f"10.{number}.254.0/24",
        "links": f"10.{number}.240.0/21",
        "hosts": f"10.{number}.0.0/17",
        "hosts_per_switch": host_length,
        "host_links": host_links,
    }


@st.composite
def ethernet(
    draw: st.DrawFn,
    name: str,
    number: int,
    technology: str,
    attached: Sequence[Attached],
    system: str = "",
    *,
    bonded: bool = False,
) -> Data:
    """A routed fabric, with classes when it carries RDMA; where hosts are ``bonded``, by all of their NICs."""
    bond = {"bond": {"interface": "bond0", "rate": draw(st.sampled_from(["fast", "slow"]))}} if bonded else {}
    version = draw(st.sampled_from([4, 6, 6]))
    fabric: Data = {
        "name": name,
        "technology": technology,
        "mtu": draw(st.sampled_from([9000, 9000, 9214, 4200] if technology == "roce" else [9000, 1500, 9214])),
        "attach": [
            {"nodes": attachment.group["name"], "nics": attachment.nics, **(bond if attachment.count > 1 else {})}
            for attachment in attached
        ],
        "tiers": draw(tiers(name, technology, attached, number, system, bonded=bonded)),
        "addressing": draw(addressing(number, version, shared=bonded)),
    }
    if technology == "roce":
        fabric["classes"] = draw(_classes())
        if chance(draw, 30):
            fabric["pfc_watchdog"] = {"detection_ms": draw(st.sampled_from([200, 400])), "recovery_ms": 400}
    return fabric


@st.composite
def _classes(draw: st.DrawFn) -> list[Data]:
    lossless = draw(st.integers(1, 6))
    priority = lossless if chance(draw, 80) else draw(st.integers(1, 6))
    rdma: Data = {"name": "rdma", "dscp": ["24-27"], "queue": lossless, "priority": priority, "weight": 8}
    if chance(draw, 30):
        rdma |= {"ecn": "mark", "marking": {"min_kbytes": 150, "max_kbytes": 1500, "percent": 10}}
    found = [{"name": "default", "dscp": [], "queue": 0, "weight": draw(st.integers(1, 20))}, rdma]
    free = [queue for queue in range(1, 7) if queue not in {lossless, priority}]
    if chance(draw, 40):
        found.append({"name": "monitoring", "dscp": ["8-15", 20], "queue": draw(st.sampled_from(free)), "weight": 5})
    if chance(draw, 60):
        found.append({"name": "control", "dscp": [48, 56], "queue": 7, "strict": True})
    return found


@st.composite
def infiniband(draw: st.DrawFn, name: str, number: int, attached: Sequence[Attached], managers: Sequence[str]) -> Data:
    """A subnet with its manager."""
    engine = draw(st.sampled_from(["ftree", "updn", "minhop", "dfsssp"]))
    manager: Data = {"nodes": draw(st.sampled_from(managers)), "count": 1, "routing_engine": engine}
    if chance(draw, 25):
        manager |= {"kind": "ufm", "routing_engine": "ar_updn", "adaptive_routing": True, "sharp": chance(draw, 50)}
    if chance(draw, 30):
        manager["m_key"] = {"secret": "m-key", "protection": draw(st.integers(0, 3)), "lease_s": 60}
    if chance(draw, 20):
        manager["subnet_prefix"] = 0xFE80000000000001
    if chance(draw, 20):
        manager["default_membership"] = "limited"
    fabric: Data = {
        "name": name,
        "technology": "infiniband",
        "mtu": draw(st.sampled_from([4096, 4096, 2048])),
        "attach": [{"nodes": attachment.group["name"], "nics": attachment.nics} for attachment in attached],
        "tiers": draw(tiers(name, "infiniband", attached, number)),
        "subnet_manager": manager,
    }
    if chance(draw, 35):
        fabric["classes"] = [
            {"name": "default", "service_level": 0, "queue": 0, "weight": 4},
            {"name": "bulk", "service_level": 1, "queue": 1, "weight": 8, "arbitration": "low"},
        ]
    return fabric


@st.composite
def management(draw: st.DrawFn, devices: int, levels: Sequence[str]) -> Data:
    """The out-of-band network: one tier of copper switches, or two where access switches stand in smaller places."""
    number = 99
    wide = draw(st.sampled_from(["cluster", "cluster", *levels]))
    bottom: Data = {"role": "mgmt", "model": "dcs-7010tx-48", "per": wide, "count": -(-devices // 40)}
    bottom["asn"] = {"base": 4_290_000_000, "per": "switch"}
    found = [bottom]
    if wide != "cluster":
        bottom["up"] = {"links": draw(st.integers(1, 2)), "speed_gbps": 25}
        bottom["count"] = max(1, bottom["count"] // 4)
        top = {"role": "mgmtagg", "model": "dcs-7050sx3-48yc8", "per": "cluster", "count": 1}
        found.append({**top, "asn": {"base": 4_290_100_000, "per": "tier"}})
    elif bottom["count"] > 1:
        bottom["up"] = {"links": 2, "speed_gbps": 25}
        top = {"role": "mgmtagg", "model": "dcs-7050sx3-48yc8", "per": "cluster", "count": draw(st.integers(1, 2))}
        found.append({**top, "asn": {"base": 4_290_100_000, "per": "tier"}})
    pools = draw(addressing(number, draw(st.sampled_from([4, 4, 6]))))
    return {
        "name": "management",
        "technology": "ethernet",
        "mtu": 1500,
        "attach": [{"management": True}],
        "tiers": found,
        "addressing": {**pools, "host_links": "shared"},
        "assumed": ASSUMED,
    }


def has_management_port(model: str) -> bool:
    """Whether a device of this model is managed out of band."""
    return models()[model].management is not None
