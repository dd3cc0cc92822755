"""A real slurmdbd over its rendered file, with a real MariaDB behind it and a real slurmctld before it."""

from __future__ import annotations

from pathlib import Path

from tests.hosts.slurm.controller import controller_answers
from tests.plans import plan_with

RECORDS = """
scheduler:
  accounting: {nodes: services, database: {host: db.lab.example.net, secret: slurm-database}}
"""


def test_slurmctld_registers_over_ipv6_with_slurmdbd_which_keeps_that_in_its_database(tmp_path: Path) -> None:
    answers = controller_answers(plan_with(tmp_path, "lab-tenants", RECORDS), tmp_path)
    assert "AccountingStorageType   = accounting_storage/slurmdbd" in answers["config"]
    name, address, port, *_ = (tmp_path / "clusters").read_text().split("|")
    assert (name, address.startswith("fd00:0:f:"), port) == ("lab-tenants", True, "6817")
