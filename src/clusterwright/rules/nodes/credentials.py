"""CW629 and CW630: keys and certificates without a source, or with a source that does not identify the node."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from clusterwright.finding import Severity
from clusterwright.intent.credentials import brought, credentials_of
from clusterwright.intent.scheduling import slurm_of_login
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import ClusterSpec, NodeGroup

_PRIVATE = ("private_key", "keytab", "watch_key")


@rule("CW629", Severity.WARNING)
def brought_by_nobody(subject: Subject) -> Iterator[Problem]:
    """Files read by nodes with an image and missing in `credentials`, each once."""
    reported: set[str] = set()
    for group in subject.spec.node_groups:
        for credential in credentials_of(subject.spec, group.name):
            if brought(subject.spec, credential) is None and credential.file not in reported:
                reported.add(credential.file)
                message = f"{credential.file} has no source on nodes of {group.name}."
                fix = f"Write `credentials: {{{credential.key}: ...}}`, with a `secret` or with `by_site`."
                yield Problem(credential.path, message, fix, key=True)


@rule("CW630", Severity.WARNING)
def told_to_anybody(subject: Subject) -> Iterator[Problem]:
    """In-memory images without kept host keys, on nodes with secrets copied by a deployment."""
    spec = subject.spec
    for image in spec.images:
        if spec.boot is None or image.delivery != "memory" or image.host_keys is not None:
            continue
        groups = [group for group in spec.node_groups if group.image == image.name]
        names = sorted(set(chain.from_iterable(_secrets(spec, group) for group in groups)))
        if names:
            message = f"Nodes of {image.name} are brought {', '.join(names)}, and keep no key by which they are known."
            yield Problem((*image.path, "name"), message, "Add `host_keys`, or let the site bring these.")


def _secrets(spec: ClusterSpec, group: NodeGroup) -> Iterator[str]:
    """The names of secrets copied by a deployment to nodes of a group."""
    image = spec.image(group.image or "")
    origins = [
        brought(spec, credential) for credential in credentials_of(spec, group.name) if credential.key in _PRIVATE
    ]
    schedulers = (spec.scheduler(group.name), slurm_of_login(spec, group.name))
    slurms = (scheduler.slurm for scheduler in schedulers if scheduler is not None)
    origins.extend(slurm.munge for slurm in slurms if slurm is not None)
    yield from (by.secret for by in origins if by is not None and by.secret is not None)
    if image is not None:
        yield from (user.password for user in image.users if user.password is not None)
