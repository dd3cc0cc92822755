"""The LID space: enough LIDs for the subnet at the rendered LMC, and an engine supporting this LMC."""

from __future__ import annotations

import re

from clusterwright.hosts.opensm.reader.fabric import shared_lids
from clusterwright.proofs.check import Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.infiniband.engines import engines_of
from clusterwright.proofs.infiniband.outcome import SubnetOutcome
from clusterwright.proofs.infiniband.subnet import FABRIC, KINDS, SUBNET_INTENT, ManagedSubnet, has_subnet
from clusterwright.proofs.tree import RenderedTree

UNICAST_LIDS = 0xBFFF  # InfiniBand architecture: 0x0001 to 0xBFFF are unicast
MAX_LMC = 7
_KEPT = re.compile(r"var/cache/opensm/([^/]+/)?guid2lid")  # LIDs assigned by opensm, stored for its next start
_ENGINES_WITHOUT_LMC = ("ftree", "ar_ftree")  # opensm's current-routing.txt: ftree does not support LMC > 0


def _run(tree: RenderedTree) -> Verdict:
    outcome = SubnetOutcome(tree)
    for subnet in outcome.read():
        option = subnet.options.get("lmc")
        text = option.value if option is not None else "0"
        if not text.isdecimal() or int(text) > MAX_LMC:
            outcome.counterexamples.append(subnet.at_config(option, f"lmc {text} is not a number from 0 to {MAX_LMC}"))
            continue
        fabric = tree.text(subnet.device, f"{subnet.folder}/{FABRIC}") or ""
        for shared in shared_lids(fabric):
            outcome.counterexamples.append(subnet.at_fabric(shared.line, shared.message))
        lmc = int(text)
        needed = _needed(subnet, lmc)
        outcome.tried += needed
        outcome.facts += [Fact("LIDs needed", needed), Fact("LIDs there are", UNICAST_LIDS), Fact("LMC", lmc)]
        if needed > UNICAST_LIDS:
            outcome.counterexamples.append(
                subnet.at_config(
                    option,
                    f"lmc {lmc}: {len(subnet.fabric.adapters):,} adapters and {len(subnet.fabric.switches):,} switch "
                    f"chips need {needed:,} LIDs, there are {UNICAST_LIDS:,}",
                )
            )
        engines = engines_of(subnet)
        if lmc and any(engine in _ENGINES_WITHOUT_LMC for engine in engines):
            outcome.counterexamples.append(
                subnet.at_config(option, f"lmc {lmc}: {engines[0]} routes no LMC other than 0")
            )
    for path in sorted(path for path in tree.paths if _KEPT.fullmatch(path)):
        for device in tree.devices_with(path):
            for shared in shared_lids(tree.text(device, path) or ""):
                outcome.counterexamples.append(
                    Counterexample(device=device, file=path, line=shared.line, message=shared.message)
                )
    return outcome.verdict("ports that need a LID")


def _needed(subnet: ManagedSubnet, lmc: int) -> int:
    """LIDs of all ports. A switch has one LID, and with SHARP another one for its aggregation node."""
    values = {name: option.value.upper() for name, option in subnet.options.items()}
    switches = len(subnet.fabric.switches)
    enhanced = values.get("lmc_esp0") == "TRUE"
    aggregation = switches if values.get("sharp_enabled") in {"2", "TRUE"} else 0
    return (len(subnet.fabric.adapters) + aggregation << lmc) + (switches << lmc if enhanced else switches)


LID_SPACE = ProofCheck(
    name="ib-lid-space",
    claim="There are LIDs for every port at the rendered LMC, and no two ports have the same.",
    kinds=KINDS,
    intent=SUBNET_INTENT,
    applies=has_subnet,
    check=_run,
    spec_only="",
)
