"""Typing images and how nodes boot them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusterwright.spec.image import (
    Boot,
    Containers,
    Driver,
    Firmware,
    Health,
    Hugepages,
    Image,
    ImageCheck,
    Package,
    Repository,
    User,
)
from clusterwright.spec.macs import read_macs
from clusterwright.spec.reading import Reading
from clusterwright.spec.text.document import Path

CHECK_TIMEOUT_S = 10
SHELL = "/bin/bash"


def image(reading: Reading, data: Mapping[str, Any], path: Path) -> Image:
    """One image at ``path``."""
    kernel = data.get("kernel")
    pages = data.get("hugepages")
    units = data.get("units", {})
    return Image(
        name=data["name"],
        distribution=data["distribution"],
        repositories=reading.each(data, "repositories", _repository, path),
        kernel=Package(kernel["package"], kernel.get("version")) if kernel else None,
        packages=packages(data.get("packages", ())),
        drivers=reading.each(data, "drivers", _driver, path),
        firmware=reading.each(data, "firmware", _firmware, path),
        modules=tuple(data.get("modules", ())),
        blacklist=tuple(data.get("blacklist", ())),
        module_options={name: str(text) for name, text in data.get("module_options", {}).items()},
        sysctl={key: str(value) for key, value in data.get("sysctl", {}).items()},
        kernel_parameters=tuple(data.get("kernel_parameters", ())),
        hugepages=Hugepages(pages["size"], pages["count"]) if pages else None,
        limits={key: str(value) for key, value in data.get("limits", {}).items()},
        containers=_containers(data["containers"], (*path, "containers")) if "containers" in data else None,
        enabled_units=tuple(units.get("enable", ())),
        masked_units=tuple(units.get("mask", ())),
        users=reading.each(data, "users", _user, path),
        checks=reading.each(data, "checks", _check, path),
        health=Health(**data.get("health", {})),
        host_keys=data.get("host_keys"),
        delivery=data.get("delivery", "memory"),
        size_bytes=data.get("size_bytes"),
        path=path,
    )


def boot(reading: Reading, data: Mapping[str, Any], path: Path) -> Boot:
    """The section on booting; lines of the MAC file that cannot be read are recorded."""
    macs = reading.named_file((*path, "macs"), read_macs) if "macs" in data else None
    return Boot(data["servers"], data["fabric"], macs, path)


def packages(texts: Iterable[str]) -> tuple[Package, ...]:
    """Packages from items like ``nftables`` or ``nftables=1.1.3-1``."""
    parts = (text.partition("=") for text in texts)
    return tuple(Package(name, version or None) for name, _, version in parts)


def _repository(data: Mapping[str, Any], path: Path) -> Repository:
    suites, components = tuple(data.get("suites", ())), tuple(data.get("components", ()))
    return Repository(data["name"], data["url"], suites, components, data["key"], path)


def _driver(data: Mapping[str, Any], path: Path) -> Driver:
    return Driver(
        data["name"],
        data["version"],
        packages(data["packages"]),
        tuple(data.get("modules", ())),
        data.get("built", False),
        path,
    )


def _firmware(data: Mapping[str, Any], path: Path) -> Firmware:
    return Firmware(data["device"], data["version"], path)


def _containers(data: Mapping[str, Any], path: Path) -> Containers:
    memlock = None if data["memlock"] == "unlimited" else int(data["memlock"])
    return Containers(memlock, data["shm_size_gb"], data["ipc"], tuple(data["devices"]), path)


def _user(data: Mapping[str, Any], path: Path) -> User:
    groups, operators = tuple(data.get("groups", ())), tuple(data["operators"])
    return User(data["name"], data["uid"], groups, data.get("shell", SHELL), operators, data.get("password"), path)


def _check(data: Mapping[str, Any], path: Path) -> ImageCheck:
    return ImageCheck(data["name"], data["run"], data.get("timeout_s", CHECK_TIMEOUT_S), path)
