"""Placement of pods by Kueue: its topology has the plan's levels, and each kubelet registers at its node's place.

Quotas and queues are the site's: they are not rendered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set

from clusterwright.hosts.kueue.reader import (
    FOLDER,
    OBJECTS,
    PODS,
    KueueObjects,
    PodPart,
    read_environment,
    read_labels,
    read_objects,
    read_pod,
)
from clusterwright.hosts.linux.reader.nccl import CONF_FILES, NCCL, variables_of
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, line_with
from clusterwright.proofs.operation.declared_kueue import DeclaredKueue
from clusterwright.proofs.tree import RenderedTree

Fault = tuple[str, int, str]
"""Path, line (0 for the whole file), and message."""
_NODE = "kubernetes.io/hostname"
_MOST_LEVELS = 16  # Kueue, Topology, v1beta2
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 -- of a pod
_LOCKED = "IPC_LOCK"
_OF_NODE = ("/etc/", "/run/")  # the node's settings; a plugin's library below /usr or /opt is the container's own


def _check(tree: RenderedTree) -> Verdict:
    declared = tree.declaration.kueues if tree.declaration is not None else ()
    by_controller: dict[str, DeclaredKueue] = {}
    for kueue in declared:
        by_controller.update(dict.fromkeys(kueue.controllers, kueue))
    counterexamples: list[Counterexample] = []
    for device in sorted({*tree.devices_with(OBJECTS), *by_controller}):
        faults = _controller_faults(tree, device, by_controller.get(device))
        counterexamples += [Counterexample(device, *fault) for fault in faults]
    nodes = 0
    for kueue in declared:
        nodes += len(kueue.labels)
        for node in kueue.labels:
            counterexamples += [Counterexample(node, *fault) for fault in _node_faults(tree, node, kueue)]
    controllers = len(by_controller or tree.devices_with(OBJECTS))
    facts = [Fact("controllers of Kueue", controllers)]
    if declared:
        facts.append(Fact("nodes with their place", nodes))
    return Verdict(tuple(facts), tuple(counterexamples), Cases("controllers and nodes of Kueue", controllers + nodes))


def _controller_faults(tree: RenderedTree, device: str, planned: DeclaredKueue | None) -> Iterator[Fault]:
    text = tree.text(device, OBJECTS)
    if text is None:
        yield OBJECTS, 0, "the file is missing: Kueue knows no topology"
        return
    try:
        objects = read_objects(text)
    except ValueError as error:
        yield OBJECTS, 0, f"it does not read: {error}"
        return
    for message in _object_faults(objects):
        yield OBJECTS, 0, message
    if planned is not None:
        yield from _plan_faults(text, objects, planned)
    yield from _pod_faults(tree, device, planned)


def _object_faults(objects: KueueObjects) -> Iterator[str]:
    for kind in objects.others:
        yield f"an object of kind {kind} is applied, which no check reads"
    for name, levels in objects.levels.items():
        if len(set(levels)) != len(levels) or len(levels) > _MOST_LEVELS or _NODE in levels[:-1]:
            yield f"Kueue refuses the levels of {name}: {', '.join(levels)}"
    for name, (_, topology) in objects.labels_of_flavor.items():
        if topology not in objects.levels:
            yield f"the flavour {name} is of the topology {topology or 'of no name'}, which is not there"


def _plan_faults(text: str, objects: KueueObjects, planned: DeclaredKueue) -> Iterator[Fault]:
    chosen: dict[str, list[str]] = {}
    for name, (labels, topology) in objects.labels_of_flavor.items():
        group = labels.get(planned.group_label, "")
        if len(labels) != 1 or group not in planned.levels:
            yield (
                OBJECTS,
                line_with(text, name),
                f"the flavour {name} selects nodes by {dict(labels)}, and no planned group",
            )
            continue
        chosen.setdefault(group, []).append(name)
        if not name.startswith(planned.flavor):
            yield OBJECTS, line_with(text, name), f"the flavour is called {name}, and jobs ask for {planned.flavor}"
        levels = objects.levels.get(topology, ())
        if levels != planned.levels[group]:
            actual = ", ".join(levels) or "none"
            wanted = ", ".join(planned.levels[group]) or "none"
            yield OBJECTS, line_with(text, topology), f"the levels of {group} are {actual}, and {wanted} are planned"
    for group in planned.levels:
        if len(chosen.get(group, ())) != 1:
            yield OBJECTS, 0, f"{group} has {len(chosen.get(group, ()))} flavours: it is to have one"


def _pod_faults(tree: RenderedTree, device: str, planned: DeclaredKueue | None) -> Iterator[Fault]:
    below = sorted(path for path in tree.paths if path.startswith(FOLDER))
    paths = [path for path in below if (device, path) in tree.files]
    variables: dict[str, Mapping[str, str]] = {}
    pods: dict[str, PodPart] = {}
    for path in paths:
        text = tree.text(device, path) or ""
        try:
            if path.startswith(PODS):
                pods[path] = read_pod(text)
            elif path != OBJECTS:
                name, values = read_environment(text)
                variables[name] = values
        except ValueError as error:
            yield path, 0, f"it does not read: {error}"
    for path, pod in pods.items():
        for message in (*_faults_of_pod(pod, variables.keys()), *_faults_of_mounts(pod, variables)):
            yield path, 0, message
    if planned is not None:
        for message in (*_unmet_limits(pods.values(), planned), *_unmounted_settings(tree, planned, pods.values())):
            yield f"{PODS}.yaml", 0, message


def _unmet_limits(pods: Iterable[PodPart], planned: DeclaredKueue) -> Iterator[str]:
    limits: dict[str, object] = {}
    for pod in pods:
        limits.update(pod.limits)
    for name, count in planned.limits.items():
        if limits.get(name) != count:
            yield f"a pod has {limits.get(name, 'nothing')} of {name}, and a node {count}"


def _faults_of_pod(pod: PodPart, environments: Set[str]) -> Iterator[str]:
    """Settings missing from a pod on its node, and variables missing from its containers."""
    if not pod.has_node_network:
        yield "pods have a network of their own, which nodes do not forward"
    if _SHARED_MEMORY not in pod.memory:
        yield f"{_SHARED_MEMORY} is not in memory: ranks of a node share 64 MB"
    if _LOCKED not in pod.capabilities:
        yield f"{_LOCKED} is missing: RDMA registers no memory beyond the runtime's limit"
    for name in sorted(pod.environments - environments):
        yield f"variables come from {name}, which is not there"
    if len(environments) == 1:
        for name in sorted(environments - pod.environments):
            yield f"the variables of {name} reach no container"


def _faults_of_mounts(pod: PodPart, variables: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Files and folders of the node that are not at the same path in the container."""
    for path, path_on_node in pod.mounts.items():
        if path != path_on_node:
            yield f"{path} is the node's {path_on_node}: settings name files by their path on the node"
    for environment in sorted(pod.environments & variables.keys()):
        for name, value in variables[environment].items():
            if value.startswith(_OF_NODE) and not _is_mounted(value, pod.mounts):
                yield f"{name} is {value}, which is not mounted"


def _unmounted_settings(tree: RenderedTree, planned: DeclaredKueue, pods: Collection[PodPart]) -> Iterator[str]:
    """Nodes' NCCL settings, and files named in them, that no pod mounts whole."""
    node_by_text: dict[str, str] = {}
    for node in planned.labels:
        for path in CONF_FILES:
            text = tree.text(node, path)
            if text is not None:
                node_by_text.setdefault(text, node)
    for text, node in node_by_text.items():
        wanted = [f"/{NCCL}", *(value for value in variables_of(text).values() if value.startswith(_OF_NODE))]
        missing_by_pod = [_unmounted(wanted, pod) for pod in pods]
        missing = min(missing_by_pod, key=len, default=[])
        if missing:
            yield f"{', '.join(missing)} of {node} is not mounted: NCCL reads nothing of it"


def _unmounted(paths: Iterable[str], pod: PodPart) -> list[str]:
    return [path for path in paths if not _is_mounted(path, pod.mounts)]


def _is_mounted(path: str, mounts: Iterable[str]) -> bool:
    return any(path == mount or path.startswith(f"{mount}/") for mount in mounts)


def _node_faults(tree: RenderedTree, node: str, planned: DeclaredKueue) -> Iterator[Fault]:
    path = planned.files[node]
    text = tree.text(node, path)
    if text is None:
        yield path, 0, "the file is missing: the node registers without its place"
        return
    labels = read_labels(text)
    if labels != planned.labels[node]:
        registered = "nothing that is known here"
        if labels is not None:
            registered = ", ".join(f"{name}={value}" for name, value in labels.items())
        wanted = ", ".join(f"{name}={value}" for name, value in planned.labels[node].items())
        yield (
            path,
            line_with(text, "KUBELET_EXTRA_ARGS"),
            f"the node registers with {registered}, and {wanted} is its place",
        )


def _applies(tree: RenderedTree) -> bool:
    return bool(tree.devices_with(OBJECTS)) or (tree.declaration is not None and bool(tree.declaration.kueues))


KUEUE = ProofCheck(
    name="kueue",
    claim=(
        "Kueue has the plan's levels, nodes register with their location, and pods have a node's network, devices and"
        " NCCL settings."
    ),
    kinds=frozenset({"kueue", "nccl"}),
    intent=frozenset({"kueues"}),
    applies=_applies,
    check=_check,
    spec_only="the planned levels, flavours and places",
)
