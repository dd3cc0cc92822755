"""Drives the first pod's stack of a spec, and nothing around it."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from pathlib import Path

from clusterwright.deploy.pulumi.automation import Engine, Ran
from clusterwright.deploy.pulumi.events import Event
from clusterwright.deploy.pulumi.project import Deployment
from clusterwright.deploy.pulumi.rendering import Source, make_manifests
from clusterwright.deploy.pulumi.units import choose, cut
from clusterwright.deploy.targets import DIRECTORY, TargetSettings
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec
from clusterwright.spec.text.source import noting_reads


def drive(spec: Path, root: Path, events: Path) -> Ran:
    """Brings the stack under ``root`` about, and adds what happens to the file ``events``."""
    writing = threading.Lock()
    with events.open("a") as file:

        def listen(event: Event) -> None:
            with writing:
                file.write(json.dumps(event.document(), default=str) + "\n")
                file.flush()

        with noting_reads() as read:
            plan = build_plan(load_spec(spec))
        (stack,) = choose(cut(plan), ["pod0"])
        target = TargetSettings(DIRECTORY, root)
        manifest = make_manifests(plan, target, [stack], Source(spec, read))[stack.name]
        with closing(Engine(Deployment(spec, target))) as engine:
            return engine.run("up", stack, listen, manifest=manifest)
