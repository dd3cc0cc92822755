"""CW320: servers for names, time, logs and logins that switches cannot reach."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.text.document import Path


@rule("CW320", Severity.ERROR)
def unreachable_servers(subject: Subject) -> Iterator[Problem]:
    """Servers whose IP version is not the management network's."""
    spec = subject.spec
    network = next((f for f in spec.fabrics if any(attach.is_management for attach in f.attach)), None)
    if network is None or network.addressing is None:
        return
    version = network.addressing.hosts.version
    places: list[tuple[Path, str, tuple[str, ...]]] = [
        (
            own if (own := ("site", "management", key)) in spec.document.values else ("site", key),
            f"site.management.{key}",
            getattr(spec.site.management, key),
        )
        for key in ("dns", "ntp", "syslog")
    ]
    if spec.site.aaa is not None:
        places.append(((*spec.site.aaa.path, "servers"), "site.aaa.servers", spec.site.aaa.servers))
    for at, key, servers in places:
        for index, server in enumerate(servers):
            if (6 if ":" in server else 4) != version:
                yield Problem(
                    (*at, index),
                    f"{network.name} is IPv{version}: switches cannot reach {server} over it.",
                    f"Give an IPv{version} address in `{key}`.",
                )
