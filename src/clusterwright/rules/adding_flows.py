"""Flows written by ``lint --fix``: their place in the text, and the smallest sufficient set.

A flow is a line of its own behind the last one of the file's list. It opens the zones, protocol and ports in the hint
of one finding. It has no owner: CW523 then requests one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from clusterwright.finding import Amendment, Finding

Flow = Mapping[str, Any]

_DASH = re.compile(r" *- +")
_FIRST_INDENT = "  "


def flow_of(finding: Finding) -> dict[str, Any]:
    """The flow added by an amendment."""
    flow: dict[str, Any] = json.loads(finding.instead)
    return flow


def needed_flows(findings: Iterable[Finding], file: str) -> list[Finding]:
    """The findings in ``file`` with a flow not covered by another one, each flow once, in their order."""
    proposals = [finding for finding in findings if _adds_flow(finding, file)]
    flows = [flow_of(finding) for finding in proposals]
    kept: list[Finding] = []
    kept_flows: list[Flow] = []
    for finding, flow in zip(proposals, flows, strict=True):
        wider = [other for other in flows if _opens_all_of(other, flow)]
        is_widest = all(_opens_all_of(flow, other) for other in wider)
        is_repeated = any(_opens_all_of(other, flow) for other in kept_flows)
        if is_widest and not is_repeated:
            kept.append(finding)
            kept_flows.append(flow)
    return kept


def _adds_flow(finding: Finding, file: str) -> bool:
    return finding.amendment is Amendment.ADD_FLOW and finding.position.file == file


def _opens_all_of(flow: Flow, other: Flow) -> bool:
    """True if ``flow`` opens everything opened by ``other``: each is of one need, with one range of ports."""
    if any(flow[key] != other[key] for key in ("from", "to", "protocol")):
        return False
    (first, last), (other_first, other_last) = _range(flow), _range(other)
    return first <= other_first and other_last <= last


def _range(flow: Flow) -> tuple[int, int]:
    first, _, last = str(flow["ports"][0]).partition("-")
    return int(first), int(last or first)


def insertion(text: str, root: Any, flow: Flow) -> tuple[int, int, str] | None:
    """Start, end and text of the edit adding ``flow``; None for a list in an unsupported style."""
    listed = next((value for key, value in root.value if key.value == "flows"), None)
    if listed is None:
        end = "" if text.endswith("\n") else "\n"
        return len(text), len(text), f"{end}\nflows:\n{_FIRST_INDENT}- {flow_text(flow)}\n"
    if not isinstance(listed, yaml.SequenceNode):
        return None
    if listed.flow_style:
        if listed.value:
            return None
        start = text.rindex(":", 0, listed.start_mark.index) + 1
        end_of_line = _end_of_line(text, listed.end_mark.index)
        behind = text[listed.end_mark.index : end_of_line].rstrip()
        return start, end_of_line, f"{behind}\n{_FIRST_INDENT}- {flow_text(flow)}"
    last = listed.value[-1]
    line = text.rfind("\n", 0, last.start_mark.index) + 1
    dash = text[line : last.start_mark.index]
    if not _DASH.fullmatch(dash):
        return None
    offset = _end_of_line(text, _end_of_text(text, last))
    return offset, offset, f"\n{dash}{flow_text(flow)}"


def _end_of_text(text: str, node: Any) -> int:
    """The end of the last scalar or bracket of a node: a block's own end is at the beginning of the next token."""
    while not isinstance(node, yaml.ScalarNode) and not node.flow_style and node.value:
        node = node.value[-1] if isinstance(node, yaml.SequenceNode) else node.value[-1][1]
    return len(text[: node.end_mark.index].rstrip())


def _end_of_line(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def flow_text(flow: Flow) -> str:
    """A flow in one line of YAML, in the style of the references."""
    ports = ", ".join(json.dumps(port) for port in flow["ports"])
    ends = f"name: {flow['name']}, from: {flow['from']}, to: {flow['to']}"
    reason = json.dumps(flow["reason"], ensure_ascii=False)
    return f"{{{ends}, protocol: {flow['protocol']}, ports: [{ports}], reason: {reason}}}"
