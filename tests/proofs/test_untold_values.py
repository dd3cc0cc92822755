"""What one system has no place for is left out of its switches' text alone, warned of and noted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.plans import plan_with

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.management import MANAGEMENT
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.engine import lint_path

KEYS = tuple(f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4{each}" for each in "fgh")
OPERATOR = "site:\n  operators:\n    - name: netops\n      keys: [" + ", ".join(f'"{key}"' for key in KEYS) + "]\n"
DNS = 'site:\n  management: {dns: ["10.99.240.53", "10.99.240.54", "10.99.240.55", "10.99.240.56"]}\n'
SNMP = "site:\n  snmp: {user: nms}\n"
NTP = f"site:\n  management: {{ntp: [{', '.join(f'10.99.240.{number}' for number in range(123, 134))}]}}\n"
AAA = f"site:\n  aaa: {{servers: [{', '.join(f'10.98.240.{number}' for number in range(41, 49))}]}}\n"
SONIC_FILE, EOS_FILE = "etc/sonic/config_db.json", "mnt/flash/startup-config"


def judged(plan: Plan, device: str, path: str = "", old: str = "") -> Verdict:
    """The verdict of `management` on a switch without what ``old`` matches in one of its files."""
    files = []
    for file in Rendering(plan).of_device(device):
        content = re.sub(old, "", file.content.decode(), count=1, flags=re.M) if file.path == path else None
        assert content is None or content.encode() != file.content
        files.append(file if content is None else Artifact(device, path, content.encode(), file.kind))
    tree = tree_of(plan.spec.name, files, Declaration(plan))
    assert not ISOLATION.run(tree).counterexamples
    return MANAGEMENT.run(tree)


def texts(plan: Plan, device: str) -> str:
    return "\n".join(file.content.decode() for file in Rendering(plan).of_device(device))


def test_a_third_key_is_told_to_the_systems_that_keep_it(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", OPERATOR)
    findings = lint_path(tmp_path / "overlay.yaml").findings
    assert [(finding.code, finding.severity.label) for finding in findings] == [("CW321", "warning")]
    contents = [key.split()[1] for key in KEYS]
    assert [key in texts(plan, "ctsw-p00-00") for key in contents] == [True, True, False]
    assert [key in texts(plan, "rtsw-p00r00") for key in contents] == [True, True, True]
    for device in ("ctsw-p00-00", "rtsw-p00r00"):
        assert judged(plan, device).is_proven
    notes = judged(plan, "ctsw-p00-00").notes
    assert "EOS does not get all of site.operators[].keys: it keeps 2 of the 3 keys of netops." in notes
    assert not [note for note in judged(plan, "rtsw-p00r00").notes if "not told all" in note]


def test_a_key_that_the_system_does_keep_is_missed(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", OPERATOR)
    lacking = judged(plan, "ctsw-p00-00", EOS_FILE, r"^username netops ssh-key secondary .*\n")
    assert [example.message for example in lacking.counterexamples] == [
        "a key of the operator netops does not open the account"
    ]


@pytest.mark.parametrize(
    ("overlay", "code", "told", "untold"),
    [
        (DNS, "CW354", "10.99.240.55", "10.99.240.56"),
        (NTP, "CW354", "10.99.240.132", "10.99.240.133"),
    ],
    ids=["names", "time"],
)
def test_servers_beyond_what_one_system_takes_stay_for_the_other(
    overlay: str, code: str, told: str, untold: str, tmp_path: Path
) -> None:
    plan = plan_with(tmp_path, "lab-sonic", overlay)
    findings = lint_path(tmp_path / "overlay.yaml").findings
    assert code in {finding.code for finding in findings}
    assert {finding.severity.label for finding in findings} <= {"warning", "note"}
    other = next(device.name for device in plan.devices if plan.spec.catalogue[device.model].network_os == "eos")
    assert told in texts(plan, "rtsw-p00r00")
    assert untold not in texts(plan, "rtsw-p00r00")
    assert untold in texts(plan, other)
    assert judged(plan, "rtsw-p00r00").is_proven
    assert judged(plan, other).is_proven


def test_servers_of_logins_beyond_what_nvue_takes(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-nvue", AAA)
    assert "CW354" in {finding.code for finding in lint_path(tmp_path / "overlay.yaml").findings}
    assert "10.98.240.47" in texts(plan, "rtsw-p00r00")
    assert "10.98.240.48" not in texts(plan, "rtsw-p00r00")
    assert judged(plan, "rtsw-p00r00").is_proven


def test_a_user_that_sonic_refuses_is_told_to_the_others(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-sonic", SNMP)
    findings = lint_path(tmp_path / "overlay.yaml").findings
    assert {(finding.code, finding.severity.label) for finding in findings if finding.code == "CW354"} == {
        ("CW354", "warning")
    }
    other = next(device.name for device in plan.devices if plan.spec.catalogue[device.model].network_os == "eos")
    assert "nms" not in texts(plan, "rtsw-p00r00")
    assert "nms" in texts(plan, other)
    assert judged(plan, "rtsw-p00r00").is_proven


UNTIL = "site:\n  operators:\n    - {name: netops, until: 2126-01-31}\n"
KEYS_FILE, END = "etc/ssh/authorized_keys.d/netops", 'expiry-time="21260131235959" '


@pytest.mark.parametrize(
    ("lab", "device", "ends"),
    [("lab-sonic", "rtsw-p00r00", True), ("lab-roce", "rtsw-p00r00", True), ("lab-roce", "ctsw-p00-00", False)],
)
def test_an_account_ends_where_the_system_can_end_it(lab: str, device: str, ends: bool, tmp_path: Path) -> None:
    plan = plan_with(tmp_path, lab, UNTIL)
    assert (END in texts(plan, device)) is ends
    assert judged(plan, device).is_proven
    findings = [finding for finding in lint_path(tmp_path / "overlay.yaml").findings if finding.path.endswith("until")]
    assert {finding.code for finding in findings} == {"CW354"}
    assert [finding.position.line for finding in findings] == [4] * len(findings)


def test_a_key_that_does_not_end_is_found(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-sonic", UNTIL)
    files = list(Rendering(plan).of_device("rtsw-p00r00"))
    (index,) = (at for at, file in enumerate(files) if file.path == KEYS_FILE)
    content = files[index].content
    for text in (content.replace(END.encode(), b""), content + content.replace(END.encode(), b"")):
        files[index] = Artifact("rtsw-p00r00", KEYS_FILE, text, files[index].kind)
        counterexamples = ISOLATION.run(tree_of(plan.spec.name, files, Declaration(plan))).counterexamples
        assert "opens with a key that is none of its operator's" in counterexamples[0].message
