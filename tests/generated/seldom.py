"""What few specs write: sessions that prove themselves, links side by side, IP over InfiniBand, second ways out."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from tests.generated.machines import chance
from tests.generated.ports import models

Data = dict[str, Any]

_PROVING = {"eos": ("md5", "tcp-ao"), "nvue": ("md5",)}


@st.composite
def seldom(draw: st.DrawFn, spec: Data) -> None:
    """Adds some of it to a whole spec."""
    for fabric in spec["fabrics"]:
        if fabric["technology"] == "infiniband":
            draw(_partitions(spec, fabric))
        else:
            draw(_sessions(fabric))
        for tier in fabric["tiers"]:
            if "up" in tier and chance(draw, 20):
                tier["up"]["spread"] = "adjacent"
            if chance(draw, 8):
                tier["down"] = {**tier.get("down", {}), "spare": 1}
    draw(_images(spec))
    draw(_operators(spec))
    if chance(draw, 40):
        _second_borders(spec)
    for profile in spec.get("encryption", {}).get("macsec", ()):
        if chance(draw, 50):
            profile["fallback"] = {"ckn": "0a02", "secret": "cak-fallback"}
        profile["cipher"] = draw(st.sampled_from(["aes128-gcm-xpn", "aes256-gcm-xpn"]))


@st.composite
def _sessions(draw: st.DrawFn, fabric: Data) -> None:
    for lower, upper in pairwise(fabric["tiers"]):
        able = [_PROVING.get(models()[tier["model"]].network_os or "", ()) for tier in (lower, upper)]
        both = [method for method in able[0] if method in able[1]]
        if both and chance(draw, 40):
            method = draw(st.sampled_from(both))
            lower["up"]["authentication"] = {"method": method, "secret": f"bgp-{lower['role']}"}


@st.composite
def _partitions(draw: st.DrawFn, spec: Data, fabric: Data) -> None:
    parts = fabric.get("partitions", [])
    for part in parts:
        if part["membership"] == "full" and chance(draw, 15):
            part["limited"] = part["zones"][:1]
    if chance(draw, 20):
        fabric["subnet_manager"]["guid_prefix"] = 0xABCDEF
    groups = {group["name"]: group for group in spec["nodes"] if group.get("image")}
    for number, part in enumerate(parts):
        hosts = [
            {"nodes": attach["nodes"], "nic": nics.nics[0].interface}
            for attach in fabric["attach"]
            if attach.get("nodes") in groups
            and attach["nodes"] in part["zones"]
            and (nics := models()[groups[attach["nodes"]]["model"]].nic_group(attach["nics"])) is not None
        ]
        if hosts and chance(draw, 50):
            part["ipoib"] = {
                "interface": f"ibip{number}",
                "network": f"10.{70 + number}.0.0/16",
                "addresses": f"10.{70 + number}.64.0/18",
                "hosts": hosts,
            }


@st.composite
def _images(draw: st.DrawFn, spec: Data) -> None:
    operators = [each["name"] for each in spec["site"].get("operators", ())]
    for image in spec.get("images", ()):
        if operators and chance(draw, 40):
            image["users"] = [{"name": "ops", "uid": 2000, "groups": ["sudo"], "operators": operators[:1]}]
        if chance(draw, 10):
            image["kernel"]["version"] = "6.12.48-1"


@st.composite
def _operators(draw: st.DrawFn, spec: Data) -> None:
    if spec["site"].get("operators") and chance(draw, 40):
        key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g watch@example.net"
        spec["site"]["operators"].append({"name": "watch", "role": "monitor", "keys": [key]})


def _second_borders(spec: Data) -> None:
    """A second way to the same zones, at the next switch of the same tier."""
    tiers = {tier["role"]: tier for fabric in spec["fabrics"] for tier in fabric["tiers"]}
    for number, border in enumerate(list(spec.get("borders", ())), 4):
        tier = tiers[border["device"].rpartition("-")[0]]
        if tier["count"] > 1 and tier["per"] == "cluster":
            wide = ":" in border["address"]
            spec["borders"].append(
                {
                    **border,
                    "name": f"{border['name']}-b",
                    "device": f"{tier['role']}-01",
                    "address": f"fd00:bbbb:{number}::/127" if wide else f"10.250.{number}.0/31",
                    "neighbour": f"fd00:bbbb:{number}::1" if wide else f"10.250.{number}.1",
                }
            )
