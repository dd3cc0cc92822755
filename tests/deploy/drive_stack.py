"""Drives the first pod's stack of a spec, and nothing around it: `drive_stack.py SPEC ROOT EVENTS`."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from clusterwright.deploy.pulumi.automation import Engine
from clusterwright.deploy.pulumi.events import Event
from clusterwright.deploy.pulumi.project import Deployment
from clusterwright.deploy.pulumi.units import choose, cut
from clusterwright.deploy.targets import DIRECTORY, Chosen
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec


def main() -> int:
    spec, root, events = (Path(argument) for argument in sys.argv[1:])
    writing = threading.Lock()
    with events.open("a") as file:

        def listen(event: Event) -> None:
            with writing:
                file.write(json.dumps(event.document(), default=str) + "\n")
                file.flush()

        (stack,) = choose(cut(build_plan(load_spec(spec))), ["pod0"])
        ran = Engine(Deployment(spec, Chosen(DIRECTORY, root))).run("up", stack, listen)
    sys.stdout.write(f"{ran.reason or dict(ran.counts)}\n")
    return 0 if ran.ok else 3


if __name__ == "__main__":
    sys.exit(main())
