"""What has to hold for a spec that lints without an error, from its plan to a preview of its next change.

A crash anywhere, a proof that is refuted though lint foretold nothing of the kind, an answer without a reason, bytes
that
differ between two runs and counts that disagree are failures.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import click
from click.testing import CliRunner
from hier_config import Platform, get_hconfig
from tests.plan.invariants import check_plan

from clusterwright.artifact import Artifact
from clusterwright.cli.main import cli
from clusterwright.deploy.pulumi.units import cut
from clusterwright.deploy.store import Store
from clusterwright.device_files.effect import Effect
from clusterwright.facts.unread import BETWEEN
from clusterwright.finding import ClusterwrightError, Finding
from clusterwright.hosts.linux.writer import nftables
from clusterwright.lists.as_ansible import ansible_lines
from clusterwright.lists.as_csv import csv_files
from clusterwright.lists.as_json import json_lines
from clusterwright.lists.records import Inventory
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.proofs.check import ProofCheck
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.report.figures import figures
from clusterwright.report.html import report_files
from clusterwright.rollout.deployed import keep_spec, record
from clusterwright.rollout.preview.preview import Change, preview
from clusterwright.rollout.preview.text import text_lines
from clusterwright.rollout.waves import plan_waves
from clusterwright.spec.ethernet import ExtraConfig
from clusterwright.spec.load import load_spec

SHORTEST_REASON = 12  # characters below which a reason says nothing
COMMANDS = (
    ("simulate", "--ranks", "8", "--seeds", "1"),
    ("place",),
    ("nccl",),
    ("bringup", "--format", "json"),
)


# Findings that foretell a refuted proof: what a design has by choice is told by lint on its line, and by the proof.
FORETOLD = {
    "CW213": ("ib-path-balance",),
    "CW245": ("ethernet-bisection",),
    "CW246": ("ib-path-balance",),
    "CW250": ("ethernet-failures",),
    "CW346": ("exchanges",),
    "CW360": ("exchanges",),
    "CW361": ("exchanges",),
}


class Broken(AssertionError):
    """What was asked of a stage does not hold."""


class Failed(AssertionError):
    """A promise that a spec broke: ``stage`` is where, ``what`` the same for all specs that break it alike."""

    def __init__(self, stage: str, what: str) -> None:
        super().__init__(f"{stage}: {what}")
        self.stage = stage
        self.what = what


@dataclass(frozen=True, eq=False)
class Rendered:
    """A spec with its plan and all its files."""

    plan: Plan
    files: tuple[Artifact, ...]

    @cached_property
    def tree(self) -> RenderedTree:
        """What proofs read of it."""
        kinds = {kind for check in CHECKS for kind in check.kinds}
        return tree_of(self.plan.name, (file for file in self.files if file.kind in kinds), Declaration(self.plan))


def judge(path: Path, findings: Sequence[Finding], *, thorough: bool) -> list[Failed]:
    """Runs everything on the sound spec at ``path``; what broke, nothing else. ``thorough`` adds what takes long."""
    try:
        rendered = _rendered(path)
    except Exception as error:
        return [_failure("plan and render", error)]
    plan = rendered.plan
    foretold = {name for finding in findings for name in FORETOLD.get(finding.code, ())}
    steps: list[tuple[str, Callable[[], object]]] = [
        ("plan", lambda: _check_plan(plan)),
        ("syntax", lambda: _check_syntax(rendered, thorough)),
        *((f"verify {check.name}", partial(_check_proof, rendered, check, foretold)) for check in CHECKS),
        ("inventory", lambda: _check_inventory(plan)),
        ("report", lambda: report_files(plan, tuple(findings))),
        *((name, partial(_check_command, [name, str(path), *rest])) for name, *rest in COMMANDS),
        ("preview", lambda: _check_preview(rendered, path.parent)),
    ]
    if thorough:
        steps.append(("diff", partial(_check_command, ["diff", str(path), str(path)])))
        steps.append(("render again", partial(_check_bytes, rendered, path)))
    return [failure for name, step in steps if (failure := _outcome(name, step)) is not None]


def _outcome(name: str, step: Callable[[], object]) -> Failed | None:
    try:
        step()
    except Exception as error:
        return _failure(name, error)
    return None


def _failure(name: str, error: Exception) -> Failed:
    failure = Failed(name, str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


def _check_plan(plan: Plan) -> None:
    """The plan's invariants; those of rails do not speak of hosts that fill free ports."""
    if all(attach.to is None for fabric in plan.spec.fabrics for attach in fabric.attach):
        check_plan(plan.spec, build_skeleton(plan.spec), plan)


def _check_bytes(rendered: Rendered, path: Path) -> None:
    again = _rendered(path)
    _require([file.sha256 for file in again.files] == [file.sha256 for file in rendered.files], "bytes differ")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(what)


def _rendered(path: Path) -> Rendered:
    plan = build_plan(load_spec(path))
    return Rendered(plan, tuple(Rendering(plan).of_devices()))


def _check_syntax(rendered: Rendered, thorough: bool) -> None:
    """Every JSON file parses; EOS text makes a tree, and nft accepts filters, of one device of each role."""
    roles: set[tuple[str, str]] = set()
    for file in rendered.files:
        if file.path.endswith(".json") or (file.kind in {"fboss", "sonic"} and file.content[:1] == b"{"):
            json.loads(file.content)
        seen = (rendered.plan.by_name[file.device].role, file.path)
        if seen in roles:
            continue
        roles.add(seen)
        if file.path.endswith("startup-config"):
            text = file.content.decode()
            _require(bool(list(get_hconfig(Platform.ARISTA_EOS, text).all_children())), "EOS text without a tree")
        if thorough and file.path in {nftables.RUNNING_PATH, nftables.BOOT_PATH}:
            _check_filter(file)


def _check_filter(file: Artifact) -> None:
    command = ["unshare", "--net", "nft", "-c", "-f", "-"]
    done = subprocess.run(command, input=file.content, capture_output=True, check=False)
    _require(done.returncode == 0, f"nft refuses {file.path}: {done.stderr.decode()}")


def _check_proof(rendered: Rendered, check: ProofCheck, foretold: Collection[str]) -> None:
    tree = rendered.tree
    if not check.applies(tree):
        return
    verdict = check.run(tree)
    if verdict.is_refuted:
        shown = "; ".join(str(example) for example in verdict.counterexamples[:3])
        _require(check.name in foretold, f"refuted: {shown}")
    elif not verdict.is_proven:
        _require(len(verdict.word) >= SHORTEST_REASON, f"{check.name} does not say why: {verdict.word!r}")
    added = rendered.plan.spec.extra_config
    strange = [place for place in verdict.unread if not any(place.unread.text in _said(each) for each in added)]
    _require(not strange, f"{check.name}: readers do not know what writers write: {strange[:3]}")


def _said(added: ExtraConfig) -> set[str]:
    """Everything that an entry adds, as proofs name it."""
    keys = {BETWEEN.join(part) for part in _paths(added.merge, ())}
    return keys | {place for line in added.lines for place in added.places(line)}


def _paths(value: object, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield above
    for key, below in value.items() if isinstance(value, Mapping) else ():
        yield from _paths(below, (*above, key))


def _check_inventory(plan: Plan) -> None:
    inventory = Inventory(plan)
    document = json.loads("".join(json_lines(inventory, figures(plan))))
    _require(len(document["devices"]) == len(plan.devices), "devices of the JSON")
    _require(len(document["cables"]) == len(plan.cables), "cables of the JSON")
    hosts = json.loads("".join(ansible_lines(inventory)))["all"]["hosts"]
    _require(set(hosts) == set(plan.by_name), "hosts of Ansible")
    rows = {name: list(csv.DictReader(io.StringIO(text))) for name, text in csv_files(inventory).items()}
    _require(len(rows["devices.csv"]) == len(plan.devices), "devices of the CSV")
    _require(len(rows["cables.csv"]) == len(plan.cables), "cables of the CSV")
    _require(len(rows["addresses.csv"]) == len(document["addresses"]), "addresses of the CSV")


def _check_command(arguments: list[str]) -> None:
    """A command answers, or says why it cannot; a crash is neither."""
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    error = result.exception
    if isinstance(error, ClusterwrightError | click.ClickException):
        said = str(error) if isinstance(error, ClusterwrightError) else error.format_message()
        _require(len(said) >= SHORTEST_REASON, f"refuses without a reason: {said!r}")
    elif error is not None:
        raise error


def _check_preview(rendered: Rendered, folder: Path) -> None:
    """Everything new; and, on top of that, the first device whose files change by one line."""
    plan = rendered.plan
    store = Store(folder / "objects")
    trees: dict[str, list[Artifact]] = {}
    for file in rendered.files:
        trees.setdefault(file.device, []).append(file)
    held = {name: store.put_tree(tuple(tree)) for name, tree in trees.items()}
    stacks = cut(plan)
    kept = keep_spec(store, plan.spec)
    fresh = dict.fromkeys(held, Effect.LIVE)
    for given, found in (({}, fresh), (held, {})):
        waves = plan_waves(plan, stacks, found, plan.spec.rollout)
        shown = preview(Change(plan, stacks, stacks, given, held, found, waves), folder, None)
        _require(bool("".join(text_lines(shown)).strip()), "nothing to read")
        for stack in stacks:
            record(folder, stack, kept, held)
