"""A preview as one JSON document: nothing is shortened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from clusterwright.rollout.disturbance import Disturbance, JobImpact, WaveImpact
from clusterwright.rollout.gates.selection import Gates
from clusterwright.rollout.guard import Guarded, Override, Proof, unanswered
from clusterwright.rollout.preview.grouping import DeviceGroup, GroupKind
from clusterwright.rollout.preview.preview import Preview

VERSION = 1


def document(preview: Preview, gates: Gates, overrides: Sequence[Override] = ()) -> dict[str, Any]:
    """The preview as JSON types, with the gates between its waves.

    ``refused`` is true when a refusal has no override.
    """
    return {
        "version": VERSION,
        "cluster": preview.cluster,
        "stacks": list(preview.layers),
        "known": preview.basis,
        "devices": preview.devices,
        "changed": len(preview.changed),
        "refused": bool(unanswered(preview.guarded, overrides)),
        "overrides": [asdict(override) for override in overrides],
        "spec": [asdict(change) for change in preview.spec],
        "model": [{"text": sentence.text, "devices": sorted(sentence.devices)} for sentence in preview.sentences],
        "groups": list(_groups(preview.kinds)),
        "disturbs": _disturbs(preview.disturbance),
        "waves": [_wave(impact) for impact in preview.disturbance.waves],
        "gates": {
            "asked": [asdict(question) for question in gates.questions],
            "left_out": [asdict(gate) for gate in gates.left_out],
        },
        "to_build": [{**asdict(image), "servers": list(image.servers)} for image in preview.unbuilt],
        "proofs": _proofs(preview.guarded),
    }


def _groups(kinds: Iterable[GroupKind]) -> Iterator[dict[str, Any]]:
    for kind in kinds:
        for group in kind.groups:
            yield {"place": kind.place, "does": list(kind.does), **_group(group)}


def _group(group: DeviceGroup) -> dict[str, Any]:
    return {
        "devices": list(group.devices),
        "role": group.role,
        "status": group.status,
        "effect": group.effect.name.lower(),
        "files": [{**asdict(file.diff), "also": list(file.also)} for file in group.files],
    }


def _disturbs(disturbance: Disturbance) -> dict[str, Any]:
    return {
        "nothing": disturbance.is_none,
        "racks_afterwards": dict(disturbance.standing),
        "partitions_lost": [{**asdict(loss), "nodes": list(loss.nodes)} for loss in disturbance.partitions],
        "jobs": [_job(job) for job in disturbance.jobs],
        "jobs_untouched": [job.name for job in disturbance.untouched],
        "notes": list(disturbance.notes),
    }


def _job(impact: JobImpact) -> dict[str, Any]:
    return {
        "job": impact.job.name,
        "nodes": len(impact.job.nodes),
        "planned": impact.job.is_planned,
        "booting": list(impact.booting),
        "interrupted": list(impact.interrupted),
        "cut": list(impact.cut),
        "slowed": list(impact.slowed),
        "least_bandwidth": impact.least,
        "worst_wave": impact.worst_wave,
    }


def _wave(impact: WaveImpact) -> dict[str, Any]:
    wave = impact.wave
    return {
        "number": impact.number,
        "stack": wave.layer,
        "kind": wave.kind,
        "canary": wave.is_canary,
        "units": list(wave.units),
        "devices": list(wave.devices),
        "effect": wave.effect.name.lower(),
        "away": list(impact.away),
        "links_down": dict(impact.links),
        "racks_cut": list(impact.cut),
        "racks_losing": dict(impact.losers),
        "breaks": wave.breaks,
    }


def _proofs(guarded: Guarded) -> dict[str, Any]:
    return {
        "held": list(guarded.held),
        "untouched": list(guarded.untouched),
        "not_proven": [asdict(check) for check in guarded.unproven],
        "refuted_before": list(guarded.stale),
        "broken": [_proof(proof) for proof in guarded.broken],
        "checked_on_the_way": list(guarded.states),
        "moments_on_the_way": guarded.moments,
    }


def _proof(proof: Proof) -> dict[str, Any]:
    return {
        "check": proof.check,
        "claim": proof.claim,
        "state": proof.state,
        "refuses": proof.refuses,
        "lasts": proof.lasts,
        "counterexamples": [
            {
                "device": counterexample.device,
                "file": f"/{counterexample.file}",
                "line": counterexample.line,
                "message": counterexample.message,
            }
            for counterexample in proof.counterexamples
        ],
    }
