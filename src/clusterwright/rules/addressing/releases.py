"""CW351 and CW352: unknown releases of switch systems, and settings missing in a release."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.boot_relays import relays_on
from clusterwright.intent.hashing import hashing_of
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric, Tier
from clusterwright.spec.hardware.system_releases import ReleaseWord
from clusterwright.spec.hardware.systems import release_of, system_of
from clusterwright.spec.text.document import Path

_IPV6 = 6


@rule("CW351", Severity.ERROR)
def unknown_releases(subject: Subject) -> Iterator[Problem]:
    """Releases of tiers or models unknown to the configuration writers."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            stated, system = tier.release or tier.model.release, system_of(tier.model)
            if stated is None:
                continue
            title = tier.model.name if system is None else system.title
            if system is not None and system.releases is None and system.tells_release:
                continue
            if system is None or system.releases is None:
                message = f"{title} has no list of releases: the same text is rendered for all."
                yield Problem(_place(tier), message, "Leave it out.")
            elif not system.releases.knows(stated):
                releases = ", ".join(system.releases.known)
                message = f"{title} {stated} is not supported; supported releases are {releases}."
                yield Problem(_place(tier), message, "Use one of these.")


@rule("CW352", Severity.ERROR)
def lacking_releases(subject: Subject) -> Iterator[Problem]:
    """Releases without support for a setting rendered for their tier."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            yield from _lacking_words(subject, fabric, tier)
    yield from _lacking_relays(subject)


def _lacking_words(subject: Subject, fabric: Fabric, tier: Tier) -> Iterator[Problem]:
    """Commands missing in the release of a tier."""
    system = system_of(tier.model)
    if system is None or system.releases is None:
        return
    release = release_of(tier.model, tier.release)
    for word in system.releases.lacking(release):
        if not _is_written(word, subject, fabric, tier):
            continue
        message = f"{system.title} {release} does not have `{word.spelling}`: {word.without}."
        yield Problem(_place(tier), message, f"Choose {word.since} or newer, or switches of another system.")


def _is_written(word: ReleaseWord, subject: Subject, fabric: Fabric, tier: Tier) -> bool:
    """True if the spec needs a command."""
    if word.asked_by == "names":
        return bool(subject.spec.site.management.dns)
    if word.asked_by == "queue-pairs":
        return any(hashing.queue_pairs for hashing in hashing_of(fabric, ()) if hashing.tier is tier)
    return True


def _lacking_relays(subject: Subject) -> Iterator[Problem]:
    """DHCPv6 relays for booting machines, on a release without a configurable server."""
    boot = subject.spec.boot
    fabric = subject.spec.fabric(boot.fabric) if boot is not None else None
    if fabric is None or not any(map(_lacks_relays, fabric.tiers)):
        return  # most specs: no plan is drawn for them
    plan = subject.plan
    if plan.address_version(fabric.name) != _IPV6:
        return
    for index in sorted({plan.by_name[switch].tier for switch in relays_on(plan, fabric.name)}):
        tier = fabric.tiers[index]
        system = system_of(tier.model)
        if system is None or system.releases is None or not _lacks_relays(tier):
            continue
        release, last = release_of(tier.model, tier.release), system.releases.relays_ipv6_until
        message = (
            f"{system.title} {release} cannot set the server of a DHCPv6 relay; the last release that can is {last}."
        )
        fix = f"Take {last} or an older one, addresses of IPv4 for {fabric.name}, or switches of another system."
        yield Problem(_place(tier), message, fix)


def _lacks_relays(tier: Tier) -> bool:
    system = system_of(tier.model)
    releases = None if system is None else system.releases
    return releases is not None and not releases.relays_ipv6(release_of(tier.model, tier.release))


def _place(tier: Tier) -> Path:
    """Path of a tier's release, or of the model's name if the model sets it."""
    return (*tier.path, "release" if tier.release is not None else "model")
