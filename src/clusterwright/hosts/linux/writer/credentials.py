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
    path_units = []
    for credential in credentials_of(plan.spec, kind.node_group):
        path_units.append(f"{credential.unit}.path")
        units = arrival_units(
            credential.unit,
            credential.file,
            says=_says(plan, credential),
            what=credential.file,
            commands=_commands(credential),
        )
        for path, text in units:
            yield path, text.encode(), 0o644
    if path_units:
        wants = template("node/credential-wants.conf.j2").render(units=path_units)
        yield f"{_UNITS}/multi-user.target.d/97-credentials.conf", wants.encode(), 0o644


WRITER = Writer(KIND, applies, shared=shared)


def arrival_units(
    name: str, file: str, *, says: str, what: str, commands: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Units by path to run ``commands`` when ``file`` arrives or changes; ``what`` names it."""
    yield f"{_UNITS}/{name}.path", template("node/credential.path.j2").render(file=file, says=says, what=what)
    yield f"{_UNITS}/{name}.service", template("node/credential.service.j2").render(what=what, commands=commands)


def _says(plan: Plan, credential: Credential) -> str:
    by = brought(plan.spec, credential)
    if by is None:
        return "The spec does not say who brings it."
    if by.by_site is not None:
        return f"The site brings it: {by.by_site}"
    return BY_DEPLOYMENT


def _commands(credential: Credential) -> tuple[str, ...]:
    """Commands to restart or start the units behind a file; existing mounts stay as they are."""
    commands = []
    if credential.restart:
        units = " ".join(credential.restart)
        # The units may have failed too often without the file to be started again.
        commands.append(f"-{_SYSTEMCTL} reset-failed {units}")
        commands.append(f"{_SYSTEMCTL} --no-block restart {units}")
    mount_units = [unit_name(mountpoint).replace("\\", "\\\\") for mountpoint in credential.mountpoints]
    started_units = dict.fromkeys((*credential.start, *mount_units))
    if started_units:
        commands.append(f"{_SYSTEMCTL} --no-block start {' '.join(started_units)}")
    return tuple(commands)
