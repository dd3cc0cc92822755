"""Deployments without an engine: the trees of a spec as if every device had been given them, and the note of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterwright.artifact import Artifact
from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.units import cut
from clusterwright.deploy.store import Store
from clusterwright.deploy.target import DeviceTree
from clusterwright.device_files.effect import Effect
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rollout.consequences import effect_of
from clusterwright.rollout.deployed import keep_spec, record
from clusterwright.rollout.preview.preview import Change, Preview, preview
from clusterwright.rollout.running_jobs import RunningJob
from clusterwright.rollout.waves import plan_waves
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

Edit = tuple[str, str]
"""A text of the spec, and what replaces it."""


@dataclass(frozen=True)
class Tampered:
    """One file of one device, with ``old`` replaced by ``new`` where it is there first."""

    device: str
    path: str
    old: str
    new: str

    def applied(self, tree: DeviceTree) -> DeviceTree:
        """The tree with that file, which must hold ``old``."""
        return tuple(self._edited(item) if item.path == self.path else item for item in tree)

    def _edited(self, item: Artifact) -> Artifact:
        assert self.old.encode() in item.content
        content = item.content.replace(self.old.encode(), self.new.encode(), 1)
        return Artifact(item.device, item.path, content, item.kind, item.mode)


@dataclass
class Site:
    """A deployment under ``root``: ``text`` is its spec, ``held`` what its devices were given last."""

    root: Path
    text: str
    held: Mapping[str, str]

    @property
    def spec(self) -> Path:
        """The file to edit and to load."""
        return self.root / "spec.yaml"

    def edit(self, *replaced: Edit) -> None:
        """Writes the spec with each text replaced, which must be there once. The result must pass lint."""
        text = self.text
        for old, new in replaced:
            assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
            text = text.replace(old, new)
        self.spec.write_text(text)
        errors = [finding for finding in lint_path(self.spec).findings if finding.severity.name == "ERROR"]
        assert not errors, "\n".join(str(finding) for finding in errors)

    def plan(self) -> Plan:
        """The plan of the spec as it stands now."""
        return build_plan(load_spec(self.spec))

    def preview(
        self,
        layers: tuple[str, ...] = (),
        jobs: tuple[RunningJob, ...] | None = None,
        held: Mapping[str, str] | None = None,
        tampered: Tampered | None = None,
    ) -> Preview:
        """The preview of an update of ``layers``, all when there are none."""
        plan, store = self.plan(), Store(self.root / "objects")
        stacks = cut(plan)
        chosen = [stack for stack in stacks if not layers or stack.layer in layers]
        trees = {
            name: Rendering(plan).of_device(name) for stack in chosen for unit in stack.units for name in unit.devices
        }
        if tampered is not None:
            trees[tampered.device] = tampered.applied(trees[tampered.device])
        wanted = {name: store.put_tree(tree) for name, tree in trees.items() if tree}
        given = self.held if held is None else held
        changed = [name for name in wanted if given.get(name) != wanted[name]]
        before = {name: store.get_tree(name, given[name]) for name in changed if given.get(name)}
        found = {name: Effect.LIVE for name in changed if name not in before}
        for name, tree in before.items():
            effect = effect_of(plan.by_name[name], tree, trees[name])
            if effect is not None:
                found[name] = effect
        waves = plan_waves(plan, chosen, found, plan.spec.rollout)
        return preview(Change(plan, stacks, chosen, given, wanted, found, waves), self.root, jobs)


def deploy(root: Path, name: str = "lab-roce", *replaced: Edit) -> Site:
    """The reference spec ``name``, edited, deployed completely under ``root``."""
    root.mkdir(exist_ok=True)
    site = Site(root, (folder("inventory") / f"{name}.yaml").read_text(), {})
    site.edit(*replaced)
    site.text = site.spec.read_text()
    plan = site.plan()
    store = Store(root / "objects")
    trees = {device.name: Rendering(plan).of_device(device.name) for device in plan.devices}
    site.held = {device: store.put_tree(tree) for device, tree in trees.items() if tree}
    kept = keep_spec(store, plan.spec)
    for stack in cut(plan):
        record(root, stack, kept, site.held)
    return site
