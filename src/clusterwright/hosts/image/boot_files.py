"""Files of an image alone, not carried to running nodes: boot-time units, and its own check."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.artifact import Artifact
from clusterwright.hosts.image.definition import boot_digest_of
from clusterwright.hosts.linux.writer.system import kernel_command_line
from clusterwright.intent.gpu_services import driven_vendor
from clusterwright.intent.image.packages import has_direct_paths
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.distribution import family_of
from clusterwright.spec.image import Image
from clusterwright.text.json_lines import dump_lines
from clusterwright.text.templates import template

KIND = "image"
_UNITS = "etc/systemd/system"
FIRST_INIT = "usr/lib/clusterwright/first-init"
"""The first program of an image that is the kernel's first root."""
KEPT_HOST_KEY = "/etc/ssh/clusterwright_ed25519_key"
"""Path on a node of a host key from a store."""


@dataclass(frozen=True, slots=True)
class CheckView:
    """Expectations of the image's check: modules, parameters, drivers with versions, firmware files, commands."""

    modules: tuple[str, ...]
    parameters: tuple[str, ...]
    drivers: tuple[tuple[str, str], ...]
    adapters: tuple[str, ...]
    bios: tuple[str, ...]
    commands: tuple[tuple[str, int, str], ...]


@per_plan
def image_only_files(plan: Plan, name: str) -> tuple[Artifact, ...]:
    """Units for a node's SSH host key, for paths between GPUs and adapters, and for the image's check."""
    image = plan.spec.image(name)
    if image is None:
        return ()
    is_direct = has_direct_paths(plan, name)
    vendor = driven_vendor(image)
    persistence_unit = vendor.persistence_unit if vendor is not None else None
    is_kept = image.host_keys is not None
    key = template("image/ssh-host-key.sh.j2").render(is_kept=is_kept, kept_key=KEPT_HOST_KEY)
    check = template("image/image-check.sh.j2").render(view=_check_view(image), name=name)
    # The node check compares this file with its expectations, so it is never carried to a running node.
    booted = dump_lines({"name": name, "boot_digest": boot_digest_of(plan, name)}, 1).decode()
    key_unit = template("image/ssh-host-key.service.j2").render(is_kept=is_kept)
    check_unit = template("image/image-check.service.j2").render()
    wants = template("image/boot.conf.j2").render(is_direct=is_direct, persistence_unit=persistence_unit)
    files = [
        ("usr/lib/clusterwright/image.json", booted, 0o644),
        ("usr/local/sbin/ssh-host-key", key, 0o755),
        (f"{_UNITS}/ssh-host-key.service", key_unit, 0o644),
        ("usr/local/sbin/image-check", check, 0o755),
        (f"{_UNITS}/image-check.service", check_unit, 0o644),
        (f"{_UNITS}/multi-user.target.d/95-image.conf", wants, 0o644),
    ]
    files += [(f"{_UNITS}/{unit}", "", 0o644) for unit in _masked(image)]
    if image.delivery == "memory":
        files.append((FIRST_INIT, template("image/first-init.sh.j2").render(), 0o755))
    if is_kept:
        # Of the image alone: on a running node sshd would be told of a key that comes with the next boot.
        words = template("image/sshd-host-key.conf.j2").render(kept_key=KEPT_HOST_KEY)
        files.append(("etc/ssh/sshd_config.d/80-clusterwright-host-key.conf", words, 0o644))
    if is_direct:
        files.append(("usr/local/sbin/acs-off", template("image/acs-off.sh.j2").render(), 0o755))
        files.append((f"{_UNITS}/acs-off.service", template("image/acs-off.service.j2").render(), 0o644))
    artifacts = []
    for path, text, mode in sorted(files):
        artifacts.append(Artifact(device="image", path=path, source=text.encode(), kind=KIND, mode=mode))
    return tuple(artifacts)


def _masked(image: Image) -> tuple[str, ...]:
    """Units of distributions disabled on every node, as empty files.

    systemd-firstboot asks questions at a console without a user. Some distributions' units make host keys of further
    kinds, but a node has one key; with socket activation a reload ends sshd, which cannot take the socket's port again.
    ipmievd, for events of the BMC, comes with ipmitool and fails without a BMC.
    """
    return ("ipmievd.service", "systemd-firstboot.service", *family_of(image.distribution).masked)


def _check_view(image: Image) -> CheckView:
    drivers: list[tuple[str, str]] = []
    for driver in image.drivers:
        drivers.extend((module, driver.version) for module in driver.modules)
    return CheckView(
        modules=tuple(module.replace("-", "_") for module in image.modules),
        parameters=kernel_command_line(image),
        drivers=tuple(drivers),
        adapters=tuple(item.version for item in image.firmware if item.device.startswith("ConnectX")),
        bios=tuple(item.version for item in image.firmware if item.device == "BIOS"),
        commands=tuple((check.name, check.timeout_s, check.run) for check in image.checks),
    )
