"""Reading the BGP sessions of an EOS startup-config, with the settings of their peer groups."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clusterwright.facts.router import DEFAULT_BFD_MS, DEFAULT_HOLD_TIME_S, Mark, Session, packed
from clusterwright.switches.eos.reader.authentication import authentication_of

# It begins with the end of the line before: a search for fixed text is much faster than one for beginnings of lines.
_NEIGHBOUR = re.compile(
    r"\n   neighbor (\S+) (peer group|remote-as|route-map|shutdown|bfd|maximum-routes|password|timers)(?: (.+))?(?=\n)"
)
_INDIVIDUAL = frozenset({"peer group", "remote-as"})  # settings that differ among the neighbours of a group
_BFD_TIMERS = re.compile(r"interval \d+ min-rx (?P<receive>\d+) multiplier (?P<multiplier>\d+)")

Lines = Mapping[str, str]
"""Settings of a neighbour or a group: the words after a command, by the command."""


class _NeighbourSettings(NamedTuple):
    """A neighbour's settings, as Session has them; ``group_mark`` is empty without a group."""

    into: str
    out_of: str
    has_bfd: bool
    most_routes: int
    authentication: str
    auth_mark: Mark
    hold_time_s: int
    hold_mark: Mark
    group_mark: Mark
    bfd_ms: int


def read_sessions(bgp: str, families: str, profiles: Mapping[str, str]) -> Iterator[Session]:
    """The sessions of active neighbours by their addresses; ``profiles`` are shared secrets by name."""
    lines_by_name, groups = _neighbour_lines(bgp)
    active = set(re.findall(r"^      neighbor (\S+) activate$", families, re.M))
    restart_s, restart_mark = _restart(bgp)
    settings_by_group: dict[str, _NeighbourSettings] = {}  # of neighbours without settings of their own
    for name, lines in lines_by_name.items():
        is_address = ":" in name or "." in name
        group = lines.get("peer group", "")
        group_lines = lines_by_name.get(group, {})
        is_shut = "shutdown" in lines or "shutdown" in group_lines
        is_active = name in active or group in active
        is_in_missing_group = group != "" and group not in groups
        if not is_address or is_shut or not is_active or is_in_missing_group:
            continue
        peer = packed(name)
        remote_as = int(lines.get("remote-as") or group_lines.get("remote-as") or 0)
        has_own_settings = not lines.keys() <= _INDIVIDUAL
        if has_own_settings:
            settings = _settings(name, lines, group=group, group_lines=group_lines, profiles=profiles)
        elif group in settings_by_group:
            settings = settings_by_group[group]
        else:
            settings = _settings(name, lines, group=group, group_lines=group_lines, profiles=profiles)
            settings_by_group[group] = settings
        place = (f"   neighbor {name} ",)
        mark = (f"   neighbor {name} remote-as ",) if "remote-as" in lines else place
        yield Session(
            peer=peer,
            local=None,
            remote_as=remote_as,
            into=settings.into,
            out_of=settings.out_of,
            mark=mark,
            group_mark=settings.group_mark or place,
            as_mark=mark,
            local_mark=place,
            has_bfd=settings.has_bfd,
            most_routes=settings.most_routes,
            authentication=settings.authentication,
            auth_mark=settings.auth_mark,
            hold_time_s=settings.hold_time_s,
            hold_mark=settings.hold_mark,
            restart_s=restart_s,
            restart_mark=restart_mark,
            bfd_ms=settings.bfd_ms,
        )


def _neighbour_lines(bgp: str) -> tuple[dict[str, dict[str, str]], set[str]]:
    """The settings of each neighbour and group by name, and the names of existing groups."""
    lines_by_name: dict[str, dict[str, str]] = {}
    groups: set[str] = set()
    for name, command, words in _NEIGHBOUR.findall(f"\n{bgp}\n"):
        lines = lines_by_name.setdefault(name, {})
        if command == "route-map":
            route_map, _, direction = words.partition(" ")
            lines[direction] = route_map
        elif command == "bfd" and words:
            lines["bfd interval"] = words
        elif command == "bfd":
            lines["bfd"] = "on"
        elif command == "peer group" and not words:
            groups.add(name)
        else:
            lines[command] = words
    return lines_by_name, groups


def _settings(
    name: str, lines: Lines, *, group: str, group_lines: Lines, profiles: Mapping[str, str]
) -> _NeighbourSettings:
    """A neighbour's settings, by its own lines and those of its group."""
    timers = lines.get("timers") or group_lines.get("timers") or f"60 {DEFAULT_HOLD_TIME_S}"
    return _NeighbourSettings(
        into=lines.get("in") or group_lines.get("in", ""),
        out_of=lines.get("out") or group_lines.get("out", ""),
        has_bfd="bfd" in lines or "bfd" in group_lines,
        most_routes=_most_routes(lines.get("maximum-routes") or group_lines.get("maximum-routes") or "0"),
        authentication=authentication_of(lines.get("password") or group_lines.get("password", ""), profiles),
        auth_mark=_place(name if "password" in lines else group, "password "),
        hold_time_s=int(timers.split()[1]),
        hold_mark=_place(name if "timers" in lines else group, "timers "),
        group_mark=_place(group) if group else (),
        bfd_ms=_bfd_ms(lines.get("bfd interval") or group_lines.get("bfd interval", "")),
    )


def _place(name: str, command: str = "") -> Mark:
    """Place of a setting of a neighbour or a group."""
    return (f"   neighbor {name} {command}",)


def _most_routes(words: str) -> int:
    """The number after maximum-routes; 0, for any number, if exceeding it only causes a warning."""
    return 0 if "warning-only" in words else int(words.split(maxsplit=1)[0])


def _bfd_ms(words: str) -> int:
    """BFD's detection time, from the words of its line; the default without one."""
    timers = _BFD_TIMERS.fullmatch(words)
    return DEFAULT_BFD_MS if timers is None else int(timers["receive"]) * int(timers["multiplier"])


def _restart(bgp: str) -> tuple[int | None, Mark]:
    """Restart time in seconds, None for EOS's default, 0 for none, and the place of its line."""
    lines = f"\n{bgp}"
    mark: Mark = ("router bgp ",)
    if "\n   graceful-restart restart-time " in lines:
        mark = ("router bgp ", "\n   graceful-restart restart-time ")
    elif "\n   graceful-restart\n" in lines:
        mark = ("router bgp ", "\n   graceful-restart\n")
    if "\n   graceful-restart\n" not in lines:
        return 0, mark
    time = re.search(r"^   graceful-restart restart-time (\d+)$", bgp, re.M)
    return None if time is None else int(time[1]), mark
