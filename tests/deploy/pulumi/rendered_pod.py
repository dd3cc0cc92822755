"""The lab's first pod and its upper layer, rendered once for many deployments: each takes the trees and the notes.

What a first update has to do beyond that is as it was. That it renders what nobody rendered before is another test's.
A test of what comes after the first update takes one that is kept.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.rendering import Source, make_manifests
from clusterwright.deploy.pulumi.units import UPPER, choose, cut
from clusterwright.deploy.targets import DIRECTORY, TargetSettings
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec
from clusterwright.spec.text.source import noting_reads


@dataclass(frozen=True)
class RenderedPod:
    """The notes are of ``spec``, at its path and as it was: one that a test edits is rendered anew by the command."""

    spec: Path
    root: Path

    def give(self, root: Path) -> None:
        """To the deployment under ``root``, which has nothing yet."""
        for name in ("objects", "manifests"):
            shutil.copytree(self.root / name, root / name, copy_function=os.link)

    def put_spec_back(self) -> None:
        """As it was rendered."""
        shutil.copy(folder("inventory") / "lab-roce.yaml", self.spec)


def render_pod(place: Path) -> RenderedPod:
    """Renders into ``place``, a folder that is there."""
    pod = RenderedPod(place / "lab-roce.yaml", place / "rendered")
    pod.put_spec_back()
    with noting_reads() as read:
        plan = build_plan(load_spec(pod.spec))
    make_manifests(
        plan, TargetSettings(DIRECTORY, pod.root), choose(cut(plan), ("pod0", UPPER)), Source(pod.spec, read)
    )
    return pod


@dataclass(frozen=True)
class Deployed:
    """A deployment as it was when its update had ended, for many tests to go on from, each at the same place."""

    root: Path
    kept: Path

    def put_back(self) -> None:
        """Nothing that was done since is left."""
        shutil.rmtree(self.root)
        shutil.copytree(self.kept, self.root, symlinks=True)


def keep(root: Path) -> Deployed:
    """What lies under ``root``, whose paths its state names, is kept beside it."""
    kept = root.with_name(f"{root.name}-kept")
    shutil.copytree(root, kept, symlinks=True)
    return Deployed(root, kept)
