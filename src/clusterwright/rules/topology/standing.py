"""CW260 to CW267: the allocation file, in which what stands keeps its place, against the spec and its plan."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from clusterwright.data_files import DOCS_SITE
from clusterwright.finding import MOST_TOLD, Position, Severity
from clusterwright.plan.allocation.disagreement import moves_unaided
from clusterwright.rules.rule import LintRule, Problem, Subject, rule

_FILE = (
    "The allocation file lies beside the spec: `cluster.allocated.yaml` beside `cluster.yaml`. `clusterwright allocate`"
    f" writes it, and every command reads it ({DOCS_SITE}/growing.html)."
)

NO_FACT = LintRule(
    "CW260",
    Severity.ERROR,
    "a line of the allocation file that is no fact",
    "What the line said would move at the next growth, and nobody would know why.",
    "Mend the line, or take it from git's history; the finding names the file, line and column.",
    _FILE + " It is YAML of sections whose entries are one line each. Conflicts that git left are such lines too.\n\n"
    "`clusterwright allocate SPEC --cables LIST.csv` takes cables as they were laid from a point-to-point list, as"
    " NVIDIA's Cable Validation Tool and Mission Control write them (`A-Node`, `A-Port`, `Z-Node`, `Z-Port`). A row"
    " that names no device or port of the spec is refused in the same way.",
)

GIVEN_TWICE = LintRule(
    "CW261",
    Severity.ERROR,
    "two lines of the allocation file give the same thing away",
    "A port holds one cable and an address belongs to one device: one of the two would not work.",
    "Delete the line of the branch that was merged later, and run `clusterwright allocate`: it gives out another one.",
    "Two branches that grow at once take the same next port or number, each in a line of its own, and git merges both."
    " The message names the two lines.",
)


@rule(
    code="CW262",
    severity=Severity.ERROR,
    title="what stands by the allocation file cannot stand by the spec",
    why="The plan gives another port or address in its place, so a cable or a machine that is in use would move.",
    mend="Change the spec so that it can stay, or delete the line and run `clusterwright allocate`: then it moves.",
    docs="Each fact of the file is looked for in the plan. It is not there when the model has no such port, the port"
    " runs at another speed or mode, the spec joins other switches, an address lies outside of its pool, or an AS"
    " number below the base of its tier.",
)
def cannot_stand(subject: Subject) -> Iterator[Problem]:
    """Facts of the file that the plan does not follow."""
    hint = "Change the spec so that it can stay, or delete the line and run `clusterwright allocate`."
    yield from _disagreements(subject, hint, of_places=False)


@rule(
    code="CW263",
    severity=Severity.WARNING,
    title="the allocation file has what the spec has no more",
    why="Its ports and addresses rest until the file says since when they are free.",
    mend="Run `clusterwright allocate`: it takes the lines out and writes down what rests since today.",
    docs="Ports and addresses that nothing has any more are given to nothing else for the spec's"
    " `allocation.quarantine_days`, so that a late packet, a forgotten cable or a stale firewall rule meets nobody new."
    " Something was renamed rather than taken away? Say so under `renamed:`.",
)
def has_gone(subject: Subject) -> Iterator[Problem]:
    """What stands by the file and is not in the plan."""
    comparison = subject.comparison
    if comparison is None or not subject.spec.allocated.is_own or not comparison.gone:
        return
    line, name = comparison.gone[0]
    rest = f", and {len(comparison.gone) - 1:,} more" if len(comparison.gone) > 1 else ""
    message = f"The spec has {name} no more{rest}."
    hint = "Run `clusterwright allocate`; or write under `renamed:` what is called otherwise now."
    yield Problem((), message, hint, position=Position(subject.spec.allocated.file, line, 3))


@rule(
    code="CW264",
    severity=Severity.WARNING,
    title="the allocation file lacks what the spec has",
    why="What is not written down moves when the spec grows again.",
    mend="Run `clusterwright allocate`: it adds the lines, and moves nothing.",
    docs=_FILE + " What the file lacks is planned around what stands. The message also says what of that would move"
    " without the file, and how many cables go to switches that are new.",
)
def lacks(subject: Subject) -> Iterator[Problem]:
    """What the plan has and the file does not."""
    comparison = subject.comparison
    if comparison is None or not subject.spec.allocated.is_own or not any(comparison.unrecorded):
        return
    devices, cables = comparison.unrecorded
    taken = len(comparison.moved_to_new)
    moved = f" {taken:,} cables move to switches that are new." if taken else ""
    message = f"{subject.spec.allocated.file} lacks {devices:,} devices and {cables:,} cables of the spec.{moved}"
    yield Problem((), f"{message} {_without(subject)}".rstrip(), "Run `clusterwright allocate`.")


def _without(subject: Subject) -> str:
    """What would move of what stands if there were no allocation file."""
    cables, addresses, numbers = moves_unaided(subject.plan)
    if not (cables or addresses or numbers):
        return ""
    return f"Without the file {cables:,} cables, {addresses:,} addresses and {numbers:,} numbers of what stands move."


@rule(
    code="CW265",
    severity=Severity.WARNING,
    title="a machine cannot stay as it stands",
    why="Its model is another height or has other ports now: it moves in its rack, or its cables to other ports.",
    mend="Give it a model that fits, or accept the move and run `clusterwright allocate`.",
    docs="Cables of a model with other ports go to those at the same place among the ports of their speed; addresses"
    " and the far ends stay.",
)
def no_room(subject: Subject) -> Iterator[Problem]:
    """Devices that the plan has in another rack, unit or ports than the file."""
    hint = "Give it a model that fits, or run `clusterwright allocate`."
    yield from _disagreements(subject, hint, of_places=True)


def _disagreements(subject: Subject, hint: str, *, of_places: bool) -> Iterator[Problem]:
    """What the plan has otherwise than the file, at the file's lines: where machines stand, or all else."""
    comparison = subject.comparison
    found = (each for each in comparison.disagreements if each.is_place is of_places) if comparison else iter(())
    for each in islice(found, MOST_TOLD):
        yield Problem((), each.message, hint, position=Position(subject.spec.allocated.file, each.line, 3))


@rule(
    code="CW266",
    severity=Severity.ERROR,
    title="a new name for what the spec does not have",
    why="What was called so before is destroyed, and what is new is made in its place.",
    mend="Write the name that it has in the spec now; delete entries of which the file has the new names already.",
    docs="`renamed:` says of a node group, a fabric or a tier what it was called when the allocation file was written."
    " It stands where it stood, under its new name; once `clusterwright allocate` has run, the entry can go.",
)
def renamed_to_nothing(subject: Subject) -> Iterator[Problem]:
    """Entries of ``renamed`` whose new name is none, or whose old one still is one."""
    for item in subject.spec.renamed:
        fabric = subject.spec.fabric(item.fabric or "")
        if item.nodes is not None:
            kind, now, known = "node group", item.nodes, {group.name for group in subject.spec.node_groups}
        elif item.tier is not None:
            kind, now = "tier", item.tier
            known = {tier.role for tier in fabric.tiers} if fabric is not None else set()
        else:
            kind, now, known = "fabric", item.fabric or "", {each.name for each in subject.spec.fabrics}
        if now not in known:
            key = "nodes" if item.nodes is not None else "tier" if item.tier is not None else "fabric"
            where = f" of {item.fabric}" if item.tier is not None else ""
            yield Problem((*item.path, key), f'The spec has no {kind} "{now}"{where}.', "Write the name it has now.")
        elif item.was in known:
            message = f'The spec still has a {kind} "{item.was}": it was not renamed to "{now}".'
            yield Problem((*item.path, "was"), message, "Write the name that it had before.")


@rule(
    code="CW267",
    severity=Severity.ERROR,
    title="left out is what was never there",
    why="The spec means a rack or a node that it does not reach, and the one that is meant is cabled and configured.",
    mend="Write the name of a group or a node as the inventory has it.",
    docs="`left_out` passes over groups and nodes: their places stay empty, and everything else keeps its own. `count`"
    " is of the nodes that are there, so leaving out a rack of four takes four away from it, or as many are added at"
    " the end.",
)
def left_out_in_vain(subject: Subject) -> Iterator[Problem]:
    """Names under ``left_out`` that no place of the node group has."""
    for group in subject.spec.node_groups:
        if not group.left_out:
            continue
        subject.require_plan()
        met = subject.skeleton.layout.left_out
        for at, name in enumerate(group.left_out):
            if name not in met:
                message = f'"{name}" is no place of {group.name}.'
                hint = "Write a name that the inventory has, such as those of the racks before and after."
                yield Problem((*group.path, "left_out", at), message, hint)
