"""CW629 and CW630: keys and certificates without a source, or with a source that does not identify the node."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.credentials import brought, credentials_of
from clusterwright.intent.scheduling import slurm_of_login
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import ClusterSpec, NodeGroup

_PRIVATE = ("private_key", "keytab", "watch_key")


@rule("CW629", Severity.WARNING)
def without_source(subject: Subject) -> Iterator[Problem]:
    """Files read by nodes with an image and missing in `credentials`, each once."""
    reported: set[str] = set()
    for group in subject.spec.node_groups:
        for credential in credentials_of(subject.spec, group.name):
            if credential.file in reported or brought(subject.spec, credential) is not None:
                continue
            reported.add(credential.file)
            message = f"{credential.file} has no source on nodes of {group.name}."
            hint = f"Write `credentials: {{{credential.key}: ...}}`, with a `secret` or with `by_site`."
            yield Problem(credential.path, message, hint, key=True)


@rule("CW630", Severity.WARNING)
def unidentified_receiver(subject: Subject) -> Iterator[Problem]:
    """In-memory images without kept host keys, on nodes with secrets copied by a deployment."""
    spec = subject.spec
    for image in spec.images:
        if spec.boot is None or image.delivery != "memory" or image.host_keys is not None:
            continue
        secrets: set[str] = set()
        for group in spec.node_groups:
            if group.image == image.name:
                secrets.update(_secrets(spec, group))
        if secrets:
            names = ", ".join(sorted(secrets))
            message = f"Nodes of {image.name} are brought {names}, and keep no key by which they are known."
            yield Problem((*image.path, "name"), message, "Add `host_keys`, or let the site bring these.")


def _secrets(spec: ClusterSpec, group: NodeGroup) -> Iterator[str]:
    """The names of secrets copied by a deployment to nodes of a group."""
    for credential in credentials_of(spec, group.name):
        origin = brought(spec, credential) if credential.key in _PRIVATE else None
        if origin is not None and origin.secret is not None:
            yield origin.secret
    for scheduler in (spec.scheduler(group.name), slurm_of_login(spec, group.name)):
        slurm = scheduler.slurm if scheduler is not None else None
        if slurm is not None and slurm.munge is not None and slurm.munge.secret is not None:
            yield slurm.munge.secret
    image = spec.image(group.image or "")
    if image is not None:
        yield from (user.password for user in image.users if user.password is not None)
