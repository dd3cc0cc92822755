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
from clusterwright.spec.fabric import Fabric, Tier
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.hardware.systems import system_of, systems


@rule("CW170", Severity.ERROR)
def unknown_target(subject: Subject) -> Iterator[Problem]:
    """Unplanned devices, roles and fabrics in `extra_config`."""
    for item in subject.spec.extra_config:
        if _systems(subject, item):
            continue
        if item.device is not None:
            names: set[str] = set()
            for skeleton in subject.skeleton.fabrics:
                names.update(seat.name for seat in skeleton.seats)
            yield unknown("switch", item.device, names, (*item.path, "device"))
        if item.role is not None:
            roles = {tier.role for tier in subject.spec.tiers}
            yield unknown("switch with the role", item.role, roles, (*item.path, "role"))
        if item.fabric is not None:
            fabric_names = {fabric.name for fabric in subject.spec.fabrics}
            yield unknown("switch with the fabric", item.fabric, fabric_names, (*item.path, "fabric"))


@rule("CW171", Severity.ERROR)
def unsuitable_form(subject: Subject) -> Iterator[Problem]:
    """Lines for systems configured by JSON files, and patches for text or for files not rendered."""
    for item in subject.spec.extra_config:
        yield from _misplaced_lines(item)
        for name in sorted(_systems(subject, item)):
            system = systems().get(name)
            switch = name or "A switch without an operating system"
            patched_files = () if system is None else system.patched
            takes_lines = system is not None and system.takes_lines
            if item.lines and not takes_lines:
                hint = "Use `merge` with `file`." if patched_files else _NOTHING_ADDED
                yield Problem((*item.path, "lines"), f"{switch} is not configured by lines.", hint, key=True)
            if item.file is not None and item.file not in patched_files:
                message = f"{switch} has no file {item.file} that is patched."
                yield Problem((*item.path, "file"), message, _hint_for_file(patched_files, takes_lines=takes_lines))


_NOTHING_ADDED = "Remove these switches from the entry: their system takes no `extra_config`."


def _hint_for_file(patched_files: Sequence[str], *, takes_lines: bool) -> str:
    if patched_files:
        return f"Name {' or '.join(patched_files)}."
    return "Use `lines`." if takes_lines else _NOTHING_ADDED


def _misplaced_lines(item: ExtraConfig) -> Iterator[Problem]:
    """An indented first line: EOS would read it in the section rendered before it."""
    if item.lines and item.lines[0].startswith(" "):
        fix = "Begin with the section's own line, such as `interface Ethernet3/1/1`."
        yield Problem((*item.path, "lines", 0), "The first line is indented, and no section begins above it.", fix)


def _systems(subject: Subject, item: ExtraConfig) -> set[str]:
    """The network operating systems of the switches selected by an entry; "" for a model without one."""
    systems: set[str] = set()
    for skeleton in subject.skeleton.fabrics:
        is_fabric_selected = item.fabric == skeleton.fabric.name
        device_tiers = {seat.tier for seat in skeleton.seats if seat.name == item.device}
        for depth, tier in enumerate(skeleton.fabric.tiers):
            if is_fabric_selected or item.role == tier.role or depth in device_tiers:
                systems.add(tier.model.network_os or "")
    return systems


@rule("CW177", Severity.ERROR)
def unread_not_added(subject: Subject) -> Iterator[Problem]:
    """Lines and keys under `unread` not added by the same entry."""
    for item in subject.spec.extra_config:
        for index, vouched in enumerate(item.unread):
            if item.places(vouched.line):
                continue
            message = f"This entry does not add `{vouched.line.strip()}`."
            choice = "a line of `lines`" if item.lines else "keys of `merge`, the outermost first, with ` / ` between"
            yield Problem((*item.path, "unread", index, "line"), message, f"Name {choice}, exactly as written there.")


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
_LOGIN_METHODS = ("authentication", "authorization")
_LEAST = 2  # letters: EOS refuses ambiguous abbreviations, and every letter begins several commands


def _means(word: str, command: str) -> bool:
    """True if EOS may read ``word`` as ``command``, whole or abbreviated."""
    return command.startswith(word) and len(word) >= min(_LEAST, len(command))


def _meant_command(word: str, commands: tuple[str, ...]) -> str | None:
    for command in commands:
        if _means(word, command):
            return command
    return None


@rule("CW173", Severity.ERROR)
def misleading_line(subject: Subject) -> Iterator[Problem]:
    """Lines read by EOS as another command, or in another section, than they seem."""
    return _wrong_lines(subject, misleading, "Leave it out, or write it as `show running-config` shows it.")


def misleading(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The number and the error of each line in an entry with another meaning to EOS than it seems."""
    section = ""
    for index, line in enumerate(lines):
        if not line.startswith(" "):
            section = line
        error = _misleading(line, section)
        if error is not None:
            yield index, error


def _misleading(line: str, section: str) -> str | None:
    """The error in a line of the section beginning with the line ``section``; None without an error."""
    words = line.lower().split()
    first, is_indented = words[0], line.startswith(" ")
    if is_indented and section.startswith("!"):
        return "No section begins with `!`, so EOS would read this line in another one."
    if first.startswith("!!"):
        return "EOS attaches a comment of two marks to the next line."
    if first.startswith("!"):
        return None
    if _meant_command(first, _TEXT) is not None or _is_script(words):
        return f"EOS would read the lines after `{line.strip()}` as text, up to a line EOF."
    leaving = _meant_command(first, _LEAVES)
    if leaving is not None:
        return f"`{leaving}` is not configuration: EOS leaves the section, or runs it at once."
    if _means(first, "default") and len(first) > len("de"):
        return "`default` reverts rendered configuration, and the file still contains it."
    if first == "no" and _is_section(words[1:]):
        return f"`{line.strip()}` reverts rendered configuration, and the file still contains it."
    return _misplaced_global(first, is_indented=is_indented)


def _misplaced_global(word: str, *, is_indented: bool) -> str | None:
    """The error in an abbreviated or indented command of the global configuration mode; None for other commands."""
    command = None if word in _WHOLE else _meant_command(word, _MARGIN)
    if command is None:
        return None
    if command != word:
        return f"`{word}` abbreviates `{command}`, and sections are merged by their full name."
    if is_indented:
        return f"EOS reads `{command}` as a top-level command, whatever its indentation."
    return None


def _is_script(words: list[str]) -> bool:
    """True for ``action bash`` alone: it begins a script. With a command behind it, it is a single line."""
    return len(words) == 2 and _means(words[0], "action") and _means(words[1], "bash")


def _is_section(words: list[str]) -> bool:
    if not words:
        return True
    if words[0] in {"ip", "ipv6"} and len(words) > 1:
        return _meant_command(words[1], _LISTS) is not None
    # `no aaa root` is part of the rendered configuration.
    return _meant_command(words[0], _SECTIONS) is not None and words != ["aaa", "root"]


@rule("CW174", Severity.ERROR)
def open_account(subject: Subject) -> Iterator[Problem]:
    """Accounts of `extra_config` without a password or key."""
    fix = "Name the operator under `site.operators`, or give a `secret` with `<secret NAME>`."
    return _wrong_lines(subject, opens, fix)


def _wrong_lines(
    subject: Subject, errors_in: Callable[[Sequence[str]], Iterator[tuple[int, str]]], fix: str
) -> Iterator[Problem]:
    for item in subject.spec.extra_config:
        for index, error in errors_in(item.lines):
            yield Problem((*item.path, "lines", index), error, fix)


def opens(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The number and the error of each line in an entry permitting a login without a password."""
    for index, line in enumerate(lines):
        error = _open(line.lower().split())
        if error is not None:
            yield index, error


def _open(words: list[str]) -> str | None:
    command, arguments = words[0], words[1:]
    if any(len(word) > len("no") and _means(word, "nopassword") for word in arguments):
        return "It allows a login without a password."
    if _means(command, "username") and len(arguments) > 1 and not _is_guarded(arguments[1:]):
        return f"The account {arguments[0]} has no password."
    if _means(command, "aaa") and "none" in arguments[1:] and _meant_command(arguments[0], _LOGIN_METHODS):
        return "The method `none` permits every login."
    names_empty_passwords = any(_means(word, "empty-passwords") and len(word) > len("em") for word in words)
    if names_empty_passwords and not words[-1].startswith("de"):  # deny
        return "It allows logins of accounts without a password."
    return None


def _is_guarded(words: list[str]) -> bool:
    """True if the words behind an account's name include a password or a key; a role may be called `secret`."""
    position = 0
    while position < len(words) and _meant_command(words[position], _OPTIONS):
        position += 2
    has_value = position + 1 < len(words)
    return has_value and _meant_command(words[position], ("secret", "ssh-key", "sshkey")) is not None


@rule("CW434", Severity.WARNING)
def without_chip_settings(subject: Subject) -> Iterator[Problem]:
    """Tiers with neither `chip_settings` nor `extra_config` for the chip settings their system needs."""
    models = {chip_setting.model for chip_setting in subject.spec.chip_settings}
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            if not _needs_chip_settings(tier.model) or tier.model.name in models or _adds_chip(subject, fabric, tier):
                continue
            yield Problem(
                (*tier.path, "model"),
                f"The agent of {tier.role} does not start with the rendered files alone: {tier.model.name} needs chip"
                " settings from its vendor.",
                f"Add `chip_settings: [{{name: {tier.model.name}, file: ...}}]`, or `assumed:` with where they come"
                " from.",
            )


def _needs_chip_settings(model: HardwareModel) -> bool:
    system = system_of(model)
    return system is not None and system.needs_chip_settings


def _adds_chip(subject: Subject, fabric: Fabric, tier: Tier) -> bool:
    """True if a merge patch for the whole tier sets a chip."""
    for item in subject.spec.extra_config:
        is_for_tier = item.role in {None, tier.role} and item.fabric in {None, fabric.name}
        if item.device is not None or not is_for_tier or not isinstance(item.merge, dict):
            continue
        platform = item.merge.get("platform")
        if isinstance(platform, dict) and platform.get("chip"):
            return True
    return False


@rule("CW435", Severity.WARNING)
def idle_chip_settings(subject: Subject) -> Iterator[Problem]:
    """Entries of `chip_settings` for models with chip settings of their own."""
    for entry in subject.spec.chip_settings:
        model = subject.spec.catalogue[entry.model]
        if not _needs_chip_settings(model):
            system_name = model.network_os or "no system"
            message = f"{entry.model} runs {system_name}, which does not use chip settings."
            yield Problem((*entry.path, "name"), message, "Remove the entry, or name the model that it is for.")
