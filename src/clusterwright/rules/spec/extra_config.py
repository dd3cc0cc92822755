"""CW170, CW171, CW177: configuration added by hand.

CW173 and CW174: added EOS lines with another meaning than they seem to have, and accounts without a password. EOS reads
a configuration as if it were typed: a word may be abbreviated, capital letters mean the same as small ones, indentation
has no meaning, and a command unknown in a section is read in the enclosing one. CW434 and CW435: chip settings
available from the switch vendor alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import unknown
from clusterwright.spec.ethernet import ExtraConfig
from clusterwright.spec.fabric import Tier
from clusterwright.spec.hardware.systems import System, system_of, systems


@rule("CW170", Severity.ERROR)
def added_for_nobody(subject: Subject) -> Iterator[Problem]:
    """Unplanned devices, roles and fabrics in `extra_config`."""
    for item in subject.spec.extra_config:
        for key, wanted in (("device", item.device), ("role", item.role), ("fabric", item.fabric)):
            if wanted is None or _systems(subject, item):
                continue
            choices: set[str] = set()
            if key == "device":
                for skeleton in subject.skeleton.fabrics:
                    choices.update(seat.name for seat in skeleton.seats)
            elif key == "role":
                choices = {tier.role for tier in subject.spec.tiers}
            else:
                choices = {fabric.name for fabric in subject.spec.fabrics}
            yield unknown(f"switch with the {key}" if key != "device" else "switch", wanted, choices, (*item.path, key))


@rule("CW171", Severity.ERROR)
def added_in_another_form(subject: Subject) -> Iterator[Problem]:
    """Lines for systems configured by JSON files, and patches for text or for files not rendered."""
    for item in subject.spec.extra_config:
        yield from _misplaced_lines(item)
        for name in sorted(_systems(subject, item)):
            system = systems().get(name)
            patched = () if system is None else system.patched
            if item.lines and (system is None or not system.takes_lines):
                message = f"{name or 'A switch without an operating system'} is not configured by lines."
                fix = "Use `merge` with `file`." if patched else _NOTHING_ADDED
                yield Problem((*item.path, "lines"), message, fix, key=True)
            if item.file is not None and item.file not in patched:
                files = " or ".join(patched)
                message = f"{name or 'A switch without an operating system'} has no file {item.file} that is patched."
                yield Problem((*item.path, "file"), message, _mend_of_file(system, files))


_NOTHING_ADDED = "Remove these switches from the entry: their system takes no `extra_config`."


def _mend_of_file(system: System | None, files: str) -> str:
    if files:
        return f"Name {files}."
    return "Use `lines`." if system is not None and system.takes_lines else _NOTHING_ADDED


def _misplaced_lines(item: ExtraConfig) -> Iterator[Problem]:
    """An indented first line: EOS would read it in the section rendered before it."""
    if item.lines and item.lines[0].startswith(" "):
        fix = "Begin with the section's own line, such as `interface Ethernet3/1/1`."
        yield Problem((*item.path, "lines", 0), "The first line is indented, and no section stands before it.", fix)


def _systems(subject: Subject, item: ExtraConfig) -> set[str]:
    """The network operating systems of the switches selected by an entry; "" for a model without one."""
    systems: set[str] = set()
    for skeleton in subject.skeleton.fabrics:
        depths = {seat.tier for seat in skeleton.seats if seat.name == item.device}
        for depth, tier in enumerate(skeleton.fabric.tiers):
            if item.role == tier.role or item.fabric == skeleton.fabric.name or depth in depths:
                systems.add(tier.model.network_os or "")
    return systems


@rule("CW177", Severity.ERROR)
def vouched_for_nothing(subject: Subject) -> Iterator[Problem]:
    """Lines and keys under `unread` not added by the same entry."""
    for item in subject.spec.extra_config:
        for index, vouched in enumerate(item.unread):
            if not item.places(vouched.line):
                message = f"This entry does not add `{vouched.line.strip()}`."
                what = "a line of `lines`" if item.lines else "keys of `merge`, the outermost first, with ` / ` between"
                yield Problem((*item.path, "unread", index, "line"), message, f"Name {what}, as it stands there.")


# Commands reading the lines behind them as text, up to a line EOF (EOS user manual, "Managing display attributes",
# "Event handler", "Routing control functions", "Comments").
_TEXT = ("banner", "comment", "code", "eof")
# Commands ending the section or the configuration mode, and commands that are not configuration.
_LEAVES = (
    *("abort", "bash", "commit", "configure", "copy", "delete", "end", "erase", "exit", "install", "quit"),
    *("reload", "rename", "rollback", "run", "write"),
)
# Commands of the global configuration mode. EOS reads them as such inside any section.
_MARGIN = (
    *("aaa", "banner", "daemon", "enable", "event-handler", "hostname", "interface", "policy-map", "radius-server"),
    *("route-map", "router", "service", "tacacs-server", "username"),
)
_WHOLE = frozenset({"host", "route"})  # commands of sections, equal to an abbreviation of a global one
# First words of the sections in the rendered configuration.
_SECTIONS = (
    *("aaa", "hostname", "interface", "lldp", "load-balance", "mac", "management", "ntp", "qos", "route-map", "router"),
    *("priority-flow-control", "service", "snmp-server", "username", "vlan", "vrf"),
)
_LISTS = ("access-list", "community-list", "name-server", "prefix-list", "route", "routing", "unicast-routing")
_OPTIONS = ("privilege", "role", "shell")  # of an account, each with a value behind it
_LEAST = 2  # letters: EOS refuses ambiguous abbreviations, and every letter begins several commands


def _means(word: str, command: str) -> bool:
    """True if EOS may read ``word`` as ``command``, whole or abbreviated."""
    return command.startswith(word) and len(word) >= min(_LEAST, len(command))


def _any(word: str, commands: tuple[str, ...]) -> str | None:
    return next((command for command in commands if _means(word, command)), None)


@rule("CW173", Severity.ERROR)
def misleading_line(subject: Subject) -> Iterator[Problem]:
    """Lines read by EOS as another command, or in another section, than they seem."""
    return _wrong_lines(subject, misleading, "Leave it out, or write it as `show running-config` shows it.")


def misleading(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The number and the error of each line in an entry with another meaning to EOS than it seems."""
    below = ""
    for index, line in enumerate(lines):
        if not line.startswith(" "):
            below = line
        wrong = _misleading(line, below)
        if wrong is not None:
            yield index, wrong


def _misleading(line: str, below: str) -> str | None:
    """The error in a line of the section beginning with the line ``below``; None without an error."""
    words = line.lower().split()
    first, is_indented = words[0], line.startswith(" ")
    if is_indented and below.startswith("!"):
        return "No section begins with `!`; EOS would read this line somewhere else."
    if first.startswith("!"):
        return None if not first.startswith("!!") else "EOS joins a comment of two marks to the line behind it."
    text, leaves = _any(first, _TEXT), _any(first, _LEAVES)
    margin = None if first in _WHOLE else _any(first, _MARGIN)
    if text is not None or _is_script(words):
        return f"EOS would take the lines behind `{line.strip()}` for text, up to one that says EOF."
    if leaves is not None:
        return f"`{leaves}` is no part of a configuration: EOS leaves the section, or does it at once."
    if _means(first, "default") and len(first) > len("de"):
        return "`default` takes back what is rendered, and the file still shows it."
    if first == "no" and _is_section(words[1:]):
        return f"`{line.strip()}` takes back what is rendered, and the file still shows it."
    if margin is not None and margin != first:
        return f"`{words[0]}` is short for `{margin}`, and a section is joined by its whole name."
    if margin is not None and is_indented:
        return f"EOS takes `{margin}` for what it is at the margin, wherever it stands."
    return None


def _is_script(words: list[str]) -> bool:
    """True for ``action bash`` alone, which begins a script; with a command behind it, it is a single line."""
    return len(words) == 2 and _means(words[0], "action") and _means(words[1], "bash")


def _is_section(words: list[str]) -> bool:
    if not words:
        return True
    if words[0] in {"ip", "ipv6"} and len(words) > 1:
        return _any(words[1], _LISTS) is not None
    # `no aaa root` is part of the rendered configuration.
    return _any(words[0], _SECTIONS) is not None and words != ["aaa", "root"]


@rule("CW174", Severity.ERROR)
def open_account(subject: Subject) -> Iterator[Problem]:
    """Accounts of `extra_config` without a password or key."""
    return _wrong_lines(
        subject, opens, "Name the operator under `site.operators`, or give a `secret` with `<secret NAME>`."
    )


def _wrong_lines(
    subject: Subject, judge: Callable[[Sequence[str]], Iterator[tuple[int, str]]], fix: str
) -> Iterator[Problem]:
    for item in subject.spec.extra_config:
        for index, wrong in judge(item.lines):
            yield Problem((*item.path, "lines", index), wrong, fix)


def opens(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The number and the error of each line in an entry permitting a login without a password."""
    for index, line in enumerate(lines):
        wrong = _open(line.lower().split())
        if wrong is not None:
            yield index, wrong


def _open(words: list[str]) -> str | None:
    first, rest = words[0], words[1:]
    if any(len(word) > len("no") and _means(word, "nopassword") for word in rest):
        return "It opens without a password."
    if _means(first, "username") and len(rest) > 1 and not _is_guarded(rest[1:]):
        return f"The account {rest[0]} has no password."
    if _means(first, "aaa") and "none" in rest[1:] and _any(rest[0], ("authentication", "authorization")):
        return "The method `none` permits every login."
    empty = any(_means(word, "empty-passwords") and len(word) > len("em") for word in words)
    return "It lets in accounts without a password." if empty and not words[-1].startswith("de") else None


def _is_guarded(words: list[str]) -> bool:
    """True if the words behind an account's name include a password or a key; a role may be called `secret`."""
    position = 0
    while position < len(words) and _any(words[position], _OPTIONS):
        position += 2
    return position + 1 < len(words) and _any(words[position], ("secret", "ssh-key", "sshkey")) is not None


@rule("CW434", Severity.WARNING)
def without_chip_settings(subject: Subject) -> Iterator[Problem]:
    """Tiers with neither `chip_settings` nor `extra_config` for the chip settings their system needs."""
    spec = subject.spec
    models = {chip_setting.model for chip_setting in spec.chip_settings}
    for fabric in spec.fabrics:
        for tier in fabric.tiers:
            if _needs(tier) and tier.model.name not in models and not _added(subject, fabric.name, tier):
                yield Problem(
                    (*tier.path, "model"),
                    f"The agent of {tier.role} does not start with what is rendered alone: {tier.model.name} needs chip"
                    " settings that its vendor gives out.",
                    f"Add `chip_settings: [{{name: {tier.model.name}, file: ...}}]`, or `assumed:` with where they come"
                    " from.",
                )


def _needs(tier: Tier) -> bool:
    system = system_of(tier.model)
    return system is not None and system.needs_chip_settings


def _added(subject: Subject, fabric: str, tier: Tier) -> bool:
    """True if a merge patch for the whole tier sets a chip."""
    return any(
        bool(((addition.merge.get("platform") or {}) if isinstance(addition.merge, dict) else {}).get("chip"))
        for addition in subject.spec.extra_config
        if addition.device is None and addition.role in {None, tier.role} and addition.fabric in {None, fabric}
    )


@rule("CW435", Severity.WARNING)
def idle_chip_settings(subject: Subject) -> Iterator[Problem]:
    """Entries of `chip_settings` for models with chip settings of their own."""
    for entry in subject.spec.chip_settings:
        model = subject.spec.catalogue[entry.model]
        system = system_of(model)
        if system is None or not system.needs_chip_settings:
            runs = model.network_os or "no system"
            message = f"{entry.model} runs {runs}, which takes no chip settings from here."
            yield Problem((*entry.path, "name"), message, "Remove the entry, or name the model that it is for.")
