"""CW637 to CW639: incompatible Slurm releases, and features missing in a release. CW642: settings without effect."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.scheduling import login_groups
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.image import Image
from clusterwright.spec.job import Scheduler, SlurmTopology
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.slurm_releases import CONFIGLESS_OVER_IPV6, has_packages_of_its_own, slurm_release, takes_from

# slurm.conf(5), PriorityType: the default is the first in 22.05 and the second in 26.05.
_IN_ORDER, _WEIGHTED = "priority/basic", "priority/multifactor"
# src/plugins/priority/multifactor/priority_multifactor.c: init() sets these to 0 without slurmdbd, and ages no usage.
_OF_RECORDS = frozenset({"PriorityWeightAge", "PriorityWeightFairshare", "PriorityDecayHalfLife"})


@rule("CW637", Severity.ERROR)
def releases_that_do_not_go_together(subject: Subject) -> Iterator[Problem]:
    """Daemons of one Slurm with releases too far apart, or in the wrong order."""
    for scheduler in subject.spec.schedulers:
        if scheduler.slurm is None:
            continue
        for newer, older, what in _pairs(subject.spec, scheduler):
            first, second = _release(newer), _release(older)
            if first is None or second is None or takes_from(first, second) is not False:
                continue
            message = (
                f"{older.name} has Slurm {second} ({older.distribution}), and {newer.name}, whose {what}, "
                f"has {first} ({newer.distribution})."
            )
            hint = "Give both the same release: one distribution, or SchedMD's packages with a version on each."
            yield Problem((*older.path, "distribution"), message, hint)


@rule("CW638", Severity.WARNING)
def uncompared_releases(subject: Subject) -> Iterator[Problem]:
    """Daemons of one Slurm on several distributions, one with an unknown release."""
    for scheduler in subject.spec.schedulers:
        if scheduler.slurm is None:
            continue
        for newer, older, _ in _pairs(subject.spec, scheduler):
            if _origin(newer) == _origin(older):
                continue
            for image in (newer, older):
                if _release(image) is None:
                    other = older if image is newer else newer
                    message = (
                        f"The Slurm release of {image.name} ({image.distribution}) is not known, "
                        f"so it cannot be compared with that of {other.name}."
                    )
                    hint = "State the version of a Slurm package, such as slurm-smd-slurmd=25.05.3-1."
                    yield Problem((*image.path, "distribution"), message, hint)


@rule("CW639", Severity.ERROR)
def fetches_nothing_over_ipv6(subject: Subject) -> Iterator[Problem]:
    """Nodes fetching slurm.conf over IPv6 with a slurmd too old for it."""
    spec = subject.spec
    if not _controllers_have_ipv6(spec):
        return
    for scheduler in spec.schedulers:
        if scheduler.slurm is None:
            continue
        for image in _images(spec, scheduler.nodes):
            release = _release(image)
            if release is not None and release < CONFIGLESS_OVER_IPV6:
                message = (
                    f"slurmd {release} of {image.distribution} fetches no configuration over IPv6, "
                    f"which Slurm supports since {CONFIGLESS_OVER_IPV6}."
                )
                hint = "Use a newer distribution, or SchedMD's packages (slurm-smd-slurmd=25.05.3-1)."
                yield Problem((*image.path, "distribution"), message, hint)


@rule("CW642", Severity.WARNING)
def priorities_without_effect(subject: Subject) -> Iterator[Problem]:
    """Settings of job priorities that slurmctld ignores."""
    for scheduler in subject.spec.schedulers:
        if scheduler.slurm is not None:
            yield from _ignored_priorities(scheduler.slurm)


def _ignored_priorities(slurm: SlurmTopology) -> Iterator[Problem]:
    settings = dict(slurm.settings)
    priority_type = settings.get("PriorityType", "")
    for key in settings:
        if not key.startswith("Priority") or key == "PriorityType":
            continue
        path = (*slurm.path, "settings", key)
        if priority_type == _IN_ORDER:
            message = f"{key} has no effect: {_IN_ORDER} starts jobs in the order of their submission."
            yield Problem(path, message, f"Write `PriorityType: {_WEIGHTED}`, or remove {key}.", key=True)
        elif not priority_type:
            message = f"The release decides whether {key} has an effect: by default Slurm 22.05 has {_IN_ORDER}."
            yield Problem(path, message, f"Write `PriorityType: {_WEIGHTED}`.", key=True)
        elif key in _OF_RECORDS and slurm.accounting is None:
            message = f"slurmctld ignores {key} without slurmdbd."
            yield Problem(path, message, f"Write `accounting`, or remove {key}.", key=True)


def _pairs(spec: ClusterSpec, scheduler: Scheduler) -> Iterator[tuple[Image, Image, str]]:
    """Images of two daemons, the one requiring the newer release first, and its task."""
    slurm = scheduler.slurm
    controllers = _images(spec, _controller_groups(spec, scheduler))
    for controller in controllers:
        for image in _images(spec, (*scheduler.nodes, *login_groups(scheduler))):
            yield controller, image, "slurmctld it reports to"
    if slurm is not None and slurm.accounting is not None:
        for keeper in _images(spec, (slurm.accounting.nodes,)):
            for controller in controllers:
                yield keeper, controller, "slurmdbd it reports to"


def _controller_groups(spec: ClusterSpec, scheduler: Scheduler) -> tuple[str, ...]:
    wanted = scheduler.controllers.nodes
    if wanted is not None:
        return (wanted,)
    return tuple(group.name for group in spec.node_groups if group.role == "service")


def _images(spec: ClusterSpec, groups: tuple[str, ...]) -> tuple[Image, ...]:
    """The images of node groups, each once; machines without one are the site's."""
    images: dict[str, Image] = {}
    for name in groups:
        group = spec.node_group(name)
        image = spec.image(group.image or "") if group is not None else None
        if image is not None:
            images[image.name] = image
    return tuple(images.values())


def _origin(image: Image) -> tuple[str, bool]:
    """The source of an image's Slurm: two images of one origin have the same release."""
    return image.distribution, has_packages_of_its_own(image)


def _release(image: Image) -> str | None:
    distribution = distribution_of(image.distribution)
    return slurm_release(image, distribution) if distribution is not None else None


def _controllers_have_ipv6(spec: ClusterSpec) -> bool:
    """True if every Ethernet fabric of nodes has IPv6 alone: they reach Slurm's controllers over it."""
    versions: set[int] = set()
    for fabric in spec.fabrics:
        if fabric.technology != "ethernet" or fabric.addressing is None:
            continue
        if not all(attach.is_management for attach in fabric.attach):
            versions.add(fabric.addressing.hosts.version)
    return versions == {6}
