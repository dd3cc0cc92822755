"""Which line of a switch's policies is to blame: the one that the other switches of its tier do not have."""

from __future__ import annotations

import re
from collections.abc import Iterable

from clusterwright.platforms.eos.reader import configuration as eos_text
from clusterwright.platforms.fboss.reader import configuration as fboss_json
from clusterwright.platforms.router import Mark, Router, shown
from clusterwright.platforms.sonic.reader import configuration as sonic_json
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree

_ENOUGH = 5  # neighbours to compare with; more would only cost time
_EOS_WORDS = (
    "route-map ",
    "   match ",
    "   set ",
    "ip community-list ",
    "ip prefix-list ",
    "ipv6 prefix-list ",
    "   seq ",
)
_SONIC_TABLES = {"BGP_PEER_GROUP_AF", "COMMUNITY_SET", "PREFIX", "ROUTE_MAP"}
_EOS_GROUP = re.compile(r"   neighbor [A-Za-z]")


def odd_mark(tree: RenderedTree, fabric: RoutedFabric, router: Router, fallback: Mark) -> Mark:
    """The first line about policies that no other switch of this tier has; ``fallback`` when there is none."""
    others = [each for each in fabric.routers if each.stem == router.stem and each is not router][:_ENOUGH]
    known = {line for other in others for line in _lines(tree, other)}
    if known:
        for line in _lines(tree, router):
            if line not in known:
                return (f"\n{line}\n",)
    return fallback


def _lines(tree: RenderedTree, router: Router) -> Iterable[str]:
    """Lines that make policies, without those that hold the switch's own prefixes."""
    own = {shown(prefix[0]) for prefix, _ in router.networks}
    text = tree.text(router.device, router.bgp_file) or ""
    is_eos = router.bgp_file == eos_text.PATH
    if router.bgp_file == fboss_json.BGP:
        text = text[text.find('"peer_groups"') : text.find('"peers"')] + text[text.find('"policies"') :]
    elif router.bgp_file == sonic_json.PATH:
        tables = text.split("\n  },")
        text = "".join(table for table in tables if table.strip().partition('"')[2].partition('"')[0] in _SONIC_TABLES)
    for line in text.split("\n"):
        if is_eos and not (line.startswith(_EOS_WORDS) or _EOS_GROUP.match(line)):
            continue
        if not any(f"{address}/" in line for address in own):
            yield line
