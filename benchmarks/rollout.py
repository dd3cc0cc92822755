"""Driving stacks beside what Pulumi's engine costs by itself: a preview of a pod that changes nothing.

The floor is a Pulumi program in Python with as many resources, all of them trivial, by a provider in Python that does
nothing; both are previewed in turns in the same run. What counts is the ratio of processor time, which a busy machine
distorts least.

Two things of the surroundings are put aside, for they are no part of either. A script's shell has what it starts with
`&` ignore SIGINT: Pulumi then waits five seconds for its first language host, which it ends by that signal;
`clusterwright` waits for nothing, for it takes the signal itself. And where Python may not keep what it compiles, every
import compiles anew, which is two thirds of what importing Pulumi's SDK costs then.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.project import pulumi_environment
from clusterwright.deploy.pulumi.units import choose, cut
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

RUNS = 3
SPEC, SMALL_SPEC, POD = "roce-24k", "lab-roce", "pod0"

PROGRAM = """
import pulumi

class Thing(pulumi.CustomResource):
    def __init__(self, name):
        super().__init__("trivial:index:Thing", name, {"value": name})

for number in range(%d):
    Thing(f"thing-{number}")
"""

PROVIDER = """#!%s
import os
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
from pulumi.provider.experimental.provider import *
from clusterwright.deploy.pulumi.serving import serve

class Trivial(Provider):
    def __init__(self, log): pass
    async def configure(self, request): return ConfigureResponse(False, True, False)
    async def diff_config(self, request): return DiffResponse(changes=False)
    async def check(self, request): return CheckResponse(request.new_inputs)
    async def diff(self, request): return DiffResponse(changes=request.old_state != request.new_inputs)
    async def create(self, request): return CreateResponse(request.name, dict(request.properties))

serve(Trivial, "1.0.0")
"""


def report(*, is_smallest: bool = False) -> str:
    """The figures as a Markdown table; of the small cluster, once, when ``is_smallest``."""
    spec = folder("inventory") / f"{SMALL_SPEC if is_smallest else SPEC}.yaml"
    count = 1 if is_smallest else RUNS
    (stack,) = choose(cut(build_plan(load_spec(spec))), [POD])
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        up = root / "up"
        _put_aside_surroundings(root)
        environment, own = pulumi_environment(root), dict(os.environ)
        driver = [str(Path(sys.executable).with_name("clusterwright")), "{action}", str(spec)]
        driver += ["--root", str(up), "--pod", POD]
        first = _run([part.format(action="up") for part in driver], own)
        state = max((up / "state").rglob(f"stacks/**/{stack.name}.json"), key=lambda file: file.stat().st_size)
        size = state.stat().st_size
        chosen = shlex.split(f"--stack {stack.name} --cwd {up / 'project'} --non-interactive")
        plain, inner = ["pulumi", "preview", *chosen], pulumi_environment(up)
        asked: dict[str, Callable[[], tuple[float, float]]] = {
            "as many trivial resources": partial(_run, _floor(root, environment, len(stack.units)), environment),
            f"a pod of {spec.stem}, `pulumi preview`": partial(_run, plain, inner),
            "the same, `clusterwright preview`": partial(_run, [part.format(action="preview") for part in driver], own),
            "`pulumi preview` that has to render the pod": partial(_rendering, up, plain, inner),
        }
        runs = [[measure() for measure in asked.values()] for _ in range(count)]
    walls, processors = ([sorted(column)[count // 2] for column in zip(*half, strict=True)] for half in _halves(runs))
    devices = sum(len(unit.devices) for unit in stack.units)
    return "\n".join(
        [
            f"{len(stack.units)} resources, {devices} devices; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
            "",
            "| no-op preview of | wall s | processor s | times the floor, by wall | by processor |",
            "| --- | ---: | ---: | ---: | ---: |",
            *(
                f"| {what} | {wall:.1f} | {processor:.1f} | {wall / walls[0]:.2f} | {processor / processors[0]:.2f} |"
                for what, wall, processor in zip(asked, walls, processors, strict=True)
            ),
            "",
            f"The pod from nothing: {first[0]:.1f} s, {first[1]:.1f} s of processors; state {size / 1e6:.2f} MB.",
        ]
    )


def _put_aside_surroundings(root: Path) -> None:
    """See above; what is compiled is kept under ``root`` where it may not be kept beside its source."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a program that is started gets the default of this one's
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ["PYTHONPYCACHEPREFIX"] = str(root / "compiled")


def _halves(runs: list[list[tuple[float, float]]]) -> tuple[list[list[float]], list[list[float]]]:
    """The wall seconds of all runs, and their processor seconds."""
    return [[wall for wall, _ in run] for run in runs], [[processor for _, processor in run] for run in runs]


def _rendering(up: Path, command: list[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """As ``_run``, with nothing known of what the spec was rendered to before."""
    shutil.rmtree(up / "manifests")
    return _run(command, environment)


def _floor(root: Path, environment: Mapping[str, str], count: int) -> list[str]:
    """Deploys the trivial stack, and returns the command that previews it again."""
    project = root / "floor"
    project.mkdir()
    provider = project / "pulumi-resource-trivial"
    provider.write_text(PROVIDER % sys.executable)
    provider.chmod(0o755)
    plugin = f"plugins:\n  providers:\n    - name: trivial\n      path: {project}\n"
    (project / "Pulumi.yaml").write_text(f"name: floor\nruntime: python\n{plugin}")
    (project / "__main__.py").write_text(PROGRAM % count)
    chosen = shlex.split(f"--stack floor --cwd {project} --non-interactive")
    _run(["pulumi", "stack", "init", *chosen], environment)
    _run(["pulumi", "up", "--yes", "--skip-preview", *chosen], environment)
    return ["pulumi", "preview", *chosen]


def _run(command: list[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Wall and processor seconds of a command with its children. Raises CalledProcessError."""
    before, started = os.times(), time.perf_counter()
    subprocess.run(command, env=dict(environment), check=True, capture_output=True)
    after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - started, processor
