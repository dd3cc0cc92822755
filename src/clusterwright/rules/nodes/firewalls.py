"""CW683: packages and units of an image that bring a packet filter beside the rendered one."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.firewalls import FIREWALL_UNITS, FIREWALLS
from clusterwright.spec.text.document import Path


@rule("CW683", Severity.ERROR)
def other_filters(subject: Subject) -> Iterator[Problem]:
    """Packages and enabled units of images that bring a packet filter of their own."""
    for image in subject.spec.images:
        masked = frozenset(image.masked_units)
        listed: list[tuple[str, Path]] = [
            (package.name, (*image.path, "packages", at)) for at, package in enumerate(image.packages)
        ]
        listed += [
            (package.name, (*driver.path, "packages", at))
            for driver in image.drivers
            for at, package in enumerate(driver.packages)
        ]
        for name, path in listed:
            units = FIREWALLS.get(name.partition(":")[0], ())
            running = [unit for unit in units if unit not in masked]
            if running:
                message = f"{image.name} installs {name}, a packet filter beside the rendered one."
                yield Problem(path, message, f"Take it out, or mask {' and '.join(running)}.")
        for at, unit in enumerate(image.enabled_units):
            if unit in FIREWALL_UNITS and unit not in masked:
                message = f"{image.name} starts {unit}, a packet filter beside the rendered one."
                yield Problem((*image.path, "units", "enable", at), message, "Take it out of `enable`.")
