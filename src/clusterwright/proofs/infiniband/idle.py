"""What a fabric lacks while the spec drains or stops parts of it: said as such, and not as a fault of the files."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.and_more import and_more
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.infiniband.subnet import ManagedSubnet
from clusterwright.proofs.tree import RenderedTree

_NAMED = 4
_SHOWN = 3


def excused(
    tree: RenderedTree, subnet: ManagedSubnet, found: Sequence[Counterexample]
) -> tuple[list[Counterexample], list[str], str]:
    """Of what contradicts a claim about the whole fabric: what refutes it, what is noted, and why it is not proven.

    With parts that the spec itself takes away, a shortage is what was asked for, but it is no proof either.
    """
    declaration = tree.declaration
    name = (
        declaration.fabric_with(adapter.guid for adapter in subnet.fabric.adapters) if declaration is not None else None
    )
    idle = declaration.idle.get(name or "", ()) if declaration is not None else ()
    if not idle or not found:
        return list(found), [], ""
    without = f"without {and_more(list(idle), _NAMED)}"
    notes = [f"{without}, which the spec drains or takes out of service: {each.message}" for each in found[:_SHOWN]]
    return [], notes, f"not proven {without}"
