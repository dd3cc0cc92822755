"""How NVUE serves its queues: all eight are named, as RoCE mode gives some a share by itself."""

from __future__ import annotations

import pytest
from tests.plans import plan_of
from tests.proofs.ethernet_trees import tree, verdict
from tests.switches.test_nvue import NAME, PATH, text_of

from clusterwright.facts.router import STRICT
from clusterwright.switches.nvue.reader.classes import scheduled
from clusterwright.switches.nvue.reader.known import KNOWN
from clusterwright.switches.nvue.reader.releases import read_nvue_objects

THIRD = '            "3":\n              mode: strict\n'


def test_every_queue_is_named_and_none_without_a_class_has_a_share() -> None:
    shares = scheduled(read_nvue_objects(text_of(plan_of("lab-nvue"))))
    assert set(shares) == set(range(8))
    weighted = {queue: share for queue, share in shares.items() if share != STRICT}
    assert set(weighted) == {0, 2, 6}
    assert sum(weighted.values()) == 100


def test_a_queue_that_is_not_named_keeps_what_roce_mode_gives_it() -> None:
    text = text_of(plan_of("lab-nvue"))
    assert THIRD in text
    left_out = text.replace(THIRD, "", 1)
    assert scheduled(read_nvue_objects(left_out))[3] == 50
    (unread,) = KNOWN.unread(left_out)
    assert "150 percent" in unread.text
    assert unread.claims == frozenset({"qos"})
    assert KNOWN.unread(text) == ()


@pytest.mark.parametrize("share", [40, 54])
def test_another_share_is_refuted(share: int) -> None:
    def edit(text: str) -> str:
        return text.replace("bw-percent: 29", f"bw-percent: {share}", 1)

    result = verdict("qos", tree("lab-nvue", {(NAME, PATH): edit}))
    assert any(example.device == NAME for example in result.counterexamples)
