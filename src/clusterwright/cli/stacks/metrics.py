"""The last rollout as metrics, in the text format that Prometheus' node_exporter collects from files.

``ROOT/metrics/rollout.prom`` is replaced with every wave. A file that cannot be written stops no rollout.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import click

from clusterwright import durable
from clusterwright.deploy.pulumi.events import Event, EventKind
from clusterwright.finding import ClusterwrightError

FOLDER, FILE = "metrics", "rollout.prom"
_PREFIX = "clusterwright_rollout"
_MEANINGS = {
    "running": "Whether the rollout runs; its last change says whether that is still true.",
    "stopped": "Whether the rollout ended before its end: by failures, a pause or its operator.",
    "start_time_seconds": "When the rollout began, or went on.",
    "change_time_seconds": "When these figures changed last.",
    "waves": "Waves of the rollout.",
    "waves_finished": "Waves whose devices were found to be well.",
    "devices_changed": "Devices that took their files and are well, in waves of this run.",
    "devices_failed": "Devices of this run's waves that did not take their files or failed a gate.",
}


class Metrics:
    """A listener to the events of one rollout."""

    def __init__(self, root: Path, *, cluster: str, rollout: str, finished: int) -> None:
        self._file = root / FOLDER / FILE
        self._cluster, self._rollout = cluster, rollout
        now = time.time()
        self._values: dict[str, float] = dict.fromkeys(_MEANINGS, 0)
        self._values |= {"running": 1, "start_time_seconds": now, "waves_finished": finished}
        self._devices_of_wave = 0
        self._is_told = False

    def __call__(self, event: Event) -> None:
        """Count the event, and write the file if a count changed."""
        values = self._values
        match event.kind:
            case EventKind.ROLLOUT_STARTED:
                values["waves"] = int(event.details.get("waves", 0))
            case EventKind.WAVE_STARTED:
                self._devices_of_wave = len(event.details.get("devices", ()))
                values["waves"] = max(values["waves"], int(event.details.get("waves", 0)))
            case EventKind.WAVE_FINISHED | EventKind.WAVE_FAILED:
                failed = len(event.details.get("failed", ()))
                values["devices_failed"] += failed
                values["devices_changed"] += self._devices_of_wave - failed
                values["waves_finished"] += event.kind is EventKind.WAVE_FINISHED
            case EventKind.ROLLOUT_FINISHED | EventKind.ROLLOUT_STOPPED:
                values["running"] = 0
                values["stopped"] = int(event.kind is EventKind.ROLLOUT_STOPPED)
            case _:
                return
        values["change_time_seconds"] = time.time()
        self._write()

    def _write(self) -> None:
        try:
            self._file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            durable.replace(self._file, ("\n".join(self._lines()) + "\n").encode(), 0o644)
        except (OSError, ClusterwrightError) as error:
            if not self._is_told:
                click.echo(f"no metrics: {self._file}: {error}", err=True)
            self._is_told = True

    def _lines(self) -> Iterator[str]:
        labels = f'cluster="{self._cluster}"'
        yield f"# HELP {_PREFIX}_info The rollout that these figures are of."
        yield f"# TYPE {_PREFIX}_info gauge"
        yield f'{_PREFIX}_info{{{labels},rollout="{self._rollout}"}} 1'
        for name, value in self._values.items():
            yield f"# HELP {_PREFIX}_{name} {_MEANINGS[name]}"
            yield f"# TYPE {_PREFIX}_{name} gauge"
            yield f"{_PREFIX}_{name}{{{labels}}} {value:.15g}"
