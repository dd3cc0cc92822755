"""UFM's own files beside its subnet manager's: SHARP, its aggregation trees, and UFM's partitions."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.hosts.opensm.reader.lists import Option
from clusterwright.hosts.opensm.reader.partitions import DEFAULT_PKEY, BadStatement, Statement, parse_partitions
from clusterwright.hosts.ufm.reader import DEFAULT_MEMBERSHIP, SETTINGS, SHARP_ENABLED, UfmSetting, settings
from clusterwright.packets.phrases import count
from clusterwright.proofs.infiniband.declared import DeclaredSubnet
from clusterwright.proofs.infiniband.manager_options import Fault, fixed_faults, free_faults
from clusterwright.proofs.infiniband.option_meaning import Fixed, Free

GLOBAL, SHARP = SETTINGS, "opt/ufm/files/conf/sharp/sharp_am.cfg"
EXTENSION = "opt/ufm/files/conf/partitions.conf.user_ext"
_FIGURES = ("ib_qpc_sl", "max_trees_to_build", "tree_radix")
_PACE = Free(1, 3600, "it decides how soon a change of the fabric is noticed")


def global_faults(text: str | None, has_sharp: bool, membership: str) -> Iterator[Fault]:
    """Faults of gv.cfg.

    ``has_sharp`` and the ``membership`` of all adapters in the default partition come from the spec or from the files
    beside it. Settings that no claim knows are unread (``settings_unread``).
    """
    if text is None:
        yield 0, "the file is missing: UFM decides by itself about SHARP, and makes every adapter a full member"
        return
    wanted = {
        SHARP_ENABLED: Fixed("true" if has_sharp else "false", "UFM starts SHARP otherwise"),
        DEFAULT_MEMBERSHIP: Fixed(
            membership, "UFM writes partitions.conf anew, with another membership for every adapter"
        ),
    }
    options: dict[tuple[str, str], Option] = {}
    for setting in settings(text):
        if isinstance(setting, UfmSetting):
            if setting.place in options:
                yield (
                    setting.line,
                    f"{setting.key} of [{setting.section}] stands on line {options[setting.place].line} too",
                )
            options[setting.place] = Option(setting.value.lower(), setting.line)
    named = {" of ".join((key, f"[{section}]")): (section, key) for section, key in wanted}
    yield from fixed_faults(
        {name: options[place] for name, place in named.items() if place in options},
        {name: wanted[place] for name, place in named.items()},
    )


def watching_notes(device: str, text: str | None) -> Iterator[str]:
    """A note on unchecked settings of gv.cfg for monitoring."""
    ufm_settings = [setting for setting in settings(text or "") if isinstance(setting, UfmSetting)]
    watching = [setting for setting in ufm_settings if setting.is_watching]
    if watching:
        example = f"{watching[0].key} of [{watching[0].section}]"
        yield f"{device}: not checked of /{GLOBAL}: {count(len(watching), 'setting')} of monitoring, such as {example}."


def extension_faults(text: str | None, partitions: str | None) -> Iterator[Fault]:
    """Faults of the partitions added by UFM to its own.

    They must equal those of ``partitions``, the subnet manager's file, which UFM writes anew from this one. Only the
    default partition is missing, as UFM makes it.
    """
    try:
        line_by_partition = {_plain(partition): partition.line for partition in parse_partitions(text or "")}
        planned = parse_partitions(partitions or "")
        wanted = {_plain(partition) for partition in planned if partition.pkey != DEFAULT_PKEY}
    except BadStatement as bad:
        yield bad.line, f"{bad} UFM writes partitions.conf from this file"
        return
    if text is None and wanted:
        yield 0, "the file is missing: UFM writes partitions.conf anew, without these partitions"
    elif lacking := wanted - line_by_partition.keys():
        names = ", ".join(sorted(name for name, *_ in lacking))
        yield 0, f"{names} stands otherwise in partitions.conf, which UFM writes anew from this file"
    for plain in sorted(line_by_partition.keys() - wanted, key=line_by_partition.__getitem__):
        message = f"{plain[0]} stands otherwise in partitions.conf, or not at all, and UFM adds it"
        yield line_by_partition[plain], message


_Plain = tuple[str, int | None, tuple[str, ...], str, tuple[tuple[int, str, str], ...]]


def _plain(statement: Statement) -> _Plain:
    """The meaning of a statement, in any order and at any line."""
    members = tuple(sorted((member.guid, member.keyword, member.membership) for member in statement.members))
    return statement.name, statement.pkey, statement.flags, statement.default, members


def sharp_faults(text: str | None, wanted: DeclaredSubnet | None, has_sharp: bool) -> Iterator[Fault]:
    """Faults of sharp_am.cfg, present if and only if SHARP is on; without a spec no figure is compared."""
    if text is None:
        if has_sharp:
            yield 0, "the file is missing: the aggregation manager makes trees as it likes"
        return
    if not has_sharp:
        yield 0, "the file is there, and SHARP is off"
    spec = wanted if wanted is not None and has_sharp else None
    fixed: dict[str, Fixed] = {}
    free = {"fabric_update_interval": _PACE}
    if spec is None:
        free |= dict.fromkeys(_FIGURES, Free(0, 1 << 16, ""))
    else:
        fixed["ib_qpc_sl"] = Fixed(str(spec.sharp_level), "sums travel in another service level than the data")
        fixed["max_trees_to_build"] = Fixed(str(len(spec.roots)), "there is not a tree for each root")
        fixed["tree_radix"] = Fixed(str(spec.radix), "trees do not fit the switches' ports")
    options: dict[str, Option] = {}
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split(None, 1)
        if not words or words[0].startswith(("#", ";")):
            continue
        if words[0] in options:
            yield number, f"{words[0]} stands on line {options[words[0]].line} too"
        elif words[0] not in fixed and words[0] not in free:
            yield number, f"{words[0]} is asked for by nothing in the spec, and no claim knows what it changes"
        options[words[0]] = Option(words[1].strip() if len(words) > 1 else "", number)
    yield from fixed_faults(options, fixed)
    yield from free_faults(options, free)
