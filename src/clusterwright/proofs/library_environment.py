"""Check that the collective library of jobs reads the file with the proven settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from clusterwright.hosts.linux.reader.nccl import JOB_ENVIRONMENTS, SHELL_ENVIRONMENT, variables_of
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.tree import RenderedTree


def library_faults(tree: RenderedTree, devices: Iterable[str]) -> Iterator[Counterexample]:
    """Job environments without the variables leading the vendor's library to nccl.conf.

    NVIDIA's NCCL reads nccl.conf by itself; AMD's RCCL only if NCCL_CONF_FILE names it.
    """
    wanted_by_device = tree.declaration.library_environments if tree.declaration is not None else {}
    for device in devices:
        wanted = wanted_by_device.get(device)
        if wanted:
            for path in JOB_ENVIRONMENTS:
                yield from _faults_of_file(tree, device, path, wanted)


def _faults_of_file(tree: RenderedTree, device: str, path: str, wanted: Mapping[str, str]) -> Iterator[Counterexample]:
    """Variables missing from one job environment, or set to another value."""
    text = tree.text(device, path)
    if text is None and path != SHELL_ENVIRONMENT:
        return  # the node has no containers, or no Slurm
    values = variables_of(text or "")
    for name, value in wanted.items():
        if values.get(name) != value:
            actual = f"is {values[name]}" if name in values else "is not set"
            message = f"{name} {actual}, by which jobs' library finds {value}: it reads files of its own"
            yield example(tree, device, path, (name,), message)
