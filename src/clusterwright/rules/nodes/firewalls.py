"""CW683: packages and units of an image that bring a packet filter beside the rendered one."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.firewalls import FIREWALL_UNITS, FIREWALLS
from clusterwright.spec.text.document import Path


@rule(
    code="CW683",
    severity=Severity.ERROR,
    title="packet filter beside the rendered one",
    why="It denies what flows allow, or takes the rendered rules away when it starts; no proof reads any of it.",
    mend="Take it out of the image, or mask its units under `units.mask`.",
    docs="A node's filter is `/etc/nftables.conf`, rendered from zones and flows and loaded by `nftables.service`."
    " firewalld, ufw, the services and persistent rules of iptables, shorewall, ferm and their like load rules of"
    " their own; so do fail2ban and sshguard, which close ports to hosts as they see fit. A package whose units are all"
    " masked is no fault. nftables itself is installed in any case. Known are packages of the Debian and Red Hat"
    " families; a filter under another name, or one that a program of its own loads, is not recognised:"
    " `clusterwright verify --continuous` finds what it changes on the running node.",
)
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
