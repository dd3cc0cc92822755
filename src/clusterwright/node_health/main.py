"""Command line of the node check: a verdict in JSON, Slurm's drain reason and Prometheus' metrics."""

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
from clusterwright.node_health.readings import CommandOutput, Readings, from_transcript, run_commands, to_transcript
from clusterwright.node_health.system import system_checks
from clusterwright.node_health.verdict import Check, Expected, verdict_of

FOLDER = "/etc/clusterwright"
VERDICT, METRICS = "/run/clusterwright/health.json", "/run/clusterwright/health.prom"
HEALTHY, UNHEALTHY, UNABLE = 0, 1, 2
_AREAS = (gpu_checks, amd_gpu_checks, adapter_checks, lossless_checks, isolation_checks, machine_checks, system_checks)


def check_node(readings: Readings, expected: Expected) -> list[Check]:
    """All checks of the plan, without those that the spec leaves out."""
    left_out = set(expected["left_out"])
    results = []
    for area in _AREAS:
        for result in area(readings, expected):
            if result.name not in left_out:
                results.append(result)
    return results


def read_node(expected: Expected, minimum_timeout_s: float = 0) -> dict[str, CommandOutput]:
    """Outputs of all commands of the checks, run in parallel."""
    # A run of the checks without any output collects their commands.
    nothing_read = Readings({})
    check_node(nothing_read, expected)
    return run_commands(nothing_read.missing.values(), minimum_timeout_s)


def read_expected(folder: str) -> dict[str, Any]:
    """Expected state of this node. Raises OSError, ValueError and KeyError."""
    expected: dict[str, Any] = {}
    for name in ("health.json", "health-node.json"):
        with open(os.path.join(folder, name), encoding="utf-8") as stream:
            expected.update(json.load(stream))
    # health.json is one file for all nodes of an image; the GIDs and the like of this node's adapters are in the other.
    node_values = expected.pop("own_nics")
    expected["nics"] = [{**nic, **node_values.get(nic["interface"], {})} for nic in expected["nics"]]
    return expected


def main(arguments: list[str] | None = None) -> int:
    """Check this node. Exit status 0 for a healthy node, 1 for an unhealthy one, 2 without a verdict."""
    options = _parser().parse_args(arguments)
    started = time.monotonic()
    try:
        expected = read_expected(options.expected)
        if options.replay:
            with open(options.replay, encoding="utf-8") as stream:
                outputs = from_transcript(stream.read())
        else:
            outputs = read_node(expected, max(options.patience_s, expected["limits"]["patience_s"]))
    except (OSError, ValueError, KeyError) as error:
        print(f"node-health: {error}", file=sys.stderr)
        return UNABLE
    if options.record:
        _write(options.record, to_transcript(outputs), 0o600)
    verdict = verdict_of(expected["node"], check_node(Readings(outputs), expected))
    verdict["took_s"] = round(time.monotonic() - started, 3)
    verdict["finished_s"] = round(time.time(), 3)
    _publish(verdict, options)
    return HEALTHY if verdict["ok"] else UNHEALTHY


def _publish(verdict: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Write the verdict and its metrics, print what the options select, and drain an unhealthy node."""
    verdict_json = json.dumps(verdict, indent=1) + "\n"
    metrics = metrics_of(verdict, verdict["finished_s"], verdict["took_s"])
    if options.write:
        _write(VERDICT, verdict_json)
        _write(METRICS, metrics)
    if not verdict["ok"] and (options.drain or options.prolog):
        # Slurm keeps a prolog's standard error in slurmd's log.
        print(verdict["reason"], file=sys.stderr)
    else:
        sys.stdout.write(metrics if options.prometheus else verdict_json)
    if options.drain and not verdict["ok"]:
        _drain(verdict)


def _drain(verdict: Mapping[str, Any]) -> None:
    """Drain the node in Slurm, unless it is drained: an operator's reason stays."""
    name = os.environ.get("SLURMD_NODENAME", verdict["node"])
    shown = subprocess.run(
        ["scontrol", "--oneliner", "show", "node", name], capture_output=True, text=True, check=False
    )
    state = shown.stdout.partition(" State=")[2].split(" ")[0]
    if "DRAIN" not in state:
        subprocess.run(
            ["scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={verdict['reason']}"], check=False
        )


def _write(path: str, content: str, mode: int = 0o644) -> None:
    """Replace a file in one step: a reader sees the old content or the new one."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    temporary_path = f"{path}.{os.getpid()}"
    descriptor = os.open(temporary_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(content)
    os.replace(temporary_path, path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="node-health", description="Check whether this node is fit to run a job.")
    parser.add_argument("--expected", default=FOLDER, help="folder of health.json and health-node.json")
    parser.add_argument("--prometheus", action="store_true", help="print metrics instead of JSON")
    parser.add_argument("--write", action="store_true", help=f"write verdict and metrics to {os.path.dirname(VERDICT)}")
    parser.add_argument("--prolog", action="store_true", help="before a job: print only the reason of a failure")
    parser.add_argument("--drain", action="store_true", help="drain an unhealthy node in Slurm")
    parser.add_argument("--patience-s", type=float, default=0, help="minimum time limit of a command, in seconds")
    parser.add_argument("--record", metavar="FILE", help="write a transcript of all commands, to check it elsewhere")
    parser.add_argument("--replay", metavar="FILE", help="check a transcript instead of this machine")
    return parser
