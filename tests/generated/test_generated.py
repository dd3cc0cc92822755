"""Whole specs that nobody wrote: what lints without an error works everywhere, and no proof of it is refuted
unforetold.

Some are drawn here, the same every time; thousands by ``python -m tests.generated.campaign --count 2000``.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from tests.generated.campaign import judged
from tests.generated.features import features
from tests.generated.judge import Failed
from tests.generated.specs import Case, specs

EXAMPLES = 150
# What lint does not foretell yet: filters of FBOSS that need more tables than its chip has, and what an exception takes
# from a plane or from a tier's bandwidth.
UNSETTLED = frozenset({"verify isolation", "verify ethernet-bisection", "verify reachability"})
LEAST_CLEAN = 0.35
# What clean specs must reach, and in how many of them at least: a part of the grammar that is no longer drawn, or that
# lint
# came to refuse everywhere, is missing here.
LEAST = {
    "runs eos": 4,
    "runs fboss": 4,
    "runs sonic": 1,
    "runs mlnx-os": 1,
    "mixed platforms in a fabric": 4,
    "join all": 8,
    "join rail": 2,
    "join position": 2,
    **{f"{count} tiers": 1 for count in (1, 2, 3, 4)},
    "1 node groups": 1,
    "2 node groups": 2,
    "3 node groups": 2,
    "IPv4": 4,
    "IPv6": 4,
    "shared": 4,
    "point-to-point": 2,
    "roce": 4,
    "ethernet": 8,
    "infiniband beside ethernet": 1,
    "partitions": 1,
    "extends": 2,
    "exceptions": 1,
    "extra_config": 1,
    "mounts": 1,
    "boot": 1,
    "nccl": 4,
    "scheduler": 3,
    "jobs": 3,
    "any": 2,
    "icmp": 1,
    "zones that overlap": 1,
}


def test_what_lints_clean_works_everywhere_and_is_not_refuted(tmp_path: Path) -> None:
    drawn, failures = 0, list[tuple[Case, Failed]]()
    reached, refused = Counter[str](), Counter[str]()

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(specs())
    def run(case: Case) -> None:
        nonlocal drawn
        drawn += 1
        case, errors, failed = judged(case, tmp_path, thorough=drawn % 4 == 0)
        failures.extend((case, each) for each in failed if each.stage not in UNSETTLED)
        refused.update(errors)
        if not errors:
            reached.update({"clean", *features(case)})

    run()

    for number, (case, _) in enumerate(failures[:5]):
        case.write(tmp_path / f"failed-{number}")
    assert not failures, f"{len(failures)} failed, the first specs are in {tmp_path}:\n" + "\n".join(
        str(failure) for _, failure in failures[:10]
    )
    assert reached["clean"] >= LEAST_CLEAN * drawn, f"{reached['clean']} of {drawn} are clean; refused: {refused}"
    lacking = {name: (reached[name], least) for name, least in LEAST.items() if reached[name] < least}
    assert not lacking, f"too few clean specs (found, wanted) have: {lacking}; all: {sorted(reached.items())}"
