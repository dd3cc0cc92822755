"""What the owners of a generated cluster add: ways out, encrypted links, reviewed data, promises, execution nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from tests.generated import access
from tests.generated.machines import chance
from tests.generated.ports import models

Data = dict[str, Any]

_MACSEC = "dcs-7804r3-macsec"
_SECRETS = {"secret", "password", "authentication", "privacy"}


@st.composite
def owners(draw: st.DrawFn, spec: Data, rare: str) -> None:
    """Adds them to a spec that has everything else."""
    if rare == "borders" or chance(draw, 20):
        _borders(spec)
    if rare == "macsec" or chance(draw, 15):
        _macsec(draw, spec)
    if any(mount["protection"]["kind"] != "none" for mount in spec.get("mounts", ())) and chance(draw, 50):
        _datasets(spec)
    if chance(draw, 30):
        owned = ["owner-only"] if any(flow["from"] == "production" for flow in spec["flows"]) else []
        names = draw(st.lists(st.sampled_from(["no-internet", *owned]), min_size=1, unique=True))
        for zone in spec["zones"]:
            if "no-internet" in names and ("nodes" in zone or "isolated" in zone):
                zone["isolated"] = True
        spec["promises"] = [
            {"name": f"P{number}", "promise": name, "says": f"Promised: {name}."}
            for number, name in enumerate(names, 1)
        ]
    if chance(draw, 80):
        _execution(spec)
    if chance(draw, 30) and (used := sorted(set(_secrets(spec)))):
        spec["secrets"] = [
            {"name": name, "source": "environment", "key": name.upper().replace("-", "_")} for name in used
        ]


def _borders(spec: Data) -> None:
    """A session with the site at the last port of the first uppermost switch of the frontend, and of the management."""
    found = []
    out, inside = access.way_out(spec), {fabric["name"]: fabric for fabric in spec["fabrics"]}
    for number, (zone, fabric) in enumerate((("site-services", out), ("operations", inside.get("management")))):
        top = fabric["tiers"][-1] if fabric is not None else None
        model = models()[top["model"]] if top is not None else None
        if (
            top is None
            or model is None
            or model.network_os != "eos"
            or not any(z["name"] == zone for z in spec["zones"])
        ):
            continue
        block = model.blocks[-1]
        mode = block.modes[0]
        wide = access.version_of(fabric) == 6
        found.append(
            {
                "name": f"to-{zone}",
                "device": f"{top['role']}-00",
                "port": mode.ports(block.cages[-1])[-1],
                "speed_gbps": mode.speed_gbps,
                "address": f"fd00:bbbb:{number}::/127" if wide else f"10.250.{number}.0/31",
                "neighbour": f"fd00:bbbb:{number}::1" if wide else f"10.250.{number}.1",
                "asn": 64601 + number,
                "zones": [zone],
                "authentication": {"method": "tcp-ao", "secret": "bgp-border"},
            }
        )
    if found:
        spec["borders"] = found


def _macsec(draw: st.DrawFn, spec: Data) -> None:
    """Encrypts the links between two tiers of one routed fabric."""
    able = [
        (lower, upper)
        for fabric in spec["fabrics"]
        if fabric["technology"] != "infiniband" and fabric["name"] != "management"
        for lower, upper in zip(fabric["tiers"], fabric["tiers"][1:], strict=False)
        if lower["per"] != "rack"
    ]
    if not able:
        return
    lower, upper = draw(st.sampled_from(able))
    lower["model"] = upper["model"] = _MACSEC
    lower["up"]["macsec"] = "halls"
    profile = {"name": "halls", "key": "hall-cak", "primary": {"ckn": "0a01", "secret": "cak-halls"}}
    spec["encryption"] = {**spec.get("encryption", {}), "macsec": [profile]}
    _keys(spec, {"name": "hall-cak", "kind": "macsec", "owner": "network", "rotate_days": 30, "delete_days": 60})


def _datasets(spec: Data) -> None:
    """Reviewed data on the first mount."""
    review = {"reviewer": "privacy-review", "date": "2026-01-15", "reference": "PR-0042"}
    mount = spec["mounts"][0]["name"]
    spec["datasets"] = [{"name": "pile", "mount": mount, "owner": "data", "review": review, "key": "pile-key"}]
    _keys(spec, {"name": "pile-key", "kind": "data", "owner": "data", "rotate_days": 30, "delete_days": 180})


def _keys(spec: Data, key: Data) -> None:
    """Adds a key, and the one that wraps it."""
    wrapping = {"name": "kek", "kind": "wrapping", "owner": "security", "rotate_days": 90, "delete_days": 97}
    known = spec.setdefault("keys", [])
    known += [
        each for each in (wrapping, {**key, "wrapped_by": "kek"}) if each["name"] not in {k["name"] for k in known}
    ]


def _execution(spec: Data) -> None:
    """The first service machine gives the second one hosts to configure."""
    services = next((group for group in spec["nodes"] if group["name"] == "services"), None)
    if services is None or services["count"] < 2 or access.way_out(spec) is None:
        return
    second = "svc-v00n1" if services["levels"][0]["of"] > 1 else "svc-v01n0"
    fabric = (access.way_out(spec) or {})["name"]
    spec["flows"].append(access.flow("mesh", "services", "services", "tcp", 27199))
    zones = {zone["name"] for zone in spec["zones"]}
    told = {flow["to"] for flow in spec["flows"] if flow["from"] == "services" and 22 in flow.get("ports", ())}
    for group in spec["nodes"]:
        if group.get("image") and group["name"] in zones - told:
            spec["flows"].append(access.flow(f"{group['name']}-files", "services", group["name"], "tcp", 22))
    spec["execution"] = {"controller": "svc-v00n0", "fabric": fabric, "nodes": [{"device": second}]}


def _secrets(part: Any) -> Iterator[str]:
    """The names of secrets that a spec uses."""
    for key, value in part.items() if isinstance(part, dict) else ():
        if key in _SECRETS and isinstance(value, str):
            yield value
        yield from _secrets(value)
    for item in part if isinstance(part, list) else ():
        yield from _secrets(item)
