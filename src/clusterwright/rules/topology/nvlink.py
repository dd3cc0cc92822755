"""CW285 to CW288: NVLink domains supported by hardware, images and schedulers."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.gpu_services import driven_vendor, gpu_driver, memory_exchange, memory_exchanges
from clusterwright.intent.needs.jobs import controller_group
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.hardware.accelerators import BY_SWITCH_TRAYS, fabric_manager_of
from clusterwright.spec.image import Image
from clusterwright.spec.job import Scheduler
from clusterwright.spec.model import ClusterSpec, NodeGroup
from clusterwright.spec.slurm_releases import IMEX_CHANNELS_SINCE, slurm_release
from clusterwright.spec.text.document import Path

_DOMAIN = "nvlink_domain"


@rule("CW285", Severity.ERROR)
def possible_domains(subject: Subject) -> Iterator[Problem]:
    """`nvlink_domain` of node groups, compared with their levels and the switch trays of their model."""
    for group in subject.spec.node_groups:
        if group.nvlink_domain is None:
            continue
        path = (*group.path, _DOMAIN)
        levels = [level.name for level in group.levels]
        if group.nvlink_domain not in levels:
            message = f"{group.name} has no level {group.nvlink_domain}."
            yield Problem(path, message, f"Name one of its levels: {', '.join(levels)}.")
        elif fabric_manager_of(group.model) != BY_SWITCH_TRAYS:
            message = f"Nodes of {group.model.name} share no switch trays of NVLink."
            hint = "Remove `nvlink_domain`, or write `switches: domain` under `gpus.nvlink` of the model."
            yield Problem(path, message, hint)
        else:
            yield from _size(group, path)


def _size(group: NodeGroup, path: Path) -> Iterator[Problem]:
    gpus = group.model.gpus
    most = gpus.nvlink.domain_gpus if gpus is not None and gpus.nvlink is not None else None
    if most is None or gpus is None or group.nvlink_domain is None:
        return
    count = group.nodes_per(group.nvlink_domain) * gpus.count
    if count > most:
        message = f"A {group.nvlink_domain} of {group.name} has {count:,} GPUs, and switch trays join {most:,}."
        yield Problem(path, message, "Name a smaller level.")


@rule("CW286", Severity.WARNING)
def shared_nvlink_without_domain(subject: Subject) -> Iterator[Problem]:
    """Node groups with an image and shared NVLink switch trays, without `nvlink_domain`."""
    for group in subject.spec.node_groups:
        if group.image is None or group.nvlink_domain is not None or fabric_manager_of(group.model) != BY_SWITCH_TRAYS:
            continue
        scheduler = subject.spec.scheduler(group.name)
        if scheduler is not None and scheduler.slurm is None:
            continue  # NVIDIA's DRA driver makes domains of a job's nodes in Kubernetes
        message = (
            f"Nodes of {group.model.name} share NVLink switch trays, and {group.name} has no `nvlink_domain`:"
            " its jobs use the network alone."
        )
        yield Problem((*group.path, "model"), message, "Write `nvlink_domain: rack`, or the level that shares them.")


@rule("CW287", Severity.ERROR)
def memory_exchange_is_there(subject: Subject) -> Iterator[Problem]:
    """Software of nodes in an NVLink domain: IMEX of the driver's version, and a Slurm assigning its channels."""
    spec = subject.spec
    for group in spec.node_groups:
        image = spec.image(group.image or "")
        if group.nvlink_domain is None or image is None:
            continue
        path = (*group.path, _DOMAIN)
        exchange = memory_exchange(group, image)
        if exchange is None:
            message = f"Memory shared over NVLink is not supported on nodes of {group.model.name}."
            yield Problem(path, message, "Remove `nvlink_domain`.")
            continue
        yield from _package_faults(group, image)
        scheduler = spec.scheduler(group.name)
        if scheduler is not None and scheduler.slurm is None:
            message = (
                f"Kubernetes places jobs on {group.name}, where NVIDIA's DRA driver starts IMEX for each of them: the"
                " rendered service would run beside it."
            )
            yield Problem(path, message, "Remove `nvlink_domain`, and install the DRA driver in the cluster.")
        elif scheduler is not None:
            yield from _release_faults(spec, scheduler)


def _package_faults(group: NodeGroup, image: Image) -> Iterator[Problem]:
    exchange, driver = memory_exchange(group, image), gpu_driver(image)
    if exchange is None or driver is None or driven_vendor(image) is None:
        return
    path = (*driver.path, "packages")
    packages = memory_exchanges(image, exchange)
    fix = f"Install it in version {driver.version}."
    if not packages:
        message = f"Nodes of {group.name} share memory over NVLink, and {image.name} brings no {exchange.unit}."
        yield Problem(path, message, f"Add its package. {fix}")
    for package in packages:
        if package.version is None or package.version.split("-")[0] != driver.version:
            held = f"is of version {package.version}" if package.version is not None else "may be of any version"
            yield Problem(path, f"{package.name} {held}, and the driver is {driver.version}.", fix)


@rule("CW288", Severity.WARNING)
def jobs_stay_in_domains(subject: Subject) -> Iterator[Problem]:
    """Slurm clusters with blocks other than the NVLink domains of their nodes."""
    for scheduler in subject.spec.schedulers:
        slurm = scheduler.slurm
        if slurm is None:
            continue
        for group, domain in _groups_with_domains(subject.spec, scheduler.nodes):
            if slurm.plugin != "block" or slurm.leaf != domain:
                message = (
                    f"Slurm groups nodes of {group.name} by {slurm.leaf} ({slurm.plugin}), and each {domain} is an"
                    " NVLink domain."
                )
                smallest = group.nodes_of_smallest(domain)
                hint = (
                    f"Write `plugin: block`, `leaf: {domain}` and `block_sizes: [{smallest}]`:"
                    " jobs then take parts of a domain."
                )
                yield Problem((*scheduler.path, "leaf"), message, hint)


def _release_faults(spec: ClusterSpec, scheduler: Scheduler) -> Iterator[Problem]:
    """Nodes and controllers with a Slurm too old for its IMEX plugin."""
    for name in dict.fromkeys((*scheduler.nodes, controller_group(spec, scheduler))):
        group = spec.node_group(name)
        image = spec.image(group.image or "") if group is not None else None
        distribution = distribution_of(image.distribution) if image is not None else None
        if image is None or distribution is None:
            continue
        release = slurm_release(image, distribution)
        if release is not None and release < IMEX_CHANNELS_SINCE:
            message = (
                f"Slurm {release} of {image.distribution} has no switch/nvidia_imex, which gives each job a channel"
                f" of its own and exists since {IMEX_CHANNELS_SINCE}."
            )
            yield Problem((*image.path, "distribution"), message, "Use a newer distribution, or SchedMD's packages.")


def _groups_with_domains(spec: ClusterSpec, names: tuple[str, ...]) -> Iterator[tuple[NodeGroup, str]]:
    """The groups with NVLink domains, each with the level of its domains."""
    for name in names:
        group = spec.node_group(name)
        if group is not None and group.nvlink_domain is not None:
            yield group, group.nvlink_domain
