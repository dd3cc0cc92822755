"""ECN marks, their counters, DCQCN and the PFC watchdog's times: one hop that differs is named with line and values."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from tests.plans import plan_with
from tests.proofs.ethernet_trees import AGENT, EOS, SCRIPT, text_of, tree, verdict

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.tree import tree_of

SONIC = "etc/sonic/config_db.json"
LAB, SONIC_LAB = "lab-roce", "lab-sonic"
RTSW, CTSW, GPU = "rtsw-p00r01", "ctsw-p01-00", "gpu-p01r00n1"
MARKS = (
    "fabrics:\n  - name: backend\n    classes:\n"
    "      - {name: rdma, ecn: mark, marking: {min_kbytes: 400, max_kbytes: 1600, percent: 20}}\n"
)

# spec, device, file, pattern, replacement, the text of the line that is to blame afterwards, what must be said of it
HOPS = [
    (
        LAB,
        CTSW,
        EOS,
        r"^hardware counter feature ecn out\n",
        "",
        "      random-detect ecn count",
        "ECN counting of queue 2 is off here, but on for most ports",
    ),
    (
        LAB,
        CTSW,
        EOS,
        r"^      random-detect ecn count\n",
        "",
        "   tx-queue 2",
        "ECN counting of queue 2 is off here, but on for most ports",
    ),
    (
        LAB,
        CTSW,
        EOS,
        r"(tx-queue 2\n(?:      .*\n)*)(      random-detect ecn count\n)",
        r"\1      random-detect ecn minimum-threshold 1 mbytes maximum-threshold 2 mbytes max-mark-probability 5\n\2",
        "random-detect ecn minimum-threshold",
        "queue 2 marks from 1,000,000 to 2,000,000 bytes, up to 5 % here, nothing on most ports",
    ),
    (
        LAB,
        CTSW,
        EOS,
        r"(watchdog default timeout )0\.20",
        r"\g<1>0.21",
        "watchdog default timeout 0.21",
        "finds a stuck queue after 210 ms here, 200 ms on most ports",
    ),
    (
        SONIC_LAB,
        CTSW,
        EOS,
        r"(watchdog default recovery-time )1\.00",
        r"\g<1>2.00",
        "watchdog default recovery-time 2.00",
        "restores it after 2000 ms here, 1000 ms on most ports",
    ),
    (
        LAB,
        CTSW,
        EOS,
        r"^priority-flow-control pause watchdog default recovery-time .*\n",
        "",
        "watchdog default timeout",
        "restores it after a time that is not stated here, 1000 ms on most ports",
    ),
    (
        LAB,
        CTSW,
        EOS,
        r"^priority-flow-control pause watchdog default timeout .*\n",
        "",
        "service-profile BACKEND",
        "has no watchdog",
    ),
    (
        LAB,
        CTSW,
        EOS,
        r"(watchdog default polling-interval )\S+",
        r"\g<1>0.90",
        "polling-interval 0.90",
        "looks every 0.90 s and takes the action drop here, looks every 0.10 s",
    ),
    (
        LAB,
        RTSW,
        AGENT,
        r'(to ctsw-p00-00 .*"detectionTimeMsecs": )200',
        r"\g<1>201",
        '"detectionTimeMsecs": 201',
        "finds a stuck queue after 201 ms here, 200 ms on most ports",
    ),
    (LAB, RTSW, AGENT, r'(to ctsw-p00-00 .*), "watchdog": \{[^}]*\}', r"\1", "to ctsw-p00-00", "has no watchdog"),
    (
        LAB,
        RTSW,
        AGENT,
        r'(?="name": "queue2)',
        '"aqms": [{"behavior": 1, "detection": {"linear": {"minimumLength": 1000, "maximumLength": 2000}}}], ',
        '"aqms"',
        "queue 2 marks from 1,000 to 2,000 bytes here, nothing on most ports",
    ),
    (
        SONIC_LAB,
        RTSW,
        SONIC,
        r'("restoration_time": ")1000',
        r"\g<1>1500",
        '"restoration_time": "1500"',
        "restores it after 1500 ms here, 1000 ms on most ports",
    ),
    (
        SONIC_LAB,
        RTSW,
        SONIC,
        r'("POLL_INTERVAL": ")100',
        r"\g<1>900",
        '"Ethernet0": {"action"',
        "looks every 900 ms and takes the action drop here, looks every 100 ms",
    ),
    (
        LAB,
        GPU,
        SCRIPT,
        r"echo 0( > .*roce_np.*\n.*)echo 0(?= > .*roce_rp)",
        r"echo 1\1echo 1",
        "/ecn/roce_np/",
        "DCQCN is on for priority 2, whose queue marks nothing on the switches",
    ),
]


@pytest.mark.parametrize(("spec", "device", "path", "pattern", "new", "blamed", "message"), HOPS)
def test_a_hop_that_differs_is_named_with_line_and_values(
    spec: str, device: str, path: str, pattern: str, new: str, blamed: str, message: str
) -> None:
    after = re.sub(pattern, new, text_of(spec, device, path), count=1, flags=re.M)
    counterexamples = verdict("qos", tree(spec, {(device, path): lambda _: after})).counterexamples
    assert counterexamples
    assert {(example.device, example.file) for example in counterexamples} == {(device, path)}
    lines = ["", *after.split("\n")]
    assert [e for e in counterexamples if blamed in lines[e.line] and message in e.message], [
        str(example) for example in counterexamples
    ][:4]


def test_a_line_of_the_whole_switch_is_named_once() -> None:
    edit = {(CTSW, EOS): lambda text: text.replace("watchdog default timeout 0.20", "watchdog default timeout 0.50")}
    (only,) = verdict("qos", tree(LAB, edit)).counterexamples
    assert re.search(r"^Ethernet\S+ to \S+ \S+ and \d+ other ports: ", only.message)


@cache
def artifacts_with(spec: str, overlay: str, folder: Path) -> tuple[Artifact, ...]:
    return tuple(Rendering(plan_with(folder, spec, overlay)).of_kinds(KINDS))


@pytest.mark.parametrize("spec", [LAB, SONIC_LAB])
@pytest.mark.parametrize(
    "overlay",
    [
        MARKS,
        "fabrics:\n  - name: backend\n    pfc_watchdog: {detection_ms: 110, recovery_ms: 60000}\n",
        "fabrics:\n  - name: backend\n    pfc_watchdog: {detection_ms: 5000, recovery_ms: 290}\n",
    ],
    ids=["marking", "a quick watchdog", "a slow watchdog"],
)
def test_what_systems_write_in_their_own_way_is_proven(spec: str, overlay: str, tmp_path: Path) -> None:
    result = verdict("qos", tree_of(spec, artifacts_with(spec, overlay, tmp_path)))
    assert result.counterexamples == ()


@pytest.mark.parametrize(
    ("spec", "device", "path", "pattern", "new", "message"),
    [
        (LAB, CTSW, EOS, "minimum-threshold 400", "minimum-threshold 500", "from 500,000 to 1,600,000 bytes"),
        (LAB, RTSW, AGENT, '"probability": 20', '"probability": 100', "up to 100 % here, from 400,000"),
        (SONIC_LAB, RTSW, SONIC, '"green_max_threshold": "1600000"', '"green_max_threshold": "1"', "to 1 bytes"),
        (SONIC_LAB, RTSW, SONIC, '"ecn": "ecn_all"', '"ecn": "ecn_none"', "queue 2 marks nothing here"),
        (LAB, GPU, SCRIPT, "echo 1 >", "echo 0 >", "DCQCN is off for priority 2, whose queue marks packets"),
    ],
)
def test_marking_that_differs_is_named(
    spec: str, device: str, path: str, pattern: str, new: str, message: str, tmp_path: Path
) -> None:
    edited = []
    for artifact in artifacts_with(spec, MARKS, tmp_path):
        here = (artifact.device, artifact.path) == (device, path)
        content = artifact.content.replace(pattern.encode(), new.encode()) if here else artifact.content
        assert not here or content != artifact.content
        edited.append(Artifact(artifact.device, artifact.path, content, artifact.kind))
    counterexamples = verdict("qos", tree_of(spec, edited)).counterexamples
    assert {(example.device, example.file) for example in counterexamples} == {(device, path)}
    assert all(example.line for example in counterexamples)
    assert any(message in example.message for example in counterexamples), [
        str(example) for example in counterexamples
    ][:4]
