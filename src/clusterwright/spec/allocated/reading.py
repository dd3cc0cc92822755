"""Reading an allocation file: YAML sections with one-line entries, read line by line.

The file is checked like other input, because people merge and edit it. An invalid line is refused at its column
(CW260), and two lines with the same assignment are both named (CW261). A YAML reader would take half a minute for the
largest file.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache, partial
from itertools import chain, repeat
from operator import itemgetter
from pathlib import Path as FilePath

from clusterwright.finding import MOST_TOLD, Finding, Position, Severity
from clusterwright.spec.allocated.facts import (
    Allocated,
    End,
    Freed,
    GroupKey,
    StandingCable,
    StandingGroups,
    StandingNode,
    StandingSwitch,
)
from clusterwright.spec.allocated.ranges import expand, expand_all
from clusterwright.spec.text.source import read_text, refuse_characters

NO_FACT, GIVEN_TWICE = "CW260", "CW261"
MAX_BYTES = 64 * 1024 * 1024
CABLES = "cables "
WHOLE_CLUSTER = "cluster"
MOST_UNITS = 100  # of a rack

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_MARK = re.compile(r"(<{7}|={7}|>{7}|\|{7})")
_ENTRY = re.compile(r"  (\S.*?): (\S.*)")
_ONE = re.compile(r"  ([\w/-]++) ([\w/-]++): ([\w/-]++) ([\w/-]++)(?: @ ([0-9a-f:.]++))?")
_AGAIN = "Run `clusterwright allocate` to write the file anew, or take the line from git's history."


_cable = partial(tuple.__new__, StandingCable)  # its constructor takes twice as long, for a hundred thousand cables
_LOWER, _UPPER, _ADDRESS = itemgetter(0, 1), itemgetter(2, 3), itemgetter(4)  # of a cable


class _NoFactError(ValueError):
    """An invalid line: the mistake, and the word at its beginning."""

    def __init__(self, what: str, word: str = "") -> None:
        super().__init__(what)
        self.word = word


@dataclass(slots=True)
class _FactReader:
    file: str
    line: int = 0
    findings: list[Finding] = field(default_factory=list)
    groups: dict[GroupKey, StandingGroups] = field(default_factory=dict)
    nodes: dict[str, StandingNode] = field(default_factory=dict)
    switches: dict[str, StandingSwitch] = field(default_factory=dict)
    rows: dict[str, list[StandingCable]] = field(default_factory=dict)
    section_cables: list[StandingCable] | None = None  # those of the current section
    freed_ports: dict[End, Freed] = field(default_factory=dict)
    freed_addresses: dict[tuple[str, int], Freed] = field(default_factory=dict)
    former: dict[str, str] = field(default_factory=dict)
    assigned: dict[tuple[object, ...], int] = field(default_factory=dict)

    def problem(self, code: str, column: int, message: str, hint: str) -> None:
        if sum(finding.code == code for finding in self.findings) < MOST_TOLD:
            position = Position(self.file, self.line, column)
            self.findings.append(Finding(code, Severity.ERROR, message, hint, position, "allocated", ("allocated",)))

    def read(self, text: str) -> None:
        """The whole file, line by line."""
        entry: Callable[[str, str], None] | None = None
        versioned = False
        for self.line, line in enumerate(text.split("\n"), 1):
            if not line or line.startswith("#"):
                continue
            if line[0] in "<=>|" and _MARK.match(line):
                message = f"Git left a conflict here: `{line[:40]}`."
                hint = "Keep the lines of both sides, and let `clusterwright lint` name what they give away twice."
                self.problem(NO_FACT, 1, message, hint)
            elif not line.startswith(" "):
                versioned = versioned or line == "version: 1"
                entry = self.section(line)
            elif entry is not None:
                is_cable = self.section_cables is not None and self.one_cable(self.section_cables, line)
                if not is_cable:
                    self.entry(entry, line)
        if not versioned:
            self.line = 1
            self.problem(NO_FACT, 1, "The file does not begin with `version: 1`.", _AGAIN)

    def section(self, line: str) -> Callable[[str, str], None] | None:
        if line == "version: 1":
            return None
        name = line.removesuffix(":")
        reader_by_section = {"groups": self.group, "nodes": self.node, "switches": self.switch, "freed": self.free}
        reader_by_section |= {"formerly": self.rename}
        if name.startswith(CABLES):
            self.section_cables = rows = self.rows.setdefault(name.removeprefix(CABLES), [])
            return partial(self.cable, rows)
        self.section_cables = None
        if name not in reader_by_section or name == line:
            expected = "version: 1, groups:, nodes:, switches:, cables FABRIC:, freed: or formerly:"
            self.problem(NO_FACT, 1, f"`{line[:40]}` begins no section: {expected} do.", _AGAIN)
        return reader_by_section.get(name)

    def entry(self, read: Callable[[str, str], None], line: str) -> None:
        # The program's own lines are split at once; the expression would try every character of long lines.
        name, colon, rest = line.partition(": ")
        if colon and name[:2] == "  " and not name[2:3].isspace() and len(name) > 2 and rest.strip() == rest != "":
            entry = name[2:], rest
        elif (parts := _ENTRY.fullmatch(line.rstrip())) is not None:
            entry = parts[1], parts[2]
        else:
            column = len(line) - len(line.lstrip()) + 1
            self.problem(NO_FACT, column, "This line is no fact: two blanks, a name, a colon, and what it has.", _AGAIN)
            return
        try:
            read(*entry)
        except _NoFactError as error:
            self.problem(NO_FACT, max(2, line.find(error.word)) + 1, f"{error}.", _AGAIN)
        except ValueError as error:
            self.problem(NO_FACT, line.index(entry[1], len(entry[0]) + 2) + 1, f"{error}.", _AGAIN)

    def once(self, what: str | Callable[[], str], *key: object) -> None:
        """Record an assignment of this line; a finding if an earlier line has it too."""
        first = self.assigned.setdefault(key, self.line)
        if first != self.line:
            description = what if isinstance(what, str) else what()
            message = f"Line {first} and line {self.line} both give {description} away."
            hint = "Two branches grew at once: delete the line of the later one, and run `clusterwright allocate`."
            self.problem(GIVEN_TWICE, 3, message, hint)

    def group(self, key: str, value: str) -> None:
        words = key.split()
        if len(words) not in (2, 4) or (len(words) == 4 and words[2] != "in"):
            raise _NoFactError(f'"{key}" is not "NODES LEVEL" or "NODES LEVEL in GROUP"')
        names = tuple(expand_all(value.split()))
        for name in names:
            if not _named(name)[-1].isdigit():
                raise _NoFactError(f'"{name}" does not end with the number of a group', name)
            self.once(f"the group {name}", "group", name)
        where = (words[0], words[1], words[3] if len(words) == 4 else "")
        self.once(f"the groups of {key}", "groups", where)
        self.groups[where] = StandingGroups(names, self.line)

    def node(self, key: str, value: str) -> None:
        names = tuple(map(_named, expand(key)))
        words = _labelled(value, ("of", "numbers", "units"))
        numbers = expand_all(_need(words, "numbers"))
        units = _need(words, "units")
        units = units * len(names) if len(units) == 1 else units
        if not len(names) == len(numbers) == len(units):
            raise _NoFactError(f"{len(names)} nodes have {len(numbers)} numbers and {len(units)} units")
        group = _need(words, "of")[0]
        for name, number, unit in zip(names, map(_number, numbers), units, strict=True):
            self.once(f"the node {name}", "device", name)
            self.once(f"number {number}", "node", number)
            self.nodes[name] = StandingNode(name, group, number, _unit(unit), self.line)

    def switch(self, key: str, value: str) -> None:
        words = _labelled(
            value, ("model", "of", "in", "plane", "place", "number", "rack", "unit", "as", "loopback", "hosts")
        )
        of, place = _need(words, "of"), _need(words, "in")[0]
        if len(of) != 2:
            raise _NoFactError("the words after `of` are the fabric and the tier of the switch", "of")
        fabric, tier = of
        plane, position = (_number(_need(words, label, "0")[0]) for label in ("plane", "place"))
        number = _number(_need(words, "number")[0])
        asn = _number(_need(words, "as")[0], 2**32 - 1) if "as" in words else None
        loopback = _address(_need(words, "loopback")[0]) if "loopback" in words else None
        hosts = _address(_need(words, "hosts")[0].partition("/")[0]) if "hosts" in words else None
        group = "" if place == WHOLE_CLUSTER else place
        _named(key)
        self.once(f"the switch {key}", "device", key)
        self.once(f"place {position} of {tier} in {place}", "seat", fabric, tier, group, plane, position)
        self.once(f"number {number} of {fabric} {tier}", "number", fabric, tier, number)
        for address in (loopback, hosts):
            if address is not None:
                self.once(partial(_address_in, value, address), "address", fabric, address)
        rack, unit = _named(_need(words, "rack")[0]), _unit(_need(words, "unit")[0])
        self.switches[key] = StandingSwitch(
            key,
            _need(words, "model")[0],
            fabric,
            tier,
            group,
            plane,
            position,
            number,
            rack,
            unit,
            asn,
            loopback,
            hosts,
            self.line,
        )

    def one_cable(self, cables: list[StandingCable], line: str) -> bool:
        """Read a line of one cable, the most frequent form, by one expression; False for any other, invalid ones
        too."""
        match = _ONE.fullmatch(line)
        if match is None:
            return False
        device, port, upper, upper_port, written = match.groups()
        try:
            address = _address(written) if written else None
        except _NoFactError:
            return False
        cables.append(_cable((device, port, upper, upper_port, address, self.line)))
        return True

    def cable(self, cables: list[StandingCable], key: str, value: str) -> None:
        device, _, ports = key.partition(" ")
        ends, _, addresses = value.partition(" @ ")
        port_names = expand_all(ports.split()) if ".." in ports else ports.split()
        uppers: list[str] = []
        upper_ports: list[str] = []
        for item in ends.split(", "):
            _add_ends(item, uppers, upper_ports)
        if len(port_names) != len(uppers) or not port_names:
            raise _NoFactError(f"{device} has {len(port_names)} ports here, and {len(uppers)} go with them")
        cable_addresses = _addresses(addresses, len(port_names)) if addresses else repeat(None)
        rows = zip(repeat(device), port_names, uppers, upper_ports, cable_addresses, repeat(self.line), strict=False)
        cables += map(_cable, rows)

    def cables(self) -> dict[str, dict[End, StandingCable]]:
        """The cables of each fabric by their lower end; repeated ports and addresses get findings.

        The repeated ones are searched only if a comparison of counts shows that there are any.
        """
        cable_by_end = {}
        for fabric, cables in self.rows.items():
            cable_by_end[fabric] = dict(zip(map(_LOWER, cables), cables, strict=True))
        ends = set(map(_UPPER, chain(*self.rows.values()))).union(*cable_by_end.values())
        addresses = [list(map(_ADDRESS, cables)) for cables in self.rows.values()]
        has_repeated_port = len(ends) != 2 * sum(map(len, addresses))
        has_repeated_address = any(len({*row, None}) != len(row) - row.count(None) + 1 for row in addresses)
        if has_repeated_port or has_repeated_address:
            self._report_repeated()
        return cable_by_end

    def _report_repeated(self) -> None:
        for fabric, cables in self.rows.items():
            for cable in cables:
                self.line = cable.line
                self.once(f"{cable.device} {cable.port}", "port", cable.device, cable.port)
                self.once(f"{cable.upper} {cable.upper_port}", "port", cable.upper, cable.upper_port)
                if cable.address is not None:
                    self.once(f"the address of {cable.device} {cable.port}", "address", fabric, cable.address)

    def rename(self, key: str, value: str) -> None:
        now, before = expand(key), expand(value)
        if len(now) != len(before):
            raise _NoFactError(f"{len(now)} devices have {len(before)} former names", value)
        self.former |= zip(map(_named, now), map(_named, before), strict=True)

    def free(self, key: str, value: str) -> None:
        kind, owner, *words = key.split()
        try:
            freed = Freed(date.fromisoformat(value), self.line)
        except ValueError:
            raise _NoFactError(f'"{value}" is no day such as 2026-12-31', value) from None
        if kind == "port":
            self.freed_ports |= {(owner, port): freed for port in expand_all(words)}
        elif kind == "address":
            self.freed_addresses |= {(owner, _address(word)): freed for word in words}
        else:
            raise _NoFactError(f'"{kind}" is neither port nor address', kind)


def read_allocated(path: FilePath, file: str, *, is_own: bool = True) -> tuple[Allocated, list[Finding]]:
    """Facts of the allocation file at ``path``, and its errors (CW260, CW261); ``file`` is its name in findings.

    Raises SpecError for an unreadable file.
    """
    text = read_text(path, file, MAX_BYTES).removeprefix("\ufeff").replace("\r\n", "\n")
    refuse_characters(text, file)
    allocated, findings = _read(text, file, is_own)
    return allocated, list(findings)


@lru_cache(maxsize=4)  # a spec is linted first, and then read
def _read(text: str, file: str, is_own: bool) -> tuple[Allocated, tuple[Finding, ...]]:
    reader = _FactReader(file)
    reader.read(text)
    allocated = Allocated(
        file,
        is_own,
        reader.groups,
        reader.nodes,
        reader.switches,
        reader.cables(),
        reader.freed_ports,
        reader.freed_addresses,
        reader.former,
    )
    return allocated, tuple(reader.findings)


def _labelled(value: str, labels: tuple[str, ...]) -> Mapping[str, list[str]]:
    """The words after each label."""
    words_by_label: dict[str, list[str]] = {}
    label_words: list[str] | None = None
    for word in value.split():
        if word in labels and word not in words_by_label:
            label_words = words_by_label[word] = []
        elif label_words is None:
            raise _NoFactError(f'"{word}" stands before all of {", ".join(labels)}', word)
        else:
            label_words.append(word)
    return words_by_label


def _need(words: Mapping[str, list[str]], label: str, default: str | None = None) -> list[str]:
    values = words.get(label, [default] if default is not None else [])
    if not values:
        raise _NoFactError(f"the line does not say `{label}`")
    return values


def _named(name: str) -> str:
    """The name, checked as a name of a device or group. Raises _NoFactError."""
    if _NAME.fullmatch(name) is None:
        raise _NoFactError(f'"{name}" is no name: lower case letters, digits and dashes', name)
    return name


def _number(word: str, largest: int = 999_999) -> int:
    if not word.isascii() or not word.isdigit() or int(word) > largest:
        raise _NoFactError(f'"{word}" is no number from 0 to {largest}', word)
    return int(word)


def _unit(word: str) -> float:
    if not word.isascii() or not word.replace(".", "", 1).isdigit() or float(word) > MOST_UNITS:
        raise _NoFactError(f'"{word}" is no rack unit', word)
    return float(word)


def _address(word: str) -> int:
    try:
        return int.from_bytes(socket.inet_pton(socket.AF_INET6 if ":" in word else socket.AF_INET, word))
    except OSError:
        raise _NoFactError(f'"{word}" is no address', word) from None


def _address_in(value: str, address: int) -> str:
    """An address in the notation of the line."""
    for word in value.split():
        bare = word.partition("/")[0]
        if (":" in bare or "." in bare) and bare[0].isalnum():
            try:
                if _address(bare) == address:
                    return f"the address {word}"
            except ValueError:
                continue
    return f"the address {value}"


def _add_ends(item: str, devices: list[str], ports: list[str]) -> None:
    """Add the devices and ports of ``leaf-00..07 1`` or ``leaf-00 1..8``, in pairs."""
    if ".." not in item and (words := item.split()):
        devices += [words[0]] * (len(words) - 1)
        ports += words[1:]
        return
    device, _, rest = item.strip().partition(" ")
    names, port_names = expand(device), expand_all(rest.split())
    if len(port_names) == 1:
        port_names *= len(names)
    elif len(names) == 1:
        names *= len(port_names)
    if len(names) != len(port_names):
        raise _NoFactError(f"{len(names)} devices and {len(port_names)} ports do not go together", item)
    devices += names
    ports += port_names


def _addresses(text: str, count: int) -> list[int | None]:
    words = text.split()
    if len(words) == 1 and ".." in text:
        first, _, last = text.partition("..")
        low, high = _address(first), _address(last)
        if count < 2 or (high - low) % (count - 1) or high <= low:
            raise _NoFactError(f"{text} holds no {count} addresses at equal distances", text)
        return list(range(low, high + 1, (high - low) // (count - 1)))
    if len(words) != count:
        raise _NoFactError(f"there are {len(words)} addresses for {count} ports", text)
    return [_address(word) for word in words]
