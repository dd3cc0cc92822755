"""Check all secrets before the first device is touched, so that no deployment stops half way for want of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from clusterwright.artifact import Artifact
from clusterwright.deploy.pulumi.units import Stack
from clusterwright.deploy.secrets.secrets import SecretError, checked, filled, names_in
from clusterwright.deploy.targets import TargetSettings
from clusterwright.hosts.linux.writer import secrets as node_secrets
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan


def require_secrets(plan: Plan, target: TargetSettings, stacks: Iterable[Stack]) -> None:
    """Read every source for every stack, and compare with the placeholders in its devices' files.

    Raises SecretError for a source without its secret, for secrets without a source, and for values unfit for the form
    in a file.
    """
    if target.secrets is None and target.is_content_with_placeholders:
        return
    for stack in stacks:
        values = checked(target.of_stack(stack.name).fetch_secrets())
        carried = target.carries(stack.devices)
        contents = frozenset(artifact.content for artifact in _with_secrets(plan, carried))
        named = set(chain.from_iterable(names_in(content) for content in contents))
        if lacking := sorted(named - values.keys()):
            names = ", ".join(f'secret "{name}"' for name in lacking)
            raise SecretError(
                f"{stack.name}: no source gives {names}. Add it to `secrets:` of the spec, or to --secrets FILE. "
                "Nothing was changed."
            )
        try:
            for content in contents:
                filled(content, values)
        except SecretError as error:
            raise SecretError(f"{stack.name}: {error}. Nothing was changed.") from None


def _with_secrets(plan: Plan, names: Iterable[str]) -> Iterator[Artifact]:
    """Files that may hold secrets: all of a switch, and the secret files of a node."""
    devices = [plan.by_name[name] for name in names]
    yield from Rendering(plan).of_devices([device.name for device in devices if device.kind == "switch"])
    for device in devices:
        if device.kind == "node":
            yield from node_secrets.WRITER.render(plan, device)
