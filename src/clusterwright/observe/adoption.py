"""Spec lines for adopting differences found on running devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from clusterwright.device_files.drift import Difference, Drift
from clusterwright.known_secrets import SHOWN
from clusterwright.plan.model import Plan
from clusterwright.switches.eos.reader.sections import PATH as STARTUP

_REASON = "found running; say why, and who decided"
_NO_LESS = "the spec cannot remove it from one device; change its source, or revert"
_PINNED = "to adopt it would pin the whole list of this device; change its source, or revert"
_HELD = "it holds a secret: name it in the spec, as `clusterwright explain secrets` says, or revert"
_FILTER = "packet filters follow from zones and flows alone: declare the flow there, or revert"


def adoption(plan: Plan, drifts: Iterable[Drift]) -> str:
    """YAML of the spec lines for ``drifts``, with a comment for each refused one."""
    eos_lines: dict[str, list[str]] = {}
    patches: dict[tuple[str, str], dict[str, Any]] = {}
    settings: dict[tuple[str, str], dict[str, str]] = {}
    refusals: list[str] = []
    for drift in drifts:
        reason = _refusal(drift)
        if reason:
            refusals.append(f"# {drift.device} {drift.file}: {drift.message}: {reason}")
        elif drift.file == STARTUP:
            eos_lines.setdefault(drift.device, []).extend(_eos_lines(drift))
        elif drift.file.endswith(".json") or drift.file.startswith("etc/coop/"):
            _add_value(patches.setdefault((drift.device, drift.file), {}), drift)
        else:
            settings.setdefault(_setting_of(plan, drift), {})[drift.place] = drift.runs
    entries: list[dict[str, Any]] = []
    for device, lines in eos_lines.items():
        entries.append({"device": device, "lines": lines, "reason": _REASON})
    for (device, file), patch in patches.items():
        entries.append({"device": device, "file": file, "merge": patch, "reason": _REASON})
    parts = []
    if entries:
        parts.append(_yaml({"extra_config": entries}))
    for (place, key), values in settings.items():
        parts.append(f"# at {place}:\n" + _yaml({key: values}))
    if refusals:
        parts.extend([*refusals, ""])
    return "\n".join(parts)


def _yaml(document: dict[str, Any]) -> str:
    return str(yaml.safe_dump(document, sort_keys=False, width=110))


def _add_value(patch: dict[str, Any], drift: Drift) -> None:
    """Add the running value of a JSON file to ``patch``, below the keys of its path."""
    parent = patch
    for key in drift.sections[:-1]:
        parent = parent.setdefault(key, {})
    parent[drift.sections[-1]] = drift.value


def _refusal(drift: Drift) -> str:
    """The reason against adopting a difference; "" for an adoptable one."""
    if any(SHOWN in text for text in (drift.place, drift.runs, *drift.sections)):
        return _HELD
    if drift.file.startswith("etc/nftables"):
        return _FILTER
    is_eos = drift.file == STARTUP
    is_json = bool(drift.sections) and not is_eos
    is_missing = drift.kind is Difference.MISSING
    if is_missing and "sysctl" not in drift.file and not is_json:
        return _NO_LESS
    if is_json and any(key.startswith("[") for key in drift.sections):
        return _PINNED
    if is_eos or is_json:
        return ""
    if drift.file.startswith("etc/sysctl.d/") and drift.kind is Difference.CHANGED:
        return ""
    if drift.file in {"etc/nccl.conf", "etc/nccl/nccl.conf"} and not is_missing:
        return ""
    return "no key of the spec sets it for one device; revert"


def _setting_of(plan: Plan, drift: Drift) -> tuple[str, str]:
    """The setting's place in the spec, in words, and its key there."""
    if drift.file.startswith("etc/sysctl.d/"):
        image = plan.by_name[drift.device].image
        return f"the image {image}, or one of its own for {drift.device} by an exception", "sysctl"
    return "nccl, for every node", "variables"


def _eos_lines(drift: Drift) -> Sequence[str]:
    """The running line below the headers of its sections, with EOS's indentation, or a whole running section."""
    headers = [section for section in drift.sections if section.lstrip() == section]
    inner_lines = [section for section in drift.sections if section.lstrip() != section]
    running_lines = [drift.runs]
    if drift.runs in headers:
        headers = headers[: headers.index(drift.runs)]
        running_lines += inner_lines
    lines = [f"{'   ' * depth}{header}" for depth, header in enumerate(headers)]
    indent = "   " * len(headers)
    lines.extend(f"{indent}{line}" for line in running_lines)
    return lines
