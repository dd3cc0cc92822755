"""Kernel settings by name: equivalent spellings, and settings fixed by clusterwright for every image.

sysctl(8) and systemd-sysctl(8) take dots and slashes: in a name with a dot as first separator, dots separate and
slashes stand for dots; in one with a slash first, everything is as in /proc/sys.
"""

from __future__ import annotations

from dataclasses import dataclass

Path = tuple[str, ...]
"""The folders below /proc/sys of a setting, and its file."""

_ANY = ""


@dataclass(frozen=True, slots=True)
class FixedSetting:
    """A setting fixed for every image: ``value`` is its constant, None if the plan computes it."""

    path: Path
    value: str | None
    because: str


_NO_ROUTER = "nodes forward nothing: what is proven of the fabrics would not hold for a packet that a node passes on"
_NO_ROUTES = "nodes take no routes and no addresses from the network: any host there could redirect their traffic"
_NO_SOURCE = "the packet filter checks packets by their source and by the interface that they come in on"
_NO_PROXY = "a node answers for its own addresses alone"
_COMPUTED = "the plan computes it from the node's adapters and neighbours"
_HELPERS = "a helper would open ports that no flow names"


def _conf(version: int, name: str, value: str | None, because: str) -> FixedSetting:
    return FixedSetting(("net", f"ipv{version}", "conf", _ANY, name), value, because)


_DECIDED = (
    FixedSetting(("net", "ipv4", "ip_forward"), "0", _NO_ROUTER),
    FixedSetting(("net", "netfilter", "nf_conntrack_helper"), "0", _HELPERS),
    *(_conf(version, "forwarding", "0", _NO_ROUTER) for version in (4, 6)),
    *(_conf(version, "mc_forwarding", "0", _NO_ROUTER) for version in (4, 6)),
    _conf(6, "force_forwarding", "0", _NO_ROUTER),
    *(_conf(version, "accept_redirects", "0", _NO_ROUTES) for version in (4, 6)),
    *(_conf(version, "accept_source_route", "0", _NO_ROUTES) for version in (4, 6)),
    *(_conf(6, name, "0", _NO_ROUTES) for name in ("accept_ra", "autoconf")),
    *(_conf(4, name, "0", _NO_SOURCE) for name in ("accept_local", "route_localnet", "src_valid_mark")),
    _conf(4, "rp_filter", None, _COMPUTED),
    *(_conf(4, name, "0", _NO_PROXY) for name in ("proxy_arp", "proxy_arp_pvlan", "bootp_relay")),
    _conf(6, "proxy_ndp", "0", _NO_PROXY),
    *(_conf(4, name, None, _COMPUTED) for name in ("arp_ignore", "arp_announce")),
    *(FixedSetting(("net", f"ipv{version}", "fib_multipath_hash_policy"), None, _COMPUTED) for version in (4, 6)),
    *(FixedSetting(("net", "ipv4", "neigh", _ANY, f"gc_thresh{step}"), None, _COMPUTED) for step in (1, 2, 3)),
    *(FixedSetting(("net", "ipv6", "neigh", _ANY, f"gc_thresh{step}"), None, _COMPUTED) for step in (1, 2, 3)),
)


def path_of(name: str) -> Path:
    """Path of the setting ``name`` below /proc/sys, in any spelling."""
    dot, slash = name.find("."), name.find("/")
    is_dotted = dot >= 0 and (slash < 0 or dot < slash)
    if is_dotted:
        name = name.translate(str.maketrans("./", "/."))
    return tuple(part for part in name.split("/") if part)


def dotted(name: str) -> str:
    """``name`` in the usual form of sysctl.d: dots between parts, a slash for a dot inside one."""
    return ".".join(part.replace(".", "/") for part in path_of(name))


def decided(name: str) -> FixedSetting | None:
    """The fixed setting ``name``, in any spelling, with its reason; None if an image may set it."""
    path = path_of(name)
    for setting in _DECIDED:
        if _matches(setting.path, path):
            return setting
    return None


def _matches(pattern: Path, path: Path) -> bool:
    if len(pattern) != len(path):
        return False
    return all(expected in (_ANY, part) for expected, part in zip(pattern, path, strict=True))
