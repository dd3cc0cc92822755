"""Every line of every file that opensm is given, edited in every way that a slip does: named, or known to be harmless.

The edit is made on all managers alike, so that comparing them with each other does not give it away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.plans import plan_of, plan_with

from clusterwright.artifact import Artifact
from clusterwright.finding import VerifyError
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import ProofCheck
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.option_meaning import OPENSM_FREE, QOS_FREE, UFM_FREE
from clusterwright.proofs.infiniband.subnet import KINDS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of

JUDGES = sorted(
    (check for check in CHECKS if check.name.startswith("ib-")),
    key=lambda check: check.name not in {"ib-managers", "ib-partitions"},
)
CLASSES = """fabrics:
  - name: backend
    classes:
      - {name: data, service_level: 1, queue: 1, weight: 64, arbitration: high}
      - {name: bulk, service_level: 2, queue: 2, weight: 32, arbitration: low}
    subnet_manager: {m_key: {secret: m-key, protection: 2, lease_s: 60}}
"""
UFM = """fabrics:
  - name: backend
    subnet_manager: {kind: ufm, routing_engine: ar_updn, adaptive_routing: true, sharp: true}
"""


class Subject(NamedTuple):
    artifacts: tuple[Artifact, ...]
    declaration: Declaration


def subject(plan: Plan) -> Subject:
    return Subject(tuple(Rendering(plan).of_kinds(KINDS)), Declaration(plan))


@cache
def lab() -> Subject:
    return subject(plan_of("lab-ib"))


def mutations(line: str) -> Iterator[tuple[str, str | None]]:
    """What may become of a line, None where it goes; with what was done."""
    yield "dropped", None
    yield "doubled", f"{line}\n{line}"
    for match in re.finditer(r"0x[0-9a-fA-F]+|(?<![\w.-])(?:0|[1-9]\d*)(?![\w.])", line):
        for step in (1, -1):
            number = int(match[0], 0) + step
            if number >= 0:
                new = f"0x{number:0{len(match[0]) - 2}x}" if match[0].startswith("0x") else str(number)
                yield f"{match[0]} to {new}", line[: match.start()] + new + line[match.end() :]
    for match in re.finditer(r"\b(TRUE|FALSE)\b", line):
        flipped = "FALSE" if match[0] == "TRUE" else "TRUE"
        yield "flipped", line[: match.start()] + flipped + line[match.end() :]
    for match in re.finditer(r"[A-Za-z_][\w-]*", line):
        yield f"{match[0]} altered", line[: match.end()] + "x" + line[match.end() :]
        if match[0] in {"full", "limited", "both", "off", "on-failure"}:
            other = {"full": "limited", "limited": "full", "both": "off", "off": "socket", "on-failure": "no"}
            yield "turned", line[: match.start()] + other[match[0]] + line[match.end() :]


def harmless(path: str, line: str, how: str) -> str:
    """Why an edit of a line changes no claim; "" where it must be named."""
    name = line.split(" ", 1)[0]
    if not line.strip() or line.lstrip().startswith("#"):
        return "a comment, or nothing"
    if line.startswith("Description="):
        return "a name for people"
    free = {**(OPENSM_FREE if path.startswith("etc/") else UFM_FREE), **QOS_FREE}
    if name in free and " to " in how and free[name].least <= int(how.rpartition(" ")[2], 0) <= free[name].most:
        return free[name].reason
    return ""


def named(at: Subject, path: str, number: int, new: str | None, judges: list[ProofCheck]) -> str:
    """The check that names an edit with its device and file, "" where none does."""
    made = []
    for artifact in at.artifacts:
        lines = artifact.content.decode().split("\n")
        if artifact.path == path:
            lines[number - 1 : number] = [] if new is None else [new]
        made.append(Artifact(artifact.device, artifact.path, "\n".join(lines).encode(), artifact.kind))
    devices = sorted({artifact.device for artifact in made})
    tree = tree_of("mutated", made, at.declaration)
    for check in judges:
        try:
            counterexamples = check.run(tree).counterexamples
        except VerifyError as error:
            return f"{check.name} cannot run: {error}" if str(error).startswith(f"{devices[0]}:/") else ""
        if any(example.device for example in counterexamples):
            return check.name
    return ""


def missed(at: Subject, folders: tuple[str, ...]) -> tuple[int, list[str]]:
    """How many edits were tried, and those that no check names although nothing says that they are harmless."""
    first = at.artifacts[0].device
    tried, silent = 0, []
    for artifact in at.artifacts:
        if artifact.device != first or not artifact.path.startswith(folders) or artifact.path.endswith("fabric.net"):
            continue
        for number, line in enumerate(artifact.content.decode().split("\n"), 1):
            for how, new in mutations(line):
                if harmless(artifact.path, line, how):
                    continue
                tried += 1
                if not named(at, artifact.path, number, new, JUDGES):
                    silent.append(f"{artifact.path}:{number}: {line.strip()} ({how})")
    return tried, silent


def test_every_line_of_opensm_is_read() -> None:
    tried, silent = missed(lab(), ("etc/opensm", "etc/systemd"))
    assert silent == []
    assert tried > 1500


def test_every_line_of_opensm_conf_with_classes_and_a_key_is_read(tmp_path: Path) -> None:
    at = subject(plan_with(tmp_path, "lab-ib", CLASSES))
    tried, silent = missed(at, ("etc/opensm/opensm.conf", "etc/systemd"))
    assert silent == []
    assert tried > 150


def test_every_line_of_ufms_opensm_conf_is_read(tmp_path: Path) -> None:
    at = subject(plan_with(tmp_path, "lab-ib", UFM))
    tried, silent = missed(at, ("opt/ufm/files/conf/opensm/opensm.conf",))
    assert silent == []
    assert tried > 80
