"""CW554, CW556: authentication of sessions with other owners, by a method supported at both ends."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.systems import EXTERNAL, systems


@rule("CW554", Severity.WARNING)
def open_border(subject: Subject) -> Iterator[Problem]:
    """Borders without authentication."""
    for border in subject.spec.borders:
        if border.authentication is None:
            message = f"Border {border.name} has a BGP session with AS {border.asn} without authentication."
            yield Problem((*border.path, "name"), message, "Add `authentication: {method: tcp-ao, secret: NAME}`.")


@rule("CW556", Severity.ERROR)
def one_sided_authentication(subject: Subject) -> Iterator[Problem]:
    """Uplinks with an authentication method not supported at one of their ends."""
    system_by_name = systems()
    for skeleton in subject.skeleton.fabrics:
        for lower, upper in skeleton.joined_tiers():
            authentication = lower.up.authentication if lower.up is not None else None
            if authentication is None:
                continue
            for tier in (lower, upper):
                if tier.model.network_os == EXTERNAL:
                    continue
                system = system_by_name.get(tier.model.network_os or "")
                if system is None or authentication.method not in system.authentication:
                    system_name = tier.model.network_os or "no system"
                    message = f"{tier.role} runs {system_name}, whose BGP sessions cannot have {authentication.method}."
                    hint = "Remove `authentication` from these uplinks."
                    yield Problem(authentication.path, message, hint, key=True)
