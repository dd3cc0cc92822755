"""UFM's own files beside its subnet manager's: whether SHARP is on, and how its aggregation manager makes trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.platforms.opensm.reader.lists import Option
from clusterwright.proofs.infiniband.declared import DeclaredSubnet
from clusterwright.proofs.infiniband.manager_options import Fault, fixed_faults, free_faults
from clusterwright.proofs.infiniband.option_meaning import Fixed, Free

GLOBAL, SHARP = "opt/ufm/files/conf/gv.cfg", "opt/ufm/files/conf/sharp/sharp_am.cfg"
_FIGURES = ("ib_qpc_sl", "max_trees_to_build", "tree_radix")
_PACE = Free(1, 3600, "it decides how soon a change of the fabric is noticed")


def global_faults(text: str | None, has_sharp: bool) -> Iterator[Fault]:
    """What is wrong with gv.cfg; ``has_sharp`` is what the spec or opensm.conf beside it says."""
    if text is None:
        yield 0, "the file is missing: UFM decides by itself about SHARP"
        return
    value = "true" if has_sharp else "false"
    wanted = {"[Sharp]": Fixed("", "it is set nowhere"), "sharp_enabled": Fixed(value, "UFM starts SHARP otherwise")}
    yield from _faults(text, wanted, {}, "=")


def sharp_faults(text: str | None, wanted: DeclaredSubnet | None, has_sharp: bool) -> Iterator[Fault]:
    """What is wrong with sharp_am.cfg, which is there where SHARP is on; without a spec no figure is compared."""
    if text is None:
        if has_sharp:
            yield 0, "the file is missing: the aggregation manager makes trees as it likes"
        return
    if not has_sharp:
        yield 0, "the file is there, and SHARP is off"
    spec = wanted if wanted is not None and has_sharp else None
    fixed = (
        {}
        if spec is None
        else {
            "ib_qpc_sl": Fixed(str(spec.sharp_level), "sums travel in another service level than the data"),
            "max_trees_to_build": Fixed(str(len(spec.roots)), "there is not a tree for each root"),
            "tree_radix": Fixed(str(spec.radix), "trees do not fit the switches' ports"),
        }
    )
    free = {"fabric_update_interval": _PACE} | ({} if fixed else dict.fromkeys(_FIGURES, Free(0, 1 << 16, "")))
    yield from _faults(text, fixed, free, None)


def _faults(text: str, fixed: Mapping[str, Fixed], free: Mapping[str, Free], sign: str | None) -> Iterator[Fault]:
    """Lines of ``NAME VALUE``, parted by ``sign`` or by a blank; a section stands for itself."""
    options: dict[str, Option] = {}
    for number, line in enumerate(text.split("\n"), 1):
        words = [word.strip() for word in line.split(sign, 1)]
        if not line.strip() or words[0].startswith(("#", ";")):
            continue
        if words[0] in options:
            yield number, f"{words[0]} stands on line {options[words[0]].line} too"
        elif words[0] not in fixed and words[0] not in free:
            yield number, f"{words[0]} is asked for by nothing in the spec, and no claim knows what it changes"
        options[words[0]] = Option(words[1] if len(words) > 1 else "", number)
    yield from fixed_faults(options, fixed)
    yield from free_faults(options, free)
