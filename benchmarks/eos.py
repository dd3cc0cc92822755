"""Time to render one EOS switch, beside pyavd's for the same switch with the same intent, in the same run.

pyavd gets its structured configuration ready-made and validates nothing here, as our renderer gets its plan ready-made:
both are timed from model to text. The texts are equal as configuration trees; a test says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import pyavd
from tests.switches.eos_intent import structured_config

from clusterwright.data_files import folder
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

ROUNDS = 5


def report(*, is_smallest: bool = False) -> str:
    """Milliseconds a switch and their ratio: a cluster switch, an aggregator, a management switch.

    Of the small cluster, which may have one switch of a kind, when ``is_smallest``.
    """
    plan = build_plan(load_spec(folder("inventory") / ("lab-roce.yaml" if is_smallest else "roce-24k.yaml")))
    lines = [
        "| switch | links | ours, ms | pyavd, ms | pyavd against ours |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for role in ("ctsw", "atsw", "mgmt"):
        # another switch in each round, so that nothing rendered before can be handed out again
        names = [device.name for device in plan.devices_of(role)[: ROUNDS + 1]] * (1 + is_smallest)
        intents = [structured_config(plan, plan.by_name[name]) for name in names]
        ours = _median([partial(Rendering(plan).of_device, name) for name in names])
        theirs = _median([partial(pyavd.get_device_config, intent) for intent in intents])
        links = len(plan.cables_of[names[0]])
        lines.append(f"| {role} | {links} | {ours:.1f} | {theirs:.1f} | {theirs / ours:.0f} |")
    return "\n".join(lines)


def _median(work: Sequence[Callable[[], object]]) -> float:
    """The median in milliseconds of all calls but the first, which warms up templates and imports."""
    times = []
    for call in work:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times[1:])[len(times[1:]) // 2] * 1000
