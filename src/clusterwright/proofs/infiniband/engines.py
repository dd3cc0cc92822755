"""Properties of routing engines: engines with only up–down paths, and engines with even load on links.

By the tables it computes, opensm's ftree puts equally many paths on every uplink of a regular tree. updn chooses, for
each destination in turn, the port with fewest paths so far: on three levels it put 32 times the mean on a link.
NVIDIA's subnet manager was never run here.
"""

from __future__ import annotations

from clusterwright.proofs.infiniband.subnet import ManagedSubnet

# opensm's man page, and NVIDIA's adaptive variants of the same.
UP_DOWN_ENGINES = frozenset({"ftree", "updn", "ar_ftree", "ar_updn"})
NO_FALLBACK = "no_fallback"
_EVEN_ENGINE = "ftree"


def engines_of(subnet: ManagedSubnet) -> list[str]:
    """The engines of opensm.conf, in the order of its attempts."""
    option = subnet.options.get("routing_engine")
    if option is None:
        return []
    return [word.strip() for word in option.value.split(",")]


def why_uneven(subnet: ManagedSubnet) -> str:
    """The reason why the load of links may differ from the cabling's.

    "" if opensm's ftree is the only engine, or if no switch has an uplink to choose.
    """
    if not subnet.up.nnz:
        return ""
    engines = [engine for engine in engines_of(subnet) if engine != NO_FALLBACK]
    if not subnet.is_open:
        return "not proven, because no program here shows which links NVIDIA's subnet manager loads how much"
    uneven_engines = [engine for engine in engines if engine != _EVEN_ENGINE]
    if engines and not uneven_engines:
        return ""
    cause = " or ".join(uneven_engines) or "opensm's own choice"
    return f"not proven, because {cause} loads links otherwise than they are cabled, up to many times the mean"
