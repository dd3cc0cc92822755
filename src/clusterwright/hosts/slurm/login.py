"""Files for Slurm's commands on login nodes, without a daemon to fetch them.

slurm.conf is the controllers' own text. Slurm's sackd, which fetches it for commands, came with 23.11: too late for
some distributions.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.hosts.slurm.configuration import configuration_files
from clusterwright.plan.model import Plan
from clusterwright.spec.job import Scheduler

# Of all files below /etc/slurm, those that sbatch, salloc and srun open: the second has srun's options for containers.
_READ_BY_COMMANDS = ("slurm.conf", "plugstack.conf")


def login_files(plan: Plan, scheduler: Scheduler) -> Iterator[tuple[str, bytes]]:
    """The controllers' files that commands read, by name."""
    for name, content in configuration_files(plan, scheduler):
        if name in _READ_BY_COMMANDS:
            yield name, content
