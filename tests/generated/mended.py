"""What lint asks of a generated spec and any architect would do at once: declare, enlarge, leave out."""

from __future__ import annotations

import copy
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.generated.specs import Case

from clusterwright.finding import Finding, Severity
from clusterwright.plan.build import build_plan
from clusterwright.plan.figures import figures
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

Data = dict[str, Any]

ROUNDS = 12
_UNDECLARED = {"CW203", "CW204", "CW219", "CW224"}
_UNEVEN = {"CW219", "CW224"}  # units with less than the whole tier has: a tolerance covers them
_MODES = {side: re.compile(rf"`{side}: {{mode: (\S+)}}` for (\S+?)[ .]") for side in ("up", "down")}
_TIER = re.compile(r"fabrics\[([^]]+)\]\.tiers\[([^]]+)\]")


def mended(case: Case, folder: Path) -> tuple[Case, tuple[Finding, ...]]:
    """The case after at most ROUNDS answers of lint were followed, and what lint then finds; written to ``folder``."""
    for _ in range(ROUNDS):
        findings = lint_path(case.write(folder)).findings
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        better = _followed(case, errors, folder) if errors else None
        if better is None:
            return case, findings
        case = better
    return case, lint_path(case.write(folder)).findings


def troubled(case: Case, folder: Path) -> Case:
    """A clean case with what it is to have out of service: devices and ports of its own plan, as ``case`` has drawn."""
    if not case.trouble:
        return case
    plan = build_plan(load_spec(case.write(folder)))
    exceptions: list[Data] = []
    for kind, number in case.trouble:
        cable = plan.cables[number % len(plan.cables)]
        device = plan.devices[number % len(plan.devices)].name
        if kind == "port":
            end = cable.b if number % 2 else cable.a
            where = {"device": end.device, "port": end.port, "state": "out-of-service"}
        elif kind == "group":
            where = {"group": plan.groups[number % len(plan.groups)].name, "state": "out-of-service"}
        else:
            where = {"device": device, "state": kind}
        if not any(exception.items() >= {"device": where.get("device")}.items() for exception in exceptions):
            exceptions.append({**where, "reason": "generated"})
    return case.changed(exceptions=exceptions)


def promised(case: Case, errors: list[Finding], folder: Path) -> Case | None:
    """The case, lying in ``folder``, that declares what it oversubscribes; None where that is not all that is asked."""
    if not {error.code for error in errors} <= _UNDECLARED:
        return None
    spec = load_spec(folder / "cluster.yaml")
    known = figures(spec, build_skeleton(spec))
    over = [(name, value) for name, value in known.items() if name.startswith(("oversubscription.", "narrowest."))]
    # Planned figures are promised as they are, or within what covers the narrowest unit.
    tolerance = 0.5 if {error.code for error in errors} & _UNEVEN and case.cluster.get("expect") else 1e-9
    if {each["tolerance"] for each in case.cluster.get("expect", ())} == {0.5}:
        return None
    expect = [
        {"figure": name, "value": value, "tolerance": tolerance, "assumed": "It is drawn."} for name, value in over
    ]
    return case.changed(expect=expect)


def _followed(case: Case, errors: list[Finding], folder: Path) -> Case | None:
    """The case with what is known to help done; None when nothing is."""
    if {error.code for error in errors} <= _UNDECLARED:
        return promised(case, errors, folder)
    new = copy.deepcopy(case)
    done = [_mend(part, error) for error in errors for part in (new.base, new.cluster) if part is not None]
    return new if any(done) else None


def _mend(spec: Data, error: Finding) -> bool:
    """Changes ``spec`` as one error asks; False where that is not known, or the error is not in this file."""
    if error.code == "CW701":
        return _with_room_in_racks(spec)
    if error.code in _OF_A_SECTION:
        return _OF_A_SECTION[error.code](spec, error)
    if error.code in {"CW247", "CW513"}:
        return _mend_flow(spec, error)
    match = _TIER.match(error.path or "")
    fabric = next((each for each in spec.get("fabrics", ()) if match and each["name"] == match[1]), None)
    tier = next((each for each in fabric["tiers"] if match and each["role"] == match[2]), None) if fabric else None
    if tier is None:
        return False
    if error.code == "CW201" and (error.path or "").endswith("up.links") and tier["up"]["links"] > 1:
        tier["up"]["links"] //= 2
    elif error.code == "CW201" and tier["count"] < 64:
        tier["count"] *= 2
    elif error.code == "CW207" and tier["count"] > 1:
        tier["count"] -= max(1, tier["count"] // 4)
    elif error.code in {"CW214", "CW221", "CW223", "CW229"} and fabric is not None:
        return _fabric_mended(fabric, error)
    elif error.code == "CW309":
        tier["asn"]["per"] = "switch"
    else:
        return False
    return True


def _with_room_in_racks(spec: Data) -> bool:
    """Puts fewer nodes into a rack; where it has one alone, makes racks higher."""
    levels = [group["levels"][0] for group in spec.get("nodes", ()) if group.get("levels", [{"of": 1}])[0]["of"] > 1]
    for level in levels:
        level["of"] -= 1
    if not levels and spec.get("site", {}).get("rack_units", 60) < 60:
        spec["site"]["rack_units"] = 60
        return True
    return bool(levels)


def _watched(spec: Data, error: Finding) -> bool:
    """Lets a fabric's watchdog look as often as any system can."""
    named = re.match(r"fabrics\[([^]]+)\]\.pfc_watchdog", error.path or "")
    fabric = next((each for each in spec.get("fabrics", ()) if named and each["name"] == named[1]), None)
    if fabric is not None:
        fabric["pfc_watchdog"] = {"detection_ms": 400, "recovery_ms": 400}
    return fabric is not None


def _apart(spec: Data, error: Finding) -> bool:
    """Gives each zone of an InfiniBand fabric a partition; False where it has some."""
    named = re.match(r"fabrics\[([^]]+)\]", error.path or "")
    fabric = next((each for each in spec.get("fabrics", ()) if named and each["name"] == named[1]), None)
    if fabric is None or "partitions" in fabric:
        return False
    served = {attach.get("nodes") for attach in fabric["attach"]}
    zones = [zone["name"] for zone in spec.get("zones", ()) if zone["name"] in served]
    fabric["partitions"] = [
        {"name": f"part-{name}", "pkey": number, "zones": [name], "membership": "full"}
        for number, name in enumerate(zones, 1)
    ]
    return bool(zones)


def _with_tools(spec: Data, _: Finding) -> bool:
    """Gives images what sets up lossless NICs; True where one had it not."""
    images = [each for each in spec.get("images", ()) if "mlnx-tools" not in each.get("packages", ())]
    for image in images:
        image["packages"] = [*image.get("packages", ()), "mlnx-tools"]
    return bool(images)


def _with_repositories(spec: Data, _: Finding) -> bool:
    """Gives images the archive of Debian and a repository of the site; True where one had none."""
    images = [image for image in spec.get("images", ()) if not image.get("repositories")]
    for image in images:
        suite = "bookworm" if image["distribution"] == "Debian 12" else "trixie"
        mirror = {"suites": [suite], "components": ["main"], "key": "/usr/share/keyrings/site.gpg"}
        image["repositories"] = [
            {"name": "debian", "url": "http://mirror.example.net/debian", **mirror},
            {"name": "site", "url": "http://mirror.example.net/site", **mirror},
        ]
    return bool(images)


def _unbonded(spec: Data, error: Finding) -> bool:
    """Leaves NICs apart that can be no bond where they are."""
    named = re.match(r"fabrics\[([^]]+)\]\.attach", error.path or "")
    fabric = next((each for each in spec.get("fabrics", ()) if named and each["name"] == named[1]), None)
    return fabric is not None and sum(each.pop("bond", None) is not None for each in fabric["attach"]) > 0


def _of_today(spec: Data, _: Finding) -> bool:
    """Gives images a kernel that has NFS over TLS, and one Slurm that is asked over IPv6."""
    old = [each for each in spec.get("images", ()) if each["distribution"] != "Debian 13"]
    for image in old:
        image["distribution"] = "Debian 13"
    return bool(old)


def _in_a_tree(spec: Data, _: Finding) -> bool:
    """Leaves blocks that are no blocks to a tree."""
    slurm = spec.get("scheduler", {})
    slurms = [each for each in (slurm if isinstance(slurm, list) else [slurm]) if each.pop("block_sizes", None)]
    for each in slurms:
        each["plugin"] = "tree"
    return bool(slurms)


def _not_booted(spec: Data, _: Finding) -> bool:
    """Leaves booting over the network to the site, with its zone and the flows to it."""
    for key, name in (("zones", "name"), ("flows", "to")):
        if key in spec:
            spec[key] = [each for each in spec[key] if each.get(name) != "boot"]
    return spec.pop("boot", None) is not None


_OF_A_SECTION = {
    "CW628": _not_booted,
    "CW543": _of_today,
    "CW637": _of_today,
    "CW639": _of_today,
    "CW641": _with_repositories,
    "CW602": _in_a_tree,
    "CW225": _unbonded,
    "CW226": _unbonded,
    "CW228": _unbonded,
    "CW334": _watched,
    "CW337": _with_tools,
    "CW509": _apart,
}


def _fabric_mended(fabric: Data, error: Finding) -> bool:
    """Whether what concerns several tiers changed: how they are joined, their modes, or what is accepted of them."""
    if error.code == "CW221":
        fabric["accepts_single_failures"] = "A small cluster, with one way up in places."
        return True
    if error.code == "CW223" and "medium: smf" in error.hint:
        media = [tier["down"] for tier in fabric["tiers"] if tier.get("down", {}).get("medium", "smf") != "smf"]
        for side in media:
            side["medium"] = "smf"
        return bool(media)
    if error.code == "CW229":
        for up in (tier["up"] for tier in fabric["tiers"] if "up" in tier):
            up["speed_gbps"] = 400
            up.pop("mode", None)
        return True
    return _joined(fabric["tiers"]) if error.code == "CW214" else _in_modes(fabric["tiers"], error.hint)


def _mend_flow(spec: Data, error: Finding) -> bool:
    """Takes away ports that a flow cannot have, or a flow that no way carries."""
    flow = next((each for each in spec.get("flows", ()) if f"flows[{each['name']}]." in (error.path or "")), None)
    if flow is not None and error.code == "CW247":
        spec["flows"].remove(flow)
    return flow is not None and (error.code == "CW247" or flow.pop("ports", None) is not None)


def _joined(tiers: list[Data]) -> bool:
    """Whether something changed so that switches meet: no more of them above than links, at last one for all."""
    before = copy.deepcopy(tiers)
    for lower, upper in pairwise(tiers):
        upper["count"] = min(upper["count"], lower["up"]["links"])
        upper["join"] = "all"
    if before == tiers:
        tiers[-1] |= {"count": 1, "join": "all", "per": "cluster"}
    return before != tiers


def _in_modes(tiers: list[Data], hint: str) -> bool:
    """Whether the tiers got the modes that the hint names, or another speed where it names none."""
    up, down = _MODES["up"].search(hint), _MODES["down"].search(hint)
    if up is None or down is None:
        for tier in tiers:
            if "up" in tier:
                tier["up"]["speed_gbps"] = 400
        return True
    for tier in tiers:
        if tier["role"] == up[2]:
            tier["up"]["mode"] = up[1]
        if tier["role"] == down[2]:
            tier["down"] = {**tier.get("down", {}), "mode": down[1]}
    return True
