"""Adopting what runs: the lines of the spec by which a difference becomes intended, where there are such lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from clusterwright.device_files.drift import Difference, Drift
from clusterwright.known_secrets import SHOWN
from clusterwright.plan.model import Plan
from clusterwright.switches.eos.reader.sections import PATH as STARTUP

_REASON = "found running; say why, and who decided"
_NO_LESS = "no line of the spec takes it away on one device; change what it comes from, or revert"
_PINNED = "to adopt it would pin the whole list of this device; change what it comes from, or revert"
_HELD = "it holds a secret: name it in the spec, as `clusterwright explain secrets` says, or revert"
_FILTER = "packet filters follow from zones and flows alone: declare the flow there, or revert"


def adoption(plan: Plan, drifts: Iterable[Drift]) -> str:
    """YAML for the spec that makes what runs intended, a comment for each difference that has none. "" for none."""
    lines: dict[str, list[str]] = {}
    merges: dict[tuple[str, str], dict[str, Any]] = {}
    settings: dict[tuple[str, str], dict[str, str]] = {}
    refused: list[str] = []
    for drift in drifts:
        why_not = _why_not(drift)
        if why_not:
            refused.append(f"# {drift.device} {drift.file}: {drift.message}: {why_not}")
        elif drift.file == STARTUP:
            lines.setdefault(drift.device, []).extend(_eos_lines(drift))
        elif drift.file.endswith(".json") or drift.file.startswith("etc/coop/"):
            patch = merges.setdefault((drift.device, drift.file), {})
            for key in drift.sections[:-1]:
                patch = patch.setdefault(key, {})
            patch[drift.sections[-1]] = drift.value
        else:
            settings.setdefault(_setting_of(plan, drift), {})[drift.place] = drift.runs
    entries: list[dict[str, Any]] = [
        {"device": device, "lines": stated_lines, "reason": _REASON} for device, stated_lines in lines.items()
    ]
    entries += [
        {"device": device, "file": file, "merge": patch, "reason": _REASON} for (device, file), patch in merges.items()
    ]
    parts = [yaml.safe_dump({"extra_config": entries}, sort_keys=False, width=110)] if entries else []
    for (where, key), values in settings.items():
        parts.append(f"# at {where}:\n" + yaml.safe_dump({key: values}, sort_keys=False, width=110))
    return "\n".join([*parts, *refused, *([""] if refused else [])])


def _why_not(drift: Drift) -> str:
    if any(SHOWN in text for text in (drift.place, drift.runs, *drift.sections)):
        return _HELD
    if drift.file.startswith("etc/nftables"):
        return _FILTER
    if drift.kind is Difference.MISSING and "sysctl" not in drift.file:
        is_json = bool(drift.sections) and drift.file != STARTUP
        if not is_json:
            return _NO_LESS
    if any(key.startswith("[") for key in drift.sections) and drift.file != STARTUP:
        return _PINNED
    if drift.file == STARTUP or drift.sections:
        return ""
    if drift.file.startswith("etc/sysctl.d/") and drift.kind is Difference.CHANGED:
        return ""
    if drift.file in {"etc/nccl.conf", "etc/nccl/nccl.conf"} and drift.kind is not Difference.MISSING:
        return ""
    return "no key of the spec says it for one device; revert"


def _setting_of(plan: Plan, drift: Drift) -> tuple[str, str]:
    """Where in the spec the setting stands, in words, and its key there."""
    if drift.file.startswith("etc/sysctl.d/"):
        image = plan.by_name[drift.device].image
        return f"the image {image}, or one of its own for {drift.device} by an exception", "sysctl"
    return "nccl, for every node", "variables"


def _eos_lines(drift: Drift) -> Sequence[str]:
    """The line below the headers of its sections, indented as EOS does; a whole section as it runs."""
    block = [item for item in drift.sections if item.lstrip() == item]
    inner = [item for item in drift.sections if item.lstrip() != item]
    if drift.runs in block:
        above = block[: block.index(drift.runs)]
        section_lines = [drift.runs, *inner]
    else:
        above, section_lines = block, [drift.runs]
    lines_of_sections = [f"{'   ' * depth}{header}" for depth, header in enumerate(above)]
    return [*lines_of_sections, *(f"{'   ' * len(above)}{line}" for line in section_lines)]
