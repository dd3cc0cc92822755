"""A rule: one function checking a typed spec. Its page describes it to users.

A rule lives in a module of this package named for its family and is written so::

    @rule("CW203", Severity.ERROR)
    def too_few_ports(subject: Subject) -> Iterator[Problem]:
        ...

The decorator returns a ``LintRule``; the registry finds it in the package's modules. Its title, the reason for it and
the fix stand on ``docs/rules/CW203.md`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from clusterwright.finding import Amendment, Finding, Position, Severity
from clusterwright.intent.filter_bound import FilterBound
from clusterwright.plan.allocation.disagreement import Comparison
from clusterwright.plan.allocation.fabric_ports import allocate_fabric
from clusterwright.plan.build import build_plan
from clusterwright.plan.figures import figures
from clusterwright.plan.meeting import Wiring, wiring_of_skeleton
from clusterwright.plan.model import Plan
from clusterwright.plan.ports import Allocation, PortShortage
from clusterwright.plan.racks.filling import Racks, fill_racks
from clusterwright.plan.racks.lengths import cables_at_most, longest_cables
from clusterwright.plan.service import device_states
from clusterwright.plan.size import node_count, uplink_counts
from clusterwright.plan.skeleton import FabricSkeleton, Skeleton, build_skeleton
from clusterwright.rules.pages import RuleText, text_of
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.schema.fence import FencedError
from clusterwright.spec.schema.string_kinds import KindedString, kinded_strings
from clusterwright.spec.text.document import Path

FAMILIES = {
    "CW1": "schema and references",
    "CW2": "topology and capacity",
    "CW3": "addressing and routing",
    "CW4": "lossless transport and NCCL",
    "CW5": "isolation and encryption",
    "CW6": "images and nodes",
    "CW7": "power, space and cabling",
}
_TOPICS = {
    "CW1": "[every key of a spec](../spec.md)",
    "CW2": "[sizing a fabric](../sizing.md)",
    "CW3": "[Ethernet switches](../ethernet.md)",
    "CW4": "[NCCL and lossless transport](../nccl.md)",
    "CW5": "[zones and isolation](../isolation.md)",
    "CW6": "[images and nodes](../images.md)",
    "CW7": "[cables, space and lists](../cabling.md)",
}
"""The page of docs about the subject of each family, as linked from a page beside theirs."""


@dataclass(frozen=True)
class Subject:
    """The input of rules: the typed spec and the skeleton of its plan.

    Reading a value in doubt by another finding raises FencedError: the rule is then not checked, and the result reports
    it. No rule has to list the values it relies on.

    ``day`` is the day for expiry checks; None checks no date. ``no_plan`` is a finding that keeps the skeleton from
    becoming a plan, if there is one.
    """

    spec: ClusterSpec
    day: date | None = None
    no_plan: Finding | None = None

    @property
    def skeleton(self) -> Skeleton:
        """Sizes and joins, without devices; built by the first access.

        Raises FencedError while a count is in doubt, since it may exceed the memory (CW200).
        """
        if isinstance(self._skeleton, Skeleton):
            return self._skeleton
        raise FencedError(self._skeleton)

    @cached_property
    def _skeleton(self) -> Skeleton | Finding:
        """The skeleton, or the error that prevents it, built once for all rules."""
        try:
            node_count(self.spec)
            uplink_counts(self.spec)
            return build_skeleton(self.spec)
        except FencedError as fenced:
            return fenced.finding

    @cached_property
    def strings(self) -> tuple[KindedString, ...]:
        """The strings of the spec with their kinds in the schema, such as ``url`` or ``mountpoint``."""
        return kinded_strings(self.spec.document.data, "cluster")

    def require_plan(self) -> None:
        """Stop a rule on paths through the fabrics, by raising FencedError, unless the skeleton becomes a plan."""
        if self.no_plan:
            raise FencedError(self.no_plan)

    @cached_property
    def wirings(self) -> tuple[tuple[FabricSkeleton, Wiring], ...]:
        """The fabrics with every device attached and every uplink joined; other rules report the rest.

        Raises FencedError without a plan: paths over links without a port are of no use, and may be millions.
        """
        self.require_plan()
        layout = self.skeleton.layout
        return tuple(
            (skeleton, wiring_of_skeleton(self.spec, layout, skeleton))
            for skeleton in self.skeleton.fabrics
            if not skeleton.unattached and not skeleton.loose
        )

    @cached_property
    def allocations(self) -> tuple[tuple[FabricSkeleton, tuple[Allocation, ...]], ...]:
        """The ports of every switch of each fabric, in the order of its seats.

        Raises FencedError without a plan, as for a switch with too few ports.
        """
        self.require_plan()
        return tuple((fabric, ports) for fabric, ports in self.allotted if not isinstance(ports, PortShortage))

    @cached_property
    def allotted(self) -> tuple[tuple[FabricSkeleton, tuple[Allocation, ...] | PortShortage], ...]:
        """The same, with the shortage of a fabric with too few ports at a switch."""
        return tuple((fabric, self._allotted(fabric)) for fabric in self.skeleton.fabrics)

    def _allotted(self, fabric: FabricSkeleton) -> tuple[Allocation, ...] | PortShortage:
        try:
            return tuple(allocate_fabric(self.spec, fabric))
        except PortShortage as shortage:
            return shortage

    @cached_property
    def plan(self) -> Plan:
        """The whole plan, for rules on single ports and cables. Raises FencedError without one."""
        self.require_plan()
        return build_plan(self.spec, self.skeleton)

    @cached_property
    def longest_cables(self) -> Mapping[tuple[str, int, str], float]:
        """The longest cable in metres of each fabric, tier and side. Raises FencedError without a plan."""
        return longest_cables(self.plan)

    @cached_property
    def cables_at_most(self) -> Mapping[tuple[str, int, str], float]:
        """An upper bound of ``longest_cables``, or these themselves without a cheaper bound.

        Raises FencedError without a plan.
        """
        self.require_plan()
        return cables_at_most(self.spec, self.skeleton.fabrics) or self.longest_cables

    @cached_property
    def filter_bound(self) -> FilterBound:
        """The node groups with addresses behind each switch."""
        return FilterBound(self.spec, self.skeleton)

    @cached_property
    def comparison(self) -> Comparison | None:
        """The plan beside its allocation file; None without one. Raises FencedError without a plan."""
        return Comparison(self.plan, self.spec.allocated) if self.spec.allocated else None

    def take_away(self, path: Path) -> str:
        """A hint for removing the key at ``path``: in its file, or by null in the spec extending that file."""
        document, key = self.spec.document, path[-1]
        if document.locate(path, key=True).file == document.file:
            return f"Remove `{key}`."
        return f"Remove `{key}` there, or write `{key}: null` in {document.file}."

    @cached_property
    def states(self) -> Mapping[str, str]:
        """The state of every node and switch by name."""
        return device_states(self.spec, self.skeleton)

    @cached_property
    def racks(self) -> Racks:
        """The racks and their contents."""
        return fill_racks(self.spec, self.skeleton)

    @cached_property
    def figures(self) -> Mapping[str, float]:
        """The cluster's figures by dotted name."""
        return figures(self.spec, self.skeleton)


@dataclass(frozen=True, slots=True)
class Problem:
    """One objection: its place in the spec (``key`` for the key rather than its value), a message and a hint.

    ``position`` is a place in another file named by the value at ``path``. ``amendment`` is an edit for ``lint --fix``,
    with its text in ``instead``.
    """

    path: Path
    message: str
    hint: str
    key: bool = False
    position: Position | None = None
    amendment: Amendment | None = None
    instead: str = ""


OURS = "CW"  # the prefix of the codes of this package
_REFERENCES = "CW1"

Check = Callable[[Subject], Iterator[Problem]]


@dataclass(frozen=True, slots=True)
class LintRule:
    """A stable code and its check. ``check`` is None for a finding reported by reading or by the schema.

    ``own_text`` describes a rule added by a project: ours have a page.

    A finding of a ``relied_on`` rule puts the value at its place in doubt, and no other rule reads it. With a finding
    of a rule that ``leaves_no_plan`` nothing can be drawn. Neither can be suppressed: nothing can be rendered from such
    a spec.
    """

    code: str
    severity: Severity
    check: Check | None = None
    relied_on: bool = False
    leaves_no_plan: bool = False
    own_text: RuleText | None = None

    @property
    def text(self) -> RuleText:
        """The rule's text for users. Raises FileNotFoundError for a rule of ours without a page."""
        return self.own_text or text_of(self.code)

    @property
    def is_suppressible(self) -> bool:
        """Whether a comment may accept its findings; not those on names of the spec (CW1xx), except notes."""
        named = self.code.startswith(_REFERENCES) and self.severity > Severity.NOTE
        return not (self.check is None or self.relied_on or self.leaves_no_plan or named)

    @property
    def family(self) -> str:
        """The field of the code, in words."""
        return FAMILIES.get(self.code[:3], "rules of this project")

    @property
    def topic(self) -> str:
        """A link to the page on the field; "" for a rule of a project."""
        return _TOPICS.get(self.code[:3], "")


def rule(
    code: str,
    severity: Severity,
    *,
    title: str = "",
    why: str = "",
    fix: str = "",
    docs: str = "",
    relied_on: bool = False,
    leaves_no_plan: bool = False,
) -> Callable[[Check], LintRule]:
    """Make a rule of a check function. Raises TypeError for a rule with neither a page of ours nor texts."""
    if not (code.startswith(OURS) or (title and why and fix)):
        raise TypeError(f"{code} lacks a title, why it matters, or how to fix it")
    text = RuleText(title=title, why=why, fix=fix, docs=docs) if title else None
    return lambda check: LintRule(
        code=code, severity=severity, check=check, relied_on=relied_on, leaves_no_plan=leaves_no_plan, own_text=text
    )
