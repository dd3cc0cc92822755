"""Reading Kueue's objects, the rendered part of a pod, and the labels of a kubelet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import yaml

FOLDER = "etc/kueue/"
OBJECTS = f"{FOLDER}topology.yaml"
PODS = f"{FOLDER}pod"
_ARGUMENTS = re.compile(r'^KUBELET_EXTRA_ARGS="([^"]*)"$', re.M)


@dataclass(slots=True)
class KueueObjects:
    """Topologies by name with their levels, outermost first, and flavours with the labels and topology they name."""

    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    labels_of_flavor: dict[str, tuple[Mapping[str, str], str]] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    """Kinds of other objects, which no claim reads."""


@dataclass(frozen=True, slots=True)
class PodPart:
    """The rendered part of a pod."""

    has_node_network: bool
    limits: Mapping[str, object]
    capabilities: frozenset[str]
    environments: frozenset[str]
    """The configuration maps of its variables."""
    memory: frozenset[str]
    """Mount points of file systems in memory."""
    mounts: Mapping[str, str]
    """The node's path for each mount point in the container."""


def read_objects(text: str) -> KueueObjects:
    """The objects. Raises ValueError for unreadable text."""
    objects = KueueObjects()
    try:
        for document in filter(None, yaml.safe_load_all(text)):
            _take(objects, document)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(" ".join(str(error).split())) from error
    return objects


def _take(objects: KueueObjects, document: Mapping[str, Any]) -> None:
    name, spec = document["metadata"]["name"], document["spec"]
    if document["kind"] == "Topology":
        objects.levels[name] = tuple(level["nodeLabel"] for level in spec["levels"])
    elif document["kind"] == "ResourceFlavor":
        objects.labels_of_flavor[name] = (dict(spec.get("nodeLabels", {})), spec.get("topologyName", ""))
    else:
        objects.others.append(str(document["kind"]))


def read_pod(text: str) -> PodPart:
    """The part of a pod. Raises ValueError for unreadable text."""
    try:
        spec = yaml.safe_load(text)["spec"]
        (container,) = spec["containers"]
        return PodPart(
            has_node_network=spec.get("hostNetwork") is True,
            limits=dict(container.get("resources", {}).get("limits", {})),
            capabilities=frozenset(container.get("securityContext", {}).get("capabilities", {}).get("add", ())),
            environments=frozenset(source["configMapRef"]["name"] for source in container.get("envFrom", ())),
            memory=frozenset(_in_memory(spec, container)),
            mounts=_mounts_of_node(spec, container),
        )
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(" ".join(str(error).split())) from error


def _in_memory(spec: Mapping[str, Any], container: Mapping[str, Any]) -> Iterator[str]:
    volumes = set()
    for volume in spec.get("volumes", ()):
        if volume.get("emptyDir", {}).get("medium") == "Memory":
            volumes.add(volume["name"])
    for mount in container.get("volumeMounts", ()):
        if mount["name"] in volumes:
            yield mount["mountPath"]


def _mounts_of_node(spec: Mapping[str, Any], container: Mapping[str, Any]) -> Mapping[str, str]:
    path_by_volume = {}
    for volume in spec.get("volumes", ()):
        if "hostPath" in volume:
            path_by_volume[volume["name"]] = volume["hostPath"]["path"]
    mounts = {}
    for mount in container.get("volumeMounts", ()):
        if mount["name"] in path_by_volume:
            mounts[mount["mountPath"]] = path_by_volume[mount["name"]]
    return mounts


def read_environment(text: str) -> tuple[str, Mapping[str, str]]:
    """The name and variables of a configuration map. Raises ValueError for unreadable text."""
    try:
        document = yaml.safe_load(text)
        if document["kind"] != "ConfigMap":
            return "", {}
        return str(document["metadata"]["name"]), dict(document.get("data") or {})
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise ValueError(" ".join(str(error).split())) from error


@lru_cache(maxsize=4096)
def read_labels(text: str) -> Mapping[str, str] | None:
    """The labels in kubelet's arguments; None for anything but the one known line."""
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    arguments = _ARGUMENTS.findall(text)
    if len(lines) != 1 or len(arguments) != 1:
        return None
    words = arguments[0].split()
    if len(words) != 1 or not words[0].startswith("--node-labels="):
        return None
    pairs = [pair.partition("=") for pair in words[0].removeprefix("--node-labels=").split(",")]
    return {name: value for name, _, value in pairs}
