"""CW431: tiers that cannot choose among equal paths each in its own way."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.hashing import hashing_of
from clusterwright.intent.traffic_classes import lossless_numbers
from clusterwright.rules.rule import Problem, Subject, rule


@rule("CW431", Severity.ERROR)
def hash_of_its_own(subject: Subject) -> Iterator[Problem]:
    """Tiers of a lossless fabric, or of another where it matters, for which no hash function is left or known."""
    for skeleton in subject.skeleton.fabrics:
        fabric, joined = skeleton.fabric, skeleton.joined_tiers()
        if fabric.technology == "infiniband":
            continue
        tiers = hashing_of(fabric, joined)
        chooses = {tier.tier.role for tier in tiers if tier.chooses or lossless_numbers(fabric)}
        beside = {end.role for pair in joined if {low.role for low in pair} <= chooses for end in pair}
        for tier in tiers:
            if tier.function is None and tier.tier.role in beside:
                role = tier.tier.role
                message = f"{role} cannot choose among equal paths otherwise than the tiers beside it: {tier.reason}."
                hint = "Take a model whose system takes other seeds, or plan fewer tiers."
                yield Problem((*tier.tier.path, "model"), message, hint)
