"""A spec in a folder of its own with the target directory that it is deployed into, by the real Pulumi."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cli.in_process import command

from clusterwright.deploy.pulumi.project import pulumi_environment

CHECKOUT = Path(__file__).parents[3]


BIN = Path(sys.executable).parent


STACK = "lab-roce-pod0"


@dataclass(frozen=True)
class Site:
    """A copy of the lab's spec, deployed under a folder of its own."""

    root: Path
    spec: Path

    def words(self, action: str, *options: str) -> list[str]:
        return [action, str(self.spec), "--root", str(self.root), *(options or ("--pod", "pod0"))]

    def run(self, action: str, *options: str, told: str = "") -> subprocess.CompletedProcess[str]:
        return command(*self.words(action, *options), cwd=self.spec.parent, given=told)

    def up(self, *options: str) -> subprocess.CompletedProcess[str]:
        done = self.run("up", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def edit(self, old: str, new: str) -> None:
        text = self.spec.read_text()
        assert text.count(old) == 1
        self.spec.write_text(text.replace(old, new))

    def give_one_rack_another_image(self) -> None:
        self.edit(
            "\nimages:\n",
            "\nimages:\n"
            "  - name: canary\n"
            '    distribution: "Debian 13"\n'
            "    modules: [ib_uverbs, mlx5_ib]\n"
            "    sysctl: {net.core.netdev_max_backlog: 300000}\n"
            "    limits: {memlock: unlimited, nofile: 1048576}\n",
        )
        self.edit(
            "\nexpect:\n", '\nexceptions:\n  - {group: p00r01, image: canary, reason: "tried here first"}\n\nexpect:\n'
        )

    def flash(self) -> dict[str, tuple[int, bytes]]:
        """Path to inode and content of everything on the devices: a file that was written again has another inode."""
        files = (path for path in sorted((self.root / "flash").rglob("*")) if path.is_file())
        return {str(path.relative_to(self.root / "flash")): (path.stat().st_ino, path.read_bytes()) for path in files}

    def pulumi(self, *arguments: str, at_once: str = "a test", fails: bool = False) -> subprocess.CompletedProcess[str]:
        """Pulumi's own command, with a reason for what it does ``at_once``."""
        done = subprocess.run(
            ["pulumi", *arguments, "--stack", STACK, "--cwd", self.root / "project", "--non-interactive"],
            env={**pulumi_environment(self.root), "CLUSTERWRIGHT_AT_ONCE": at_once},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done
