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

EXAMPLES = 120
# Isolation calls a rule idle that a wider flow hides; lint does not yet say so of replies.
UNSETTLED = frozenset({"verify isolation"})
LEAST_CLEAN = 0.4
# What clean specs must reach, and in how many of them at least: a part of the grammar that is no longer drawn, or that
# lint
# came to refuse everywhere, is missing here.
LEAST = {
    "runs eos": 20,
    "runs fboss": 20,
    "runs sonic": 5,
    "runs unmanaged": 3,
    "runs mlnx-os": 3,
    "mixed platforms in a fabric": 20,
    "join all": 40,
    "join rail": 10,
    "join position": 10,
    **{f"{count} tiers": 5 for count in (1, 2, 3, 4)},
    "1 node groups": 5,
    "2 node groups": 10,
    "3 node groups": 10,
    "IPv4": 20,
    "IPv6": 20,
    "shared": 20,
    "point-to-point": 10,
    "roce": 20,
    "ethernet": 40,
    "infiniband beside ethernet": 10,
    "partitions": 5,
    "extends": 10,
    "exceptions": 8,
    "extra_config": 5,
    "mounts": 8,
    "boot": 5,
    "nccl": 20,
    "scheduler": 15,
    "jobs": 15,
    "any": 10,
    "icmp": 5,
    "zones that overlap": 5,
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
    assert not lacking, f"too few clean specs (found, wanted) have: {lacking}"
