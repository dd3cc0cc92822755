"""A lossless class that loses: early drops, limits at egress, headroom for another cable than the spec states."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plans import plan_with
from tests.proofs.ethernet_edits import NVUE, SONIC
from tests.proofs.ethernet_trees import AGENT, tree, verdict

from clusterwright.output.rendering import Rendering
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.tree import tree_of

RTSW = "rtsw-p00r00"
PORT = "Ethernet128"
QUEUE = f"{PORT}|2"
Change = Callable[[dict[str, Any]], object]


def drop_early(tables: dict[str, Any]) -> None:
    tables["WRED_PROFILE"] = {"W": {"wred_green_enable": "true", "green_min_threshold": "1000", "ecn": "ecn_none"}}
    tables["QUEUE"][QUEUE]["wred_profile"] = "W"


def lengths(text: str) -> Change:
    def change(tables: dict[str, Any]) -> None:
        tables["CABLE_LENGTH"]["AZURE"] = dict.fromkeys(tables["CABLE_LENGTH"]["AZURE"], text)

    return change


def with_tables(change: Change) -> Callable[[str], str]:
    def edit(text: str) -> str:
        tables = json.loads(text)
        change(tables)
        return json.dumps(tables, indent=2)

    return edit


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop_early, r"drops packets of lossless queue 2 early \(W marks none\)"),
        (
            lambda tables: tables["BUFFER_QUEUE"][QUEUE].update(profile="egress_lossy_profile"),
            r"limits lossless queue 2 to a part of what is free \(egress_lossy_profile\)",
        ),
        (
            lambda tables: tables["BUFFER_PROFILE"]["egress_lossless_profile"].update(static_th="20000"),
            r"limits lossless queue 2 to 20,000 of [\d,]+ bytes",
        ),
        (
            lambda tables: tables["BUFFER_POOL"]["egress_lossless_pool"].update(size="1000000"),
            r"has 1,000,000 bytes for lossless queue 2 at egress, ingress shares [\d,]+",
        ),
        (lambda tables: tables["BUFFER_QUEUE"].pop(QUEUE), "gives lossless queue 2 no buffer at egress"),
        (lambda tables: tables.pop("CABLE_LENGTH"), "names no length of its cable"),
        (
            lambda tables: tables["FLEX_COUNTER_TABLE"].update(PFCWD={"FLEX_COUNTER_STATUS": "disable"}),
            "has no watchdog",
        ),
        (lengths("0m"), "sizes its headroom for 0 m of cable, the spec states 20 m"),
        (lengths("5m"), "sizes its headroom for 5 m of cable, the spec states 20 m"),
    ],
)
def test_a_lossless_queue_that_loses_on_sonic_is_refuted(change: Change, message: str) -> None:
    result = verdict("qos", tree("lab-sonic", {(RTSW, SONIC): with_tables(change)}))
    assert any(re.search(message, example.message) for example in result.counterexamples), result.counterexamples
    assert {example.device for example in result.counterexamples} == {RTSW}


def test_rows_of_several_queues_are_read() -> None:
    def merge(tables: dict[str, Any]) -> None:
        row = tables["BUFFER_QUEUE"].pop(QUEUE)
        assert tables["BUFFER_QUEUE"].pop("Ethernet0|2") == row
        tables["BUFFER_QUEUE"][f"{PORT},Ethernet0|2"] = row

    assert verdict("qos", tree("lab-sonic", {(RTSW, SONIC): with_tables(merge)})).is_proven


def test_early_drops_of_a_lossless_queue_on_nvue_are_refuted() -> None:
    def edit(text: str) -> str:
        return re.sub(r'(congestion-control:(?:.*\n)+?\s+"2":(?:.*\n)+?\s+red: )disable', r"\1enable", text, count=1)

    result = verdict("qos", tree("lab-nvue", {(RTSW, NVUE): edit}))
    assert any("drops packets of lossless queue 2 early" in example.message for example in result.counterexamples)


def test_a_cable_length_below_the_spec_s_on_nvue_is_refuted() -> None:
    result = verdict(
        "qos", tree("lab-nvue", {(RTSW, NVUE): lambda text: text.replace("cable-length: 20", "cable-length: 3")})
    )
    assert any("sizes its headroom for 3 m of cable, the spec states 20 m" in e.message for e in result.counterexamples)


def test_headroom_is_compared_with_the_spec_s_cable_where_the_text_names_none() -> None:
    def edit(text: str) -> str:
        document = json.loads(text)
        for group in document["sw"]["portPgConfigs"]["uplinks"]:
            if group["headroomLimitBytes"]:
                group["headroomLimitBytes"] = 170_000  # enough for a cable of no length
        return json.dumps(document, indent=2)

    result = verdict("qos", tree("lab-roce", {(RTSW, AGENT): edit}))
    assert any("bytes of headroom, at least" in example.message for example in result.counterexamples)


MARKS = "ecn: mark, marking: {min_kbytes: 150, max_kbytes: 1500, percent: 100}"


@pytest.mark.parametrize(
    ("data", "control", "fault"),
    [
        ('"50-55", "57-59"', "56", "with all traffic that no class names"),
        ('"48-55", "57-59"', "56", "with the data that they slow down"),
        ('"50-55", "57-59"', "48, 56", ""),
    ],
)
def test_congestion_notifications_have_a_class_of_their_own(
    data: str, control: str, fault: str, tmp_path: Path
) -> None:
    classes = f"      - {{name: rdma, dscp: [{data}], {MARKS}}}\n      - {{name: control, dscp: [{control}]}}\n"
    plan = plan_with(tmp_path, "lab-roce", f"fabrics:\n  - name: backend\n    classes:\n{classes}")
    result = verdict("qos", tree_of("lab", Rendering(plan).of_kinds(KINDS), Declaration(plan)))
    messages = [example.message for example in result.counterexamples if "notifications" in example.message]
    assert len(messages) == bool(fault)
    assert all(fault in message for message in messages)
