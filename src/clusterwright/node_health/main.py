"""The node check's command line: one verdict in JSON, and what Slurm and Prometheus take of it."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from clusterwright.node_health.adapters import adapter_checks
from clusterwright.node_health.amd_gpus import amd_gpu_checks
from clusterwright.node_health.exporter import metrics_of
from clusterwright.node_health.gpus import gpu_checks
from clusterwright.node_health.isolation import isolation_checks
from clusterwright.node_health.lossless import lossless_checks
from clusterwright.node_health.machine import machine_checks
from clusterwright.node_health.readings import Answer, Readings, ask, from_transcript, to_transcript
from clusterwright.node_health.system import system_checks
from clusterwright.node_health.verdict import Check, Expected, verdict_of

FOLDER = "/etc/clusterwright"
VERDICT, METRICS = "/run/clusterwright/health.json", "/run/clusterwright/health.prom"
HEALTHY, UNHEALTHY, UNABLE = 0, 1, 2
_AREAS = (gpu_checks, amd_gpu_checks, adapter_checks, lossless_checks, isolation_checks, machine_checks, system_checks)


def judge(readings: Readings, expected: Expected) -> list[Check]:
    """Every check that the plan asks for, but for those that the spec leaves out."""
    left_out = set(expected["left_out"])
    return [found for area in _AREAS for found in area(readings, expected) if found.name not in left_out]


def read_node(expected: Expected, least_s: float = 0) -> dict[str, Answer]:
    """The answers to everything that the checks ask for, asked together."""
    nothing_read = Readings({})
    judge(nothing_read, expected)
    return ask(nothing_read.missed.values(), least_s)


def expectations(folder: str) -> dict[str, Any]:
    """What the plan says of this node. Raises OSError and ValueError."""
    found: dict[str, Any] = {}
    for name in ("health.json", "health-node.json"):
        with open(os.path.join(folder, name), encoding="utf-8") as stream:
            found.update(json.load(stream))
    own = found.pop("own_nics")
    found["nics"] = [{**nic, **own.get(nic["interface"], {})} for nic in found["nics"]]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Judge this node. Exit status 0 for a healthy one, 1 for one that must take no job, 2 when nothing can be said."""
    asked = _parser().parse_args(arguments)
    started = time.monotonic()
    try:
        expected = expectations(asked.expected)
        if asked.replay:
            with open(asked.replay, encoding="utf-8") as stream:
                answers = from_transcript(stream.read())
        else:
            answers = read_node(expected, max(asked.patience_s, expected["limits"]["patience_s"]))
    except (OSError, ValueError, KeyError) as error:
        print(f"node-health: {error}", file=sys.stderr)
        return UNABLE
    if asked.record:
        _write(asked.record, to_transcript(answers), 0o600)
    verdict = verdict_of(expected["node"], judge(Readings(answers), expected))
    verdict["took_s"] = round(time.monotonic() - started, 3)
    verdict["finished_s"] = round(time.time(), 3)
    text = json.dumps(verdict, indent=1) + "\n"
    metrics = metrics_of(verdict, verdict["finished_s"], verdict["took_s"])
    if asked.write:
        _write(VERDICT, text)
        _write(METRICS, metrics)
    if not verdict["ok"] and (asked.drain or asked.prolog):
        # Slurm keeps what a prolog writes to standard error in slurmd's log.
        print(verdict["reason"], file=sys.stderr)
    else:
        sys.stdout.write(metrics if asked.prometheus else text)
    if asked.drain and not verdict["ok"]:
        _drain(verdict)
    return HEALTHY if verdict["ok"] else UNHEALTHY


def _drain(verdict: Mapping[str, Any]) -> None:
    """Take the node out of service, unless it is: an operator's reason is not written over."""
    name = os.environ.get("SLURMD_NODENAME", verdict["node"])
    shown = subprocess.run(
        ["scontrol", "--oneliner", "show", "node", name], capture_output=True, text=True, check=False
    )
    if "DRAIN" not in shown.stdout.partition(" State=")[2].split(" ")[0]:
        subprocess.run(
            ["scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={verdict['reason']}"], check=False
        )


def _write(path: str, text: str, mode: int = 0o644) -> None:
    """Replace a file at once, so that nobody reads half of it."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    beside = f"{path}.{os.getpid()}"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(beside, path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="node-health", description="Says whether this node is fit to run a job.")
    parser.add_argument("--expected", default=FOLDER, help="the folder with health.json and health-node.json")
    parser.add_argument("--prometheus", action="store_true", help="print metrics instead of JSON")
    parser.add_argument("--write", action="store_true", help=f"keep verdict and metrics in {os.path.dirname(VERDICT)}")
    parser.add_argument("--prolog", action="store_true", help="before a job: say only what is wrong")
    parser.add_argument("--drain", action="store_true", help="take an unhealthy node out of Slurm's service")
    parser.add_argument("--patience-s", type=float, default=0, help="wait so long for every answer, on a slow machine")
    parser.add_argument("--record", metavar="FILE", help="keep everything that was read, to judge it elsewhere")
    parser.add_argument("--replay", metavar="FILE", help="judge such a record instead of this machine")
    return parser
