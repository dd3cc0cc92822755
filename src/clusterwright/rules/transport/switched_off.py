"""CW425 and CW426: variables of a profile disabling hardware or features of the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.transport.nccl import DERIVED_VARIABLES
from clusterwright.spec.runtime.switches import RDMA, switched_off


@rule("CW425", Severity.ERROR)
def rdma_switched_off(subject: Subject) -> Iterator[Problem]:
    """Variables moving a profile's data off RDMA."""
    for nccl in subject.spec.nccl_profiles:
        for switch in switched_off(nccl.variables):
            if switch.stops == RDMA:
                message = f"{switch.name}={nccl.variables[switch.name]} {switch.effect}, and {nccl.fabric} stays idle."
                yield Problem((*nccl.path, "variables", switch.name), message, "Remove it.", key=True)


@rule("CW426", Severity.WARNING)
def part_switched_off(subject: Subject) -> Iterator[Problem]:
    """Variables disabling a path, an algorithm or a check; without those set by the plan (CW408)."""
    for nccl in subject.spec.nccl_profiles:
        for switch in switched_off(nccl.variables):
            if switch.stops != RDMA and switch.name not in DERIVED_VARIABLES:
                message = f"{switch.name}={nccl.variables[switch.name]} {switch.effect}."
                hint = "Remove it, or suppress this with the reason and the day on which it ends."
                yield Problem((*nccl.path, "variables", switch.name), message, hint, key=True)
