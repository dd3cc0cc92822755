"""Whether jobs' collective library reads the file whose settings are proven."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterwright.hosts.linux.reader.nccl import JOB_ENVIRONMENTS, SHELL_ENVIRONMENT, variables_of
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.tree import RenderedTree


def library_faults(tree: RenderedTree, devices: Iterable[str]) -> Iterator[Counterexample]:
    """Environments of jobs that do not lead the vendor's library to nccl.conf: it would read files of its own.

    NVIDIA's NCCL reads nccl.conf by itself; AMD's RCCL only where NCCL_CONF_FILE names it.
    """
    wanted = tree.declaration.library_environments if tree.declaration is not None else {}
    for device in devices:
        for path in JOB_ENVIRONMENTS:
            text = tree.text(device, path)
            if text is None and path != SHELL_ENVIRONMENT:
                continue  # the node has no containers, or no Slurm
            values = variables_of(text or "")
            for name, value in wanted.get(device, {}).items():
                if values.get(name) != value:
                    actual = f"is {values[name]}" if name in values else "is not set"
                    message = f"{name} {actual}, by which jobs' library finds {value}: it reads files of its own"
                    yield example(tree, device, path, (name,), message)
