"""Refuse to send files to switches without steps to apply them: the files would have no effect there."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from itertools import chain

from clusterwright.and_more import and_more
from clusterwright.deploy.pulumi.units import Stack
from clusterwright.deploy.targets import TargetSettings
from clusterwright.facts.reader import Unsupported
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Plan
from clusterwright.switches.registry import SYSTEMS


def require_activation(plan: Plan, target: TargetSettings, stacks: Iterable[Stack]) -> None:
    """Raises ClusterwrightError for switches receiving files over SSH without a step to apply them.

    Steps of the access file count as such.
    """
    access = target.ssh_access()
    if access is None:
        return
    patterns: list[str] = []
    for step in access.switch_overs:
        patterns += map(str, step.get("files", ()))
    refused: dict[str, list[str]] = {}
    for name in chain.from_iterable(stack.devices for stack in stacks):
        device = plan.by_name[name]
        if name not in access.addresses or device.kind != "switch":
            continue
        system = SYSTEMS.get(plan.spec.catalogue[device.model].network_os or "")
        if system is None or not isinstance(system.steps, Unsupported):
            continue
        if not any(fnmatch.fnmatchcase(system.reader.file, pattern) for pattern in patterns):
            refused.setdefault(f"{system.system}: {system.steps.reason}", []).append(name)
    if refused:
        lines = [f"  {and_more(names, 3)} ({why})" for why, names in refused.items()]
        raise ClusterwrightError(
            "the access file has these switches under `addresses`, where files would be put and nothing would act on "
            "them:\n" + "\n".join(lines) + "\nRemove them there, or state under `switch_overs` by which commands they "
            "take their file. Nothing was touched."
        )
