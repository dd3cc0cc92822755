"""Units to look for a node's keys, certificates and authorities, and to start the units behind them.

A node booted into memory has lost them. Nothing waits at boot: mounts fail at once, since systemd admits no logins
before remote-fs.target was tried. Each file has a unit of its own, so that no file is missed while others are written.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.linux.writer.mounts import unit_name
from clusterwright.intent.credentials import Credential, brought, credentials_of
from clusterwright.intent.device_kind import NodeKind
from clusterwright.intent.node_nics import is_managed
from clusterwright.plan.model import Device, Plan
from clusterwright.text.templates import template

KIND = "node-credentials"
_UNITS = "etc/systemd/system"
_SYSTEMCTL = "/usr/bin/systemctl"
BY_DEPLOYMENT = "It comes with a deployment, after the machine was booted or when it is another one."


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with an image."""
    return is_managed(device)


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """A path unit and its service for every file, and the dependencies on them."""
    names = []
    for credential in credentials_of(plan.spec, kind.node_group):
        names.append(f"{credential.unit}.path")
        for path, text in arrival_units(
            credential.unit, credential.file, _says(plan, credential), credential.file, _commands(credential)
        ):
            yield path, text.encode(), 0o644
    if names:
        wants = template("node/credential-wants.conf.j2").render(units=names)
        yield f"{_UNITS}/multi-user.target.d/97-credentials.conf", wants.encode(), 0o644


WRITER = Writer(KIND, applies, shared=shared)


def arrival_units(name: str, file: str, says: str, what: str, commands: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Units by path to run ``commands`` when ``file`` arrives or changes; ``what`` names it."""
    yield f"{_UNITS}/{name}.path", template("node/credential.path.j2").render(file=file, says=says, what=what)
    yield f"{_UNITS}/{name}.service", template("node/credential.service.j2").render(what=what, commands=commands)


def _says(plan: Plan, credential: Credential) -> str:
    by = brought(plan.spec, credential)
    if by is None:
        return "The spec does not say who brings it."
    return BY_DEPLOYMENT if by.by_site is None else f"The site brings it: {by.by_site}"


def _commands(credential: Credential) -> tuple[str, ...]:
    """Reset the failure counters of units without the file; existing mounts stay as they are."""
    restart = " ".join(credential.restart)
    mounts = (unit_name(place).replace("\\", "\\\\") for place in credential.mountpoints)
    start = " ".join(dict.fromkeys((*credential.start, *mounts)))
    again = (f"-{_SYSTEMCTL} reset-failed {restart}", f"{_SYSTEMCTL} --no-block restart {restart}") if restart else ()
    return (*again, *((f"{_SYSTEMCTL} --no-block start {start}",) if start else ()))
