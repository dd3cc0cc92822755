"""Asking for every secret before the first device is touched: no deployment stops half way for want of one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from clusterwright.deploy.project import pulumi_environment
from clusterwright.deploy.secret_sources import PulumiStack
from clusterwright.deploy.secrets import SecretError, checked, names_in
from clusterwright.deploy.targets import Chosen
from clusterwright.deploy.units import Stack
from clusterwright.plan.model import Plan
from clusterwright.render.engine import render_devices


def require_secrets(plan: Plan, target: Chosen, stacks: Iterable[Stack]) -> None:
    """Read every source for every stack, and compare with what the files of its switches ask for.

    Raises SecretError for a source that does not give its secret, and for secrets without a source.
    """
    if target.secrets is None and target.is_content_with_placeholders:
        return
    environment = pulumi_environment(target.root)
    for stack in stacks:
        place = PulumiStack(target.root.resolve() / "project", stack.name, environment)
        known = checked(replace(target, stack=place).fetch_secrets())
        carried = target.carries([name for unit in stack.units for name in unit.devices])
        switches = [name for name in carried if plan.by_name[name].kind == "switch"]
        named = {name for artifact in render_devices(plan, switches) for name in names_in(artifact.content)}
        if lacking := sorted(named - known.keys()):
            names = ", ".join(f'secret "{name}"' for name in lacking)
            raise SecretError(
                f"{stack.name}: no source gives {names}. Add it to `secrets:` of the spec, or to --secrets FILE. "
                "Nothing was changed."
            )
