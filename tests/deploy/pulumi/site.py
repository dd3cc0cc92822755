"""A deployment of the lab's first pod in a folder of its own, that a test disturbs and repeats."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cli.in_process import command
from tests.deploy.pulumi.rendered_pod import RenderedPod

from clusterwright.deploy.target import Holding
from clusterwright.deploy.targets import TargetSettings

BIN = Path(sys.executable).parent
STACK = "lab-roce-pod0"
Held = tuple[dict[str, str], dict[str, str]]
"""What state and devices hold."""


@dataclass(frozen=True)
class Site:
    """A deployment under a folder of its own."""

    root: Path
    spec: Path

    def update(self, *options: str) -> list[str]:
        """The whole command as a program; running devices change in waves, for a reason."""
        where = ("--root", str(self.root), "--pod", "pod0")
        return [str(BIN / "clusterwright"), "up", str(self.spec), *where, "--reason", "a test", "--yes", *options]

    @property
    def events(self) -> Path:
        return self.root.with_suffix(".events")

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        return command(*self.update(*options)[1:], cwd=self.spec.parent)

    def program(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """As ``run``, in a process of its own."""
        variables = {**os.environ, **environment}
        return subprocess.run(self.update(*options), capture_output=True, text=True, check=False, env=variables)

    def up(self) -> str:
        done = self.run()
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stderr

    def give_nodes_another_setting(self) -> None:
        text = self.spec.read_text()
        old = "net.core.netdev_max_backlog: 250000"
        assert text.count(old) == 1
        self.spec.write_text(text.replace(old, "net.core.netdev_max_backlog: 300000"))

    @property
    def state(self) -> Path:
        return self.root / "state" / ".pulumi" / "stacks" / "clusterwright" / f"{STACK}.json"

    def recorded(self) -> dict[str, str]:
        """Device to tree digest, as Pulumi's state has it; a unit that failed is a mistake of the test."""
        latest = json.loads(self.state.read_text())["checkpoint"]["latest"]
        assert not latest.get("pending_operations")
        units = [each["outputs"] for each in latest["resources"] if "devices" in each.get("outputs", {})]
        assert not any("failed" in unit for unit in units)
        return {
            name: digest
            for unit in units
            if isinstance(unit["devices"], dict)
            for name, digest in unit["devices"].items()
        }

    def held(self) -> dict[str, str]:
        """Device to a digest over what it holds."""
        names = [path.name for path in sorted((self.root / "flash").iterdir())]
        found = TargetSettings("directory", self.root).open().read(names)
        return {name: held.digest for name, held in found.items() if isinstance(held, Holding)}


def site_in(place: Path, pod: RenderedPod) -> Site:
    """A deployment of the pod that nobody deployed yet."""
    pod.give(place / "up")
    return Site(place / "up", pod.spec)
