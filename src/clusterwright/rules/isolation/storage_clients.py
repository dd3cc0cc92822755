"""CW559 and CW560: can nodes mount what storage of others speaks?"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.needs.file_systems import FILE_SYSTEMS
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.image import Image


@rule("CW559", Severity.ERROR)
def client_of_storage(subject: Subject) -> Iterator[Problem]:
    """Mounts of a file system outside the kernel on nodes whose image does not bring its client."""
    spec = subject.spec
    for mount in spec.mounts:
        known = FILE_SYSTEMS.get(mount.type)
        for at, name in enumerate(mount.nodes if known is not None else ()):
            group = spec.node_group(name)
            image = spec.image(group.image or "") if group is not None else None
            if known is None or image is None or _brings(image, known.packages, known.unit):
                continue
            what = f"a package {known.packages[0]}" if known.packages else f"{known.unit} among what it enables"
            message = f"{mount.mountpoint} is {mount.type}, and image {image.name} of {name} has no client of it."
            yield Problem((*mount.path, "nodes", at), message, f"Give it {what}, which {known.vendor} give out.")


def _brings(image: Image, packages: tuple[str, ...], unit: str | None) -> bool:
    given = [package.name for driver in image.drivers for package in driver.packages]
    given += [package.name for package in image.packages]
    has_package = any(name.startswith(packages) for name in given) if packages else False
    return has_package or (unit is not None and unit in image.enabled_units)


@rule("CW560", Severity.ERROR)
def lustre_over_infiniband(subject: Subject) -> Iterator[Problem]:
    """Mounts of Lustre whose servers are named on o2ib."""
    for mount in subject.spec.mounts:
        if mount.type == "lustre" and "@o2ib" in mount.export:
            message = f"{mount.mountpoint} is asked for over RDMA ({mount.export}), for which nodes have no address."
            yield Problem((*mount.path, "export"), message, "Name its servers on @tcp.")
