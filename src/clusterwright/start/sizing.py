"""How many switches of which kind carry a wished cluster: tiers by radix and oversubscription.

Nothing here counts cages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import ceil

from clusterwright.plan.ports import capacity
from clusterwright.spec.hardware.models import Catalogue, HardwareModel
from clusterwright.spec.hardware.systems import system_of
from clusterwright.start.fit import fits, shares, speeds
from clusterwright.start.wish import CannotSizeError, SizedTier, Sizing, Wish

RACK_UNITS = 42  # of a rack where the site says nothing
MOST_NODES_IN_RACK = 4  # about 40 kW of eight-GPU nodes
_MOST_SERVERS_IN_RACK = 8
_SERVICES = 2  # schedulers, boot and log servers: one may fail
_STORAGE = 2
_MORE_OVERSUBSCRIBED = (2, 4, 16)
_LOWEST_SWITCH_UNITS = 4  # taller ones stand in rows, not in racks of nodes
_ACCESS = "dcs-7010tx-48"  # copper for BMCs and management ports
_ABOVE = ("dcs-7050sx3-48yc8", "sn4700-sonic", "as9736-64d-sonic")  # what joins these: 80, 128 and 256 of them
_MANAGEMENT_GBPS = 25


def size(wish: Wish, catalogue: Catalogue, service: HardwareModel) -> Sizing:
    """The smallest cluster, in rack units of switches, that is what ``wish`` says; services run on ``service``.

    Raises CannotSizeError, with the reason.
    """
    front = wish.node_model.nic_group("frontend")
    if front is None or wish.node_model.nic_group("backend") is None:
        raise CannotSizeError(
            f"{wish.node_model.name} has no NIC groups called backend and frontend, which init joins to networks."
            " Name another --node-model, or copy a reference with --from."
        )
    groups = [(wish.node_model, 0), (service, _SERVICES), *([(wish.storage, _STORAGE)] if wish.storage else [])]
    leaf = wish.switches[0] if wish.switches else None
    backend, rack, racks = _backend(wish, catalogue)
    frontend = _frontend(
        [(model, min(count, _MOST_SERVERS_IN_RACK) if count else rack) for model, count in groups],
        _racks(wish, rack) + len(groups) - 1,
        catalogue,
        backend[0].model if leaf is None else leaf,
    )
    devices = wish.nodes + sum(count for _, count in groups) + sum(stage.switches for stage in (*backend, *frontend))
    storage = _STORAGE if wish.storage else 0
    return Sizing(
        backend=backend,
        frontend=frontend,
        management=management_tiers(devices, catalogue),
        rack_nodes=rack,
        pod_racks=racks,
        storage_count=storage,
        service_count=_SERVICES,
    )


def _backend(wish: Wish, catalogue: Catalogue) -> tuple[tuple[SizedTier, ...], int, int]:
    """Tiers for the GPUs' NICs, nodes of a rack, racks of a pod: with the wanted switches, or those that take least
    room."""
    candidates = _fabrics(wish, catalogue)
    if not candidates:
        raise CannotSizeError(f"{_in_the_way(wish, catalogue)} {_instead(wish, catalogue)}")
    return min(candidates, key=lambda candidate: sum(stage.switches * stage.model.units for stage in candidate[0]))


def _fabrics(wish: Wish, catalogue: Catalogue) -> list[tuple[tuple[SizedTier, ...], int, int]]:
    ladders = [wish.switches] if wish.switches else [(model,) for model in _switches(wish, catalogue)]
    return list(chain.from_iterable(_ladders(wish, *_rungs(ladder)) for ladder in ladders))


def _switches(wish: Wish, catalogue: Catalogue) -> list[HardwareModel]:
    return [model for model in catalogue.values() if model.blocks and wish.fabric in model.technology]


def _rungs(ladder: tuple[HardwareModel, ...]) -> tuple[HardwareModel, HardwareModel, HardwareModel]:
    """The models of leaves, spines and cores."""
    leaf, spine, core = (ladder[min(at, len(ladder) - 1)] for at in range(3))
    return leaf, spine, core


def _racks(wish: Wish, rack: int) -> int:
    """Racks of ``rack`` nodes, each with nodes of one group."""
    return sum(ceil(group.count / rack) for group in wish.groups)


def _in_the_way(wish: Wish, catalogue: Catalogue) -> str:
    """Why no fabric was found."""
    node = wish.node_model.name
    rails, speed = _nics(wish)
    if not any(capacity(model, (), speed) for model in wish.switches[:1] or _switches(wish, catalogue)):
        who = wish.switches[0].name if wish.switches else f"No {wish.fabric} switch of the catalogue"
        return f"{who} has {'no ' if wish.switches else ''}ports of {speed}G, which the NICs of {node} have."
    tiers, names = "three" if wish.rails else "two", f"any {wish.fabric} switch of the catalogue"
    beyond = ""
    if wish.switches:
        leaf, spine, core = _rungs(wish.switches)
        if leaf.kind == "director":
            return f"{leaf.name} is a director, which has no switch above it: it can be a spine, and is no leaf."
        shared, ups = speeds(leaf, spine, speed), _uplinks(wish, leaf, spine)
        if not ups:
            if shared:
                met = " and ".join(f"{rate}G" for rate in shared)
                return (
                    f"{leaf.name} meets {spine.name} at {met} alone, and uplinks on InfiniBand are as fast as the NICs"
                    f" of {node}, {speed}G."
                )
            return f"{leaf.name} and {spine.name} share no speed at which port meets port lane by lane."
        if wish.rails and spine.kind == "director":
            tiers, beyond = "two", f", and above {spine.name}, a director, there is no third"
        elif wish.rails and not any(capacity(core, (), up) for up in ups):
            need = " or ".join(f"{up}G" for up in ups)
            tiers, beyond = "two", f", and {core.name}, named for a third, has no ports of {need}"
        used = wish.switches[: 2 if tiers == "two" else 3]
        names = " and ".join(dict.fromkeys(model.name for model in used))
    shape = f"{tiers} tiers, a leaf for each {'rail' if wish.rails else 'rack'},"
    return (
        f"{wish.nodes} {node} with {rails} NICs of {speed}G do not fit on {shape} of {names} at"
        f" 1:{wish.oversubscription:g}{beyond}."
    )


def _instead(wish: Wish, catalogue: Catalogue) -> str:
    """What to say instead: flags with which a fabric is found, each tried."""
    more = (ratio for ratio in _MORE_OVERSUBSCRIBED if ratio > wish.oversubscription)
    enough = next((ratio for ratio in more if _fabrics(replace(wish, oversubscription=ratio), catalogue)), None)
    able = [] if enough is None else [f"with --oversubscription {enough}"]
    others = [("with --rails", replace(wish, rails=True))] if not wish.rails else []
    if wish.switches:
        others.append(("with switches of init's choice, without --switch-model", replace(wish, switches=())))
    able += [how for how, other in others if _fabrics(other, catalogue)]
    if able:
        return f"The nodes fit {', or '.join(able)}; `clusterwright models` lists switches with their ports."
    most = _MORE_OVERSUBSCRIBED[-1]
    if _fabrics(replace(wish, switches=(), rails=True, oversubscription=most), catalogue):
        return f"The nodes fit with --rails and --oversubscription {most} alone, without --switch-model."
    return "No switches of the catalogue carry them: take fewer --nodes, or another --node-model or --fabric."


def _nics(wish: Wish) -> tuple[int, int]:
    """NICs of a node on the GPUs' fabric, and their speed in Gb/s."""
    group = wish.node_model.nic_group("backend")
    return (len(group.nics), group.speed_gbps) if group else (0, 0)


def _uplinks(wish: Wish, leaf: HardwareModel, spine: HardwareModel) -> list[int]:
    """Speeds that uplinks may have: on InfiniBand lint and proofs count them against adapters, whatever their
    speeds."""
    _, speed = _nics(wish)
    return [up for up in speeds(leaf, spine, speed) if wish.fabric != "infiniband" or up == speed]


def _ladders(
    wish: Wish, leaf: HardwareModel, spine: HardwareModel, core: HardwareModel
) -> Iterator[tuple[tuple[SizedTier, ...], int, int]]:
    """Every way to build the tiers of these models: one for each speed of the uplinks and number of tiers."""
    rails, speed = _nics(wish)
    height = ceil(wish.node_model.units)
    if leaf.kind == "director":  # a director has no switch above it
        return
    for up in _uplinks(wish, leaf, spine):
        ratio = speed / (wish.oversubscription * up)
        space = RACK_UNITS - _LOWEST_SWITCH_UNITS - (0 if wish.rails else ceil(leaf.units))
        largest = wish.groups[0].count  # a rack and a pod have nodes of one tenant
        domain = wish.node_model.nvlink_domain_nodes
        rack = min(largest, domain or MOST_NODES_IN_RACK, space // height)
        ports = 1 if wish.rails else rails  # ports of a node on one leaf
        most = min(largest if wish.rails else rack, capacity(leaf, (), speed) // ports)
        widest = next(
            (n for n in range(most, 0, -1) if fits(leaf, [(speed, n * ports)], up, max(2, ceil(n * ports * ratio)))),
            0,
        )
        if not widest or (domain is not None and widest < rack):
            continue  # an NVLink domain is a rack as it is sold
        racks = ceil(largest / min(rack, widest))
        if domain is None:
            rack = ceil(largest / racks)  # filled alike
        if wish.rails:
            pods = 1 if widest >= largest else ceil(racks / (widest // rack))
            pod_racks = ceil(racks / pods)
            pods = sum(ceil(ceil(group.count / rack) / pod_racks) for group in wish.groups)
            leaves, down = rails * pods, min(largest, pod_racks * rack)
        else:
            pod_racks, leaves, down = racks, _racks(wish, rack), rack * rails
        links = max(2, ceil(down * ratio))
        for up_links in range(links, 2 * links):
            if not fits(leaf, [(speed, down)], up, up_links):
                break
            per, join = ("pod", "rail") if wish.rails else ("rack", "all")
            lowest = SizedTier(
                role="leaf",
                model=leaf,
                per=per,
                join=join,
                count=1,
                switches=leaves,
                up_links=up_links,
                up_speed_gbps=up,
            )
            two = _spines(lowest, spine)
            if two is not None:
                yield two, rack, pod_racks
                break
            if wish.rails and (three := _planes(lowest, rails, spine, core)) is not None:
                yield three, rack, pod_racks
                break


def _spines(leaf: SizedTier, spine: HardwareModel) -> tuple[SizedTier, ...] | None:
    """Leaves under spines that every leaf reaches with equally many links; None where no spine has so many ports."""
    for count in shares(leaf.up_links):
        if not _fills_chips(spine, leaf.up_links // count):
            continue
        if fits(spine, [(leaf.up_speed_gbps, leaf.switches * leaf.up_links // count)], 0, 0):
            return leaf, SizedTier(role="spine", model=spine, per="cluster", join="all", count=count, switches=count)
    return None


def _fills_chips(director: HardwareModel, links: int) -> bool:
    """Whether every switch with so many ``links`` to a director ends on as many of its chips as the others (CW246)."""
    front = director.chips.external if director.chips else links
    return not (front % links and links % front)


def _planes(leaf: SizedTier, rails: int, spine: HardwareModel, core: HardwareModel) -> tuple[SizedTier, ...] | None:
    """Leaves under spines of their own rail, these under cores that join the rails; None where ports are too few."""
    speed = leaf.up_speed_gbps
    if spine.kind == "director":
        return None
    for count in shares(leaf.up_links):
        down = leaf.switches // rails * leaf.up_links // count
        if not fits(spine, [(speed, down)], speed, down):
            continue
        for cores in shares(down):
            if fits(core, [(speed, rails * down // cores)], 0, 0):
                middle = SizedTier(
                    role="spine",
                    model=spine,
                    per="cluster",
                    join="rail",
                    count=count,
                    switches=rails * count,
                    up_links=down,
                    up_speed_gbps=speed,
                )
                return (
                    leaf,
                    middle,
                    SizedTier(
                        role="core", model=core, per="cluster", join="position", count=cores, switches=count * cores
                    ),
                )
    return None


def needs_chip_settings(model: HardwareModel) -> bool:
    """Whether a switch starts only with settings that its vendor gives out (CW434)."""
    system = system_of(model)
    return system is not None and system.needs_chip_settings


def _frontend(
    racks: Sequence[tuple[HardwareModel, int]], count: int, catalogue: Catalogue, beside: HardwareModel
) -> tuple[SizedTier, ...]:
    """A leaf for each of ``count`` racks, each kind of them given by its machines, under two spines.

    Systems that the backend's leaves run come first, then low switches. Raises CannotSizeError.
    """
    loads = []
    for model, machines in racks:
        nics = model.nic_group("frontend")
        if nics is None or "ethernet" not in model.technology:
            raise CannotSizeError(f"{model.name} has no frontend NICs for an Ethernet fabric. Name another model.")
        loads.append((nics.speed_gbps, len(nics.nics) * machines))
    able = [model for model in catalogue.values() if model.blocks and "ethernet" in model.technology]
    able.sort(key=lambda model: (model.network_os != beside.network_os, needs_chip_settings(model), model.units))
    for leaf in able:
        if leaf.units > _LOWEST_SWITCH_UNITS:
            continue
        for spine in able:
            for speed in speeds(leaf, spine, 400):
                if all(fits(leaf, [load], speed, 2) for load in loads) and fits(spine, [(speed, count)], 0, 0):
                    lowest = SizedTier(
                        role="rsw",
                        model=leaf,
                        per="rack",
                        join="all",
                        count=1,
                        switches=count,
                        up_links=2,
                        up_speed_gbps=speed,
                    )
                    return lowest, SizedTier(role="ssw", model=spine, per="cluster", join="all", count=2, switches=2)
    raise CannotSizeError(f"No Ethernet switches of the catalogue serve {count} racks of the frontend.")


def management_tiers(devices: int, catalogue: Catalogue) -> tuple[SizedTier, ...]:
    """Copper switches for the management ports of ``devices``, under two that join them. Raises CannotSizeError."""
    access = catalogue[_ACCESS]
    ports = capacity(access, (), 1)
    if devices <= ports:
        return (SizedTier(role="mgmt", model=access, per="cluster", join="all", count=1, switches=1),)
    # Those above, and the access switches themselves, are managed too.
    count = ceil((devices + 2) / (ports - 2))
    able = (catalogue[name] for name in _ABOVE)
    above = next((model for model in able if fits(model, [(_MANAGEMENT_GBPS, count)], 0, 0)), None)
    if above is None:
        raise CannotSizeError(f"{devices} devices need {count} management switches, more than two {_ABOVE[-1]} join.")
    lowest = SizedTier(
        role="mgmt",
        model=access,
        per="cluster",
        join="all",
        count=count,
        switches=count,
        up_links=2,
        up_speed_gbps=_MANAGEMENT_GBPS,
    )
    return lowest, SizedTier(role="mgmtagg", model=above, per="cluster", join="all", count=2, switches=2)
