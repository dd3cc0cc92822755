"""A preview as one JSON document: nothing is shortened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from clusterwright.rollout.disturbance import Disturbance, JobImpact, WaveImpact
from clusterwright.rollout.gates.selection import Gates
from clusterwright.rollout.guard import Guarded, Override, Proof, unanswered
from clusterwright.rollout.preview.grouping import DeviceGroup
from clusterwright.rollout.preview.preview import Preview

VERSION = 1


def document(found: Preview, gates: Gates, overrides: Sequence[Override] = ()) -> dict[str, Any]:
    """The preview as JSON types, with the gates between its waves.

    ``refused`` is true when a refusal has no override.
    """
    return {
        "version": VERSION,
        "cluster": found.cluster,
        "stacks": list(found.layers),
        "known": found.known,
        "devices": found.devices,
        "changed": len(found.changed),
        "refused": bool(unanswered(found.guarded, overrides)),
        "overrides": [asdict(override) for override in overrides],
        "spec": [asdict(change) for change in found.spec],
        "model": [{"text": sentence.text, "devices": sorted(sentence.devices)} for sentence in found.sentences],
        "groups": [
            {"place": kind.place, "does": list(kind.does), **_group(group)}
            for kind in found.kinds
            for group in kind.groups
        ],
        "disturbs": _disturbs(found.disturbance),
        "waves": [_wave(impact) for impact in found.disturbance.waves],
        "gates": {
            "asked": [asdict(question) for question in gates.questions],
            "left_out": [asdict(each) for each in gates.left_out],
        },
        "to_build": [{**asdict(image), "servers": list(image.servers)} for image in found.unbuilt],
        "proofs": _proofs(found.guarded),
    }


def _group(group: DeviceGroup) -> dict[str, Any]:
    return {
        "devices": list(group.devices),
        "role": group.role,
        "status": group.status,
        "effect": group.effect.name.lower(),
        "files": [{**asdict(file.diff), "also": list(file.also)} for file in group.files],
    }


def _disturbs(found: Disturbance) -> dict[str, Any]:
    return {
        "nothing": found.is_none,
        "racks_afterwards": dict(found.standing),
        "partitions_lost": [{**asdict(loss), "nodes": list(loss.nodes)} for loss in found.partitions],
        "jobs": [_job(job) for job in found.jobs],
        "jobs_untouched": [job.name for job in found.untouched],
        "notes": list(found.notes),
    }


def _job(found: JobImpact) -> dict[str, Any]:
    return {
        "job": found.job.name,
        "nodes": len(found.job.nodes),
        "planned": found.job.is_planned,
        "booting": list(found.booting),
        "interrupted": list(found.interrupted),
        "cut": list(found.cut),
        "slowed": list(found.slowed),
        "least_bandwidth": found.least,
        "worst_wave": found.worst_wave,
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


def _proofs(found: Guarded) -> dict[str, Any]:
    return {
        "held": list(found.held),
        "untouched": list(found.untouched),
        "not_proven": [asdict(each) for each in found.unproven],
        "refuted_before": list(found.stale),
        "broken": [_proof(proof) for proof in found.broken],
        "checked_on_the_way": list(found.states),
        "moments_on_the_way": found.moments,
    }


def _proof(proof: Proof) -> dict[str, Any]:
    return {
        "check": proof.check,
        "claim": proof.claim,
        "state": proof.state,
        "refuses": proof.refuses,
        "lasts": proof.lasts,
        "counterexamples": [
            {"device": each.device, "file": f"/{each.file}", "line": each.line, "message": each.message}
            for each in proof.found
        ],
    }
