"""A setting that a whole fabric lost: nobody differs from the others there, but all from what the spec declares."""

from __future__ import annotations

import re

import pytest
from tests.proofs.ethernet_trees import AGENT, EOS, NETWORK_BE0, artifacts_of, tree, verdict

from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.tree import RenderedTree

SONIC = "etc/sonic/config_db.json"
BACKEND = re.compile(r"(rtsw|ctsw|atsw|gpu)-")
LENGTHS = '{"minimumLength": 100000, "maximumLength": 200000}'

# check, spec, what every file of these kinds has (pattern) and gets instead, what must be said of it, the line to blame
LOST = [
    (
        "qos",
        "lab-roce",
        {EOS: (r"^      random-detect ecn count\n", "")},
        "does not count ECN marks of queue 2, the spec's class rdma does",
        "tx-queue 2",
    ),
    (
        "qos",
        "lab-sonic",
        {SONIC: (r'("WRED_ECN_QUEUE": \{"FLEX_COUNTER_STATUS": ")enable', r"\1disable")},
        "does not count ECN marks of queue 2, the spec's class rdma does",
        "FLEX_COUNTER_TABLE",
    ),
    (
        "qos",
        "lab-roce",
        {
            EOS: (r"(watchdog default timeout )0\.20", r"\g<1>2.00"),
            AGENT: (r'("detectionTimeMsecs": )200', r"\g<1>2000"),
        },
        "finds a stuck queue after 2000 ms, by the spec 200 ms",
        "",
    ),
    (
        "qos",
        "lab-roce",
        {
            EOS: (r"^priority-flow-control pause watchdog default recovery-time .*\n", ""),
            AGENT: (r', "recoveryTimeMsecs": 1000', ""),
        },
        "restores it after a time that is not stated, by the spec 1000 ms",
        "",
    ),
    (
        "qos",
        "lab-roce",
        {
            EOS: (
                r"(?=^      random-detect ecn count)",
                "      random-detect ecn minimum-threshold 100 kbytes maximum-threshold 200 kbytes\n",
            ),
            AGENT: (
                r'(?="name": "queue2)',
                f'"aqms": [{{"behavior": 1, "detection": {{"linear": {LENGTHS}}}}}], ',
            ),
        },
        "marks from 100,000 to 200,000 bytes in queue 2, nothing in the spec",
        "",
    ),
    (
        "qos",
        "lab-roce",
        {
            EOS: (r"^qos map traffic-class 6 to tx-queue 6$", "qos map traffic-class 6 to tx-queue 0"),
            AGENT: (r'("trafficClassToQueueId": \{[^}]*"6": )6', r"\g<1>0"),
        },
        "DSCP 26 is in queue 0, the spec's class monitoring in 6",
        "",
    ),
    (
        "qos",
        "lab-roce",
        {
            EOS: (r"^   priority-flow-control on\n", ""),
            AGENT: (r'"pfcPriorityToQueueId": \{[^}]*\}', '"pfcPriorityToQueueId": {}'),
        },
        "switches pause no priority, the spec has priority 2 without loss",
        "",
    ),
    (
        "qos",
        "lab-roce",
        {
            EOS: (r"^      priority strict$", "      bandwidth percent 20"),
            AGENT: (r'"scheduling": 1', '"scheduling": 0, "weight": 5'),
        },
        "gives queue 7",
        "",
    ),
    (
        "ecmp-hash",
        "lab-roce",
        {EOS: (r"(?<=payload bytes )5-7", "0-1")},
        "no queue pair is in what most of rtsw-ctsw-atsw spread by: bytes 0 to 1 of UDP's payload",
        "load-balance policies",
    ),
    (
        "ecmp-hash",
        "lab-roce",
        {AGENT: (r'"udfGroups": \["dstQueuePair"\]', '"udfGroups": []')},
        "no queue pair is in what most of rtsw-ctsw-atsw spread by: addresses and ports alone",
        "udfGroups",
    ),
    (
        "ethernet-links",
        "lab-roce",
        {
            EOS: (r"^   mtu 9000$", "   mtu 8000"),
            AGENT: (r'"mtu": 9000', '"mtu": 8000'),
            NETWORK_BE0: (r"MTUBytes=9000", "MTUBytes=8000"),
        },
        "most hops take packets of 8000 bytes, by the spec 9000",
        "",
    ),
]


def everywhere(spec: str, changes: dict[str, tuple[str, str]]) -> RenderedTree:
    """A spec's tree with the same edit in every file of the backend at these paths."""
    return tree(
        spec,
        {
            (artifact.device, artifact.path): lambda text, edit=changes[artifact.path]: re.sub(
                edit[0], edit[1], text, flags=re.M
            )  # type: ignore[misc]  # a bound default
            for artifact in artifacts_of(spec)
            if artifact.path in changes and BACKEND.match(artifact.device)
        },
    )


def blamed(subject: RenderedTree, example: Counterexample) -> str:
    return (subject.text(example.device, example.file) or "").split("\n")[example.line - 1] if example.line else ""


@pytest.mark.parametrize(("check", "spec", "changes", "message", "line"), LOST)
def test_what_all_switches_lost_is_compared_with_the_spec(
    check: str, spec: str, changes: dict[str, tuple[str, str]], message: str, line: str
) -> None:
    subject = everywhere(spec, changes)
    counterexamples = verdict(check, subject).counterexamples
    examples = [example for example in counterexamples if message in example.message]
    assert len(examples) == 1, [str(example) for example in counterexamples][:6]
    assert line in blamed(subject, examples[0])


def test_a_folder_has_no_spec_to_be_compared_with() -> None:
    assert verdict("qos", tree("lab-roce", declaration=False)).is_proven
