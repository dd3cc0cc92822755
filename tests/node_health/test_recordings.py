"""The node check against recorded nodes: each broken fact fails its own check and no other."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.node_health.recordings import DATA, FAULTS, NODES, Fault, broken, checks, places, recorded
from tests.pages.shown import assert_part, shown_by

from clusterwright import data_files
from clusterwright.node_health.main import UNABLE, UNHEALTHY, main
from clusterwright.node_health.readings import CommandOutput, from_transcript, to_transcript
from clusterwright.node_health.verdict import REASON_BYTES, Expected, verdict_of

CASES = [(fault, node) for fault in FAULTS for node in fault.nodes]


@cache
def kept(node: str) -> tuple[dict[str, CommandOutput], Expected]:
    return recorded(node)


@pytest.mark.parametrize("node", NODES)
def test_a_node_as_planned_is_healthy(node: str) -> None:
    found = checks(*kept(node))
    assert {name: each.reason for name, each in found.items() if not each.ok} == {}
    assert {"gpu-nvlink", "nic-rate", "packet-filter", "pci-acs", "mounts", "time", "image"} <= set(found)
    assert ("lossless-pfc" in found) == (node == "h100-roce")


def test_every_check_has_a_fault() -> None:
    made = {name for node in NODES for name in checks(*kept(node))}
    without = made - {fault.check for fault in FAULTS}
    assert without <= {"check-fabric-manager"}


@pytest.mark.parametrize(("fault", "node"), CASES, ids=[f"{fault.check}-{at}" for at, (fault, _) in enumerate(CASES)])
@settings(deadline=None, max_examples=4)
@given(data=st.data())
def test_a_broken_fact_fails_its_check_and_no_other(fault: Fault, node: str, data: st.DataObject) -> None:
    answers, expected = kept(node)
    where = places(fault, answers)
    assert where, f"nothing in the recording of {node} can break like this"
    line, at = data.draw(st.sampled_from(where))
    after = broken(fault, answers, line, at)
    assert after != answers
    failed = {name: each for name, each in checks(after, expected).items() if not each.ok}
    assert set(failed) == {fault.check}
    assert failed[fault.check].reason


@given(st.integers(0, 10**6), st.sampled_from(NODES))
@settings(deadline=None, max_examples=60)
def test_an_answer_that_is_lost_or_damaged_fails_something_and_breaks_nothing(seed: int, node: str) -> None:
    answers, expected = kept(node)
    line = sorted(answers)[seed % len(answers)]
    cut = CommandOutput(answers[line].text[: seed % (len(answers[line].text) + 1)])
    checks({**answers, line: cut}, expected)
    lost = checks({**answers, line: CommandOutput("", f"{line.split()[0]} did not answer within 1.5 s")}, expected)
    # No IOMMU; one hour; no offset; clocks by the firmware; no NVMe; what adapters there are is seen elsewhere.
    tolerated = (
        *("/sys/kernel/iommu_groups", "/proc/uptime", "timesync-status", "ls /sys/class", "/edac/", "/cpufreq/"),
        "/sys/class/nvme",
    )
    assert not all(each.ok for each in lost.values()) or any(word in line for word in tolerated), line


def test_a_transcript_is_read_as_it_was_written() -> None:
    answers = {
        "cat /a": CommandOutput("x\ny\n"),
        "false": CommandOutput("", "false ended with 1: no message"),
        "true": CommandOutput(""),
    }
    assert from_transcript(to_transcript(answers)) == answers


def test_the_reason_fits_slurm_whatever_fails() -> None:
    answers, expected = kept("h100-roce")
    nothing = checks(dict.fromkeys(answers, CommandOutput("", "no “answer”\n'at' \\ all")), expected)
    verdict = verdict_of("n0", nothing.values())
    assert len(verdict["reason"].encode()) == REASON_BYTES
    assert re.fullmatch(r"node-health: [ -~]*checks failed", verdict["reason"])
    assert not set("\"'\\\n") & set(verdict["reason"])


def test_the_command_says_why_and_tells_slurm_by_its_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers, _ = kept("h100-roce")
    fault = next(fault for fault in FAULTS if fault.check == "gpu-nvlink")
    record = tmp_path / "recorded.txt"
    record.write_text(to_transcript(broken(fault, answers, *places(fault, answers)[0])))
    good = str(DATA / "h100-roce/recorded.txt")
    assert main(["--expected", str(DATA / "h100-roce"), "--replay", good, "--prolog"]) == 0
    capsys.readouterr()
    assert main(["--expected", str(DATA / "h100-roce"), "--replay", str(record)]) == UNHEALTHY
    output = capsys.readouterr().out
    assert_part(shown_by("health.md", "node-health"), re.sub(r'"node": "[^"]+"', '"node": "gpu-p00r004n1"', output))
    verdict = json.loads(output)
    assert verdict["ok"] is False
    assert verdict["reason"] == "node-health: gpu-nvlink (GPU 0 has 17 of 18 NVLinks up)"
    (failed,) = (each for each in verdict["checks"] if not each["ok"])
    assert failed["expected"] == "18 on each of 8"
    assert failed["observed"] == "143 links up"
    assert main(["--expected", str(DATA / "h100-roce"), "--replay", str(record), "--prolog"]) == UNHEALTHY
    assert capsys.readouterr() == ("", verdict["reason"] + "\n")
    assert main(["--expected", str(tmp_path), "--replay", good]) == UNABLE
    assert "health.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "state", "since_us", "job", "fits"),
    [
        ("notify", "activating/start", 0, "", True),
        ("notify", "activating/auto-restart", 9, "", False),
        ("notify", "deactivating/stop-sigterm", 9, "7", True),
        ("notify", "inactive/dead", 9, "7", True),
        ("notify", "inactive/dead", 9, "", False),
        ("notify", "inactive/dead", 0, "7", False),
        ("notify", "failed/failed", 9, "", False),
        ("oneshot", "activating/start", 0, "7", False),
        ("oneshot", "activating/start", 9, "7", True),
    ],
)
def test_a_unit_that_is_started_anew_is_no_reason_and_one_that_keeps_ending_is(
    kind: str, state: str, since_us: int, job: str, fits: bool
) -> None:
    """A deployment starts units anew while Slurm asks: what drains a node then, nothing takes back."""
    answers, expected = kept("h100-roce")
    asked = next(line for line in answers if line.startswith("systemctl show"))
    active, _, sub = state.partition("/")
    told = f"Type={kind}\nId=chronyd.service\nActiveState={active}\nSubState={sub}\n"
    told += f"ActiveEnterTimestampMonotonic={since_us}\n" + (f"Job={job}\n" if job else "")
    said = re.sub(r"Type=\w+\nId=chronyd\.service\n.*\n.*\n.*\n", told, answers[asked].text)
    assert checks({**answers, asked: CommandOutput(said)}, expected)["units"].ok is fits


@pytest.mark.parametrize("offset", ["+1min 2.345678s", "-2h 3min", "+3.5 fortnights"])
def test_a_clock_that_is_off_by_minutes_fails(offset: str) -> None:
    answers, expected = kept("a100-ib")
    line = "timedatectl timesync-status"
    text = answers[line].text.replace("+112us", offset)
    assert text != answers[line].text
    failed = [name for name, each in checks({**answers, line: CommandOutput(text)}, expected).items() if not each.ok]
    assert failed == ["time"]


def test_a_spec_may_leave_out_every_check() -> None:
    strings = json.loads((data_files.folder("inventory") / "schema/strings.schema.json").read_text())
    known = re.compile(strings["$defs"]["health_check"]["pattern"])
    assert not {name for node in NODES for name in checks(*kept(node)) if not known.search(name)}


def in_domain(
    ready: str = "READY\n", clique: str = "32766", cluster: str = "2f1c5d6a-8d5e-4c56-9d3c-0a4bd3f5c7e1"
) -> set[str]:
    """The checks that fail on a node of an NVLink domain, by what IMEX says, and the driver of its first GPU."""
    answers, expected = kept("h100-ib")
    text = re.sub(r"(CliqueId +): 0\n", r"\g<1>: 32766\n", answers["nvidia-smi -q"].text)
    text = text.replace(": 32766\n", f": {clique}\n", 1)
    text = re.sub(r"(ClusterUUID +): \S+\n", rf"\g<1>: {cluster}\n", text)
    told = {**answers, "nvidia-smi -q": CommandOutput(text), "nvidia-imex-ctl -q": CommandOutput(ready)}
    gpus = {**expected["gpus"], "shares_nvlink": True}
    return {name for name, each in checks(told, {**expected, "gpus": gpus}).items() if not each.ok}


def test_a_node_of_an_nvlink_domain_is_asked_for_it() -> None:
    assert in_domain() == set()
    assert in_domain(ready="WAITING_FOR_PEERS\n") == {"gpu-memory-exchange"}
    assert in_domain(ready="") == {"gpu-memory-exchange"}
    assert in_domain(clique="32765") == {"gpu-fabric"}
    assert in_domain(cluster="00000000-0000-0000-0000-000000000000") == {"gpu-fabric"}
