"""The import gate on nodes: a record of every dataset, and the check required by a mount unit.

A dataset without a review or a key in the spec has an incomplete record, refused by the check: the gate does not depend
on lint's findings.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.plan.model import Plan
from clusterwright.spec.encryption import Dataset
from clusterwright.spec.model import Mount
from clusterwright.text.templates import template

RECORDS = "etc/clusterwright/datasets"
PROGRAM = "usr/local/libexec/clusterwright/dataset-gate"
UNIT = "etc/systemd/system/dataset-gate@.service"


def datasets_of(plan: Plan, mount: str) -> tuple[Dataset, ...]:
    """The datasets read through a mount, in the spec's order."""
    return tuple(dataset for dataset in plan.spec.datasets if dataset.mount == mount)


def gate_units(plan: Plan, mount: Mount) -> tuple[str, ...]:
    """The units required by a mount, one for each of its datasets."""
    return tuple(f"dataset-gate@{dataset.name}.service" for dataset in datasets_of(plan, mount.name))


def gate_files(plan: Plan, mounts: tuple[Mount, ...]) -> Iterator[tuple[str, str, int]]:
    """Path, text and mode of the files behind the gate of some mounts; none without a dataset on them."""
    mounted_datasets: list[tuple[Mount, Dataset]] = []
    for mount in mounts:
        mounted_datasets.extend((mount, dataset) for dataset in datasets_of(plan, mount.name))
    for mount, dataset in mounted_datasets:
        text = template("encryption/dataset.record.j2").render(
            dataset=dataset,
            mountpoint=mount.mountpoint,
            protection=mount.protection.kind if mount.protection is not None else "none",
            key=plan.spec.key(dataset.key) if dataset.key is not None else None,
        )
        yield f"{RECORDS}/{dataset.name}.record", text, 0o644
    if mounted_datasets:
        yield PROGRAM, template("encryption/dataset-gate.sh.j2").render(), 0o755
        unit = template("encryption/dataset-gate.service.j2").render(program=f"/{PROGRAM}", folder=f"/{RECORDS}")
        yield UNIT, unit, 0o644
