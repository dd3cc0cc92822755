"""The LID space: what the subnet needs at the rendered LMC, and whether the routing engine knows that LMC."""

from __future__ import annotations

from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.infiniband.subnet import KINDS, ManagedSubnet, has_subnet, subnets
from clusterwright.proofs.tree import RenderedTree

UNICAST_LIDS = 0xBFFF  # InfiniBand architecture: 0x0001 to 0xBFFF are unicast
MAX_LMC = 7
_ENGINES_WITHOUT_LMC = ("ftree", "ar_ftree")  # opensm's current-routing.txt: ftree does not support LMC > 0


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    found: list[Counterexample] = []
    unjudged = ""
    tried = 0
    for subnet in subnets(tree):
        if lack := subnet.lack():
            unjudged = unjudged or lack
            continue
        option = subnet.options.get("lmc")
        text = option.value if option is not None else "0"
        if not text.isdecimal() or int(text) > MAX_LMC:
            found.append(subnet.at_config(option, f"lmc {text} is not a number from 0 to {MAX_LMC}"))
            continue
        lmc = int(text)
        needed = _needed(subnet, lmc)
        tried += needed
        facts += [Fact("LIDs needed", needed), Fact("LIDs there are", UNICAST_LIDS), Fact("LMC", lmc)]
        if needed > UNICAST_LIDS:
            found.append(
                subnet.at_config(
                    option,
                    f"lmc {lmc}: {len(subnet.fabric.adapters):,} adapters and {len(subnet.fabric.switches):,} switch "
                    f"chips need {needed:,} LIDs, there are {UNICAST_LIDS:,}",
                )
            )
        engines = subnet.options["routing_engine"].value.split(",") if "routing_engine" in subnet.options else []
        if lmc and any(engine in _ENGINES_WITHOUT_LMC for engine in engines):
            found.append(subnet.at_config(option, f"lmc {lmc}: {engines[0]} routes no LMC other than 0"))
    return Verdict(tuple(facts), tuple(found), Cases("ports that need a LID", tried), unjudged=unjudged)


def _needed(subnet: ManagedSubnet, lmc: int) -> int:
    """LIDs of all ports. A switch has one LID, and with it one for its aggregation node where SHARP is on."""
    values = {name: option.value.upper() for name, option in subnet.options.items()}
    switches = len(subnet.fabric.switches)
    enhanced = values.get("lmc_esp0") == "TRUE"
    aggregation = switches if values.get("sharp_enabled") in {"2", "TRUE"} else 0
    return (len(subnet.fabric.adapters) + aggregation << lmc) + (switches << lmc if enhanced else switches)


LID_SPACE = ProofCheck("ib-lid-space", "There are LIDs for every port at the rendered LMC.", KINDS, has_subnet, _run)
