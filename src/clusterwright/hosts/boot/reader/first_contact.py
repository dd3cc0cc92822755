"""Reading the files of a server of first contact: addresses, first files, and their content.

No line is skipped silently: an unknown key, line or test is ``unknown``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, NamedTuple

from clusterwright.hosts.boot.reader.network_boot import reserved_addresses

KEA = {4: "etc/kea/kea-dhcp4.conf", 6: "etc/kea/kea-dhcp6.conf"}
WEB_SERVER = "etc/nginx/conf.d/clusterwright-first-contact.conf"
_SETTINGS = frozenset(
    {
        *("interfaces-config", "lease-database", "valid-lifetime", "preferred-lifetime", "match-client-id"),
        *("host-reservation-identifiers", "reservations-global", "reservations-in-subnet", "reservations-out-of-pool"),
        *("mac-sources", "option-data", "option-def", "client-classes", "subnet4", "subnet6"),
    }
)
_SUBNET = frozenset({"id", "subnet", "user-context", "relay", "reservations", "option-data", "pools"})
_RESERVATION = frozenset(
    {"hw-address", "circuit-id", "ip-address", "ip-addresses", "hostname", "user-context", "client-classes"}
)
_CLASS = frozenset({"name", "test", "option-data"})
_OPTION = frozenset({"code", "csv-format", "data", "always-send"})
_BEGINS = r"substring\(option\[(?P<option>\d+)\]\.hex, (?P<start>\d+), (?P<length>\d+)\) == '(?P<text>[^']*)'"
_TEST = re.compile(rf"member\('KNOWN'\) and member\('(?P<holders>[^']+)'\) and (?P<negated>not \()?{_BEGINS}\)?")
# RFC 8415, 21.16. SONiC sends option 15 as a text alone (sonic-net/sonic-buildimage, files/dhcp/dhclient.conf.j2).
_TEXT_FROM = {16: 6}


class ContactReservation(NamedTuple):
    """A device with an address."""

    known_by: str
    """Kind of identifier: hw-address or circuit-id."""
    value: str
    """The identifier."""
    relay: str
    """Address of the relay."""
    address: str
    """The device's address."""
    device: str
    classes: tuple[str, ...]


class ContactAnswer(NamedTuple):
    """A URL for devices of a class whose DHCP client identifies itself in an option."""

    holders: str
    """The class."""
    option: int
    """The option with the client's identifier."""
    text: str
    """The required beginning of the identifier, or the excluded one if the test ``is_negated``."""
    is_negated: bool
    code: int
    """The option of the answer with the URL."""
    url: str


@dataclass(frozen=True, slots=True)
class ContactDhcp:
    """Kea's configuration; ``pools`` are addresses for devices without a reservation."""

    reservations: tuple[ContactReservation, ...]
    answers: tuple[ContactAnswer, ...]
    pools: tuple[str, ...]
    unknown: tuple[str, ...]


@lru_cache(maxsize=32)
def read_contact_dhcp(text: str) -> ContactDhcp:
    """Kea's configuration of either version. Raises ValueError for unreadable text."""
    document = json.loads(text)
    try:
        ((_, settings),) = document.items()
        unknown = [key for key in settings if key not in _SETTINGS]
        reservations: list[ContactReservation] = []
        pools: list[str] = []
        for subnet in (*settings.get("subnet4", ()), *settings.get("subnet6", ())):
            unknown += [key for key in subnet if key not in _SUBNET]
            pools += [pool["pool"] for pool in subnet.get("pools", ())]
            for entry in subnet["reservations"]:
                unknown += [key for key in entry if key not in _RESERVATION]
                reservations.append(_reservation(entry, subnet))
        answers = list(_answers(settings.get("client-classes", ()), unknown))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"is no configuration of Kea: {error}") from error
    return ContactDhcp(tuple(reservations), tuple(answers), tuple(pools), tuple(unknown))


def _reservation(entry: Mapping[str, Any], subnet: Mapping[str, Any]) -> ContactReservation:
    (known_by,) = entry.keys() & {"hw-address", "circuit-id"}
    (address,) = reserved_addresses(entry)
    (relay,) = subnet["relay"]["ip-addresses"]
    identifier = entry[known_by]
    value = identifier.lower() if known_by == "hw-address" else identifier.removeprefix("'").removesuffix("'")
    return ContactReservation(
        known_by=known_by,
        value=value,
        relay=str(ip_address(relay)),
        address=str(ip_address(address)),
        device=entry["hostname"],
        classes=tuple(entry.get("client-classes", ())),
    )


def _answers(classes: Any, unknown: list[str]) -> Iterator[ContactAnswer]:
    for entry in classes:
        unknown += [key for key in entry if key not in _CLASS]
        if "test" not in entry:
            if "option-data" in entry:
                unknown.append(f"class {entry['name']}")
            continue
        test = _TEST.fullmatch(entry["test"])
        if test is None or not _is_whole(test):
            unknown.append(entry["test"])
            continue
        for option in entry["option-data"]:
            unknown += [key for key in option if key not in _OPTION]
            yield ContactAnswer(
                holders=test["holders"],
                option=int(test["option"]),
                text=test["text"],
                is_negated=test["negated"] is not None,
                code=option["code"],
                url=option["data"],
            )


def _is_whole(test: re.Match[str]) -> bool:
    """Whether a test compares all of its text, from the beginning of the option's text."""
    is_closed = test.string.endswith(")") == (test["negated"] is not None)
    start, length = int(test["start"]), int(test["length"])
    return is_closed and length == len(test["text"]) and start == _TEXT_FROM.get(int(test["option"]), 0)


@dataclass(slots=True)
class FirstFile:
    """A switch's settings from its first file: accounts with their keys, ``interfaces``, and unknown lines."""

    accounts: dict[str, list[str]] = field(default_factory=dict)
    interfaces: list[str] = field(default_factory=list)
    secrets: list[int] = field(default_factory=list)
    """Lines that hold a password or its hash."""
    unknown: list[tuple[int, str]] = field(default_factory=list)


_EOS_ACCOUNT = re.compile(r"username (?P<name>\S+) privilege \d+ role \S+ nopassword")
_EOS_KEY = re.compile(r"username (?P<name>\S+) ssh-key (?:secondary )?(?P<key>.+)")
_EOS_SECRET = re.compile(r"\b(?:secret|password|key [07])\b")
_EOS_LINES = frozenset(
    {
        *("no aaa root", "vrf instance MGMT", "management api http-commands", "protocol https", "no protocol http"),
        *("no shutdown", "shutdown", "vrf MGMT", "vrf default", "management ssh", "ip address dhcp", "end", "!"),
        *("authentication protocol public-key", "dhcp client accept default-route"),
    }
)
_ACCOUNT = r"(?P<name>[a-z_][a-z0-9_-]*)"
_SCRIPT_ACCOUNT = re.compile(
    rf"id -u {_ACCOUNT} >/dev/null 2>&1 \|\| useradd --create-home --shell /bin/bash (?P=name)"
)
_SCRIPT_KEYS = re.compile(
    rf"install -m 0600 -o {_ACCOUNT} -g (?P=name) /dev/stdin /home/(?P=name)/\.ssh/authorized_keys <<'KEYS'"
)
_SCRIPT_LINES = tuple(
    re.compile(pattern)
    for pattern in (
        r"#.*",
        r"set -euo pipefail|exit 0|",
        rf"install -d -m 0700 -o {_ACCOUNT} -g (?P=name) /home/(?P=name)/\.ssh",
        r"install -m 0440 /dev/stdin /etc/sudoers\.d/clusterwright <<'SUDOERS'|SUDOERS",
        rf"{_ACCOUNT} ALL=\(ALL:ALL\) NOPASSWD: ALL",
        rf"id -u {_ACCOUNT} >/dev/null 2>&1 && usermod --lock (?P=name)",
        r"test -e /etc/sonic/config_db\.json \|\| config-setup factory",
        r'for key in /etc/ssh/ssh_host_\*_key\.pub; do ssh-keygen -l -f "\$key"; done',
    )
)


@lru_cache(maxsize=64)
def read_first_file(text: str) -> FirstFile:
    """A script for a Linux-based system, or a startup configuration of EOS."""
    lines = list(enumerate(text.split("\n"), 1))
    if text.startswith("#!"):
        return _read_script(lines)
    return _read_eos(lines)


def _read_eos(lines: list[tuple[int, str]]) -> FirstFile:
    settings = FirstFile()
    for number, line in lines:
        words = line.strip()
        if account := _EOS_ACCOUNT.fullmatch(words):
            settings.accounts.setdefault(account["name"], [])
        elif key := _EOS_KEY.fullmatch(words):
            settings.accounts.setdefault(key["name"], []).append(key["key"])
        elif words.startswith("interface "):
            settings.interfaces.append(words.removeprefix("interface "))
        elif _EOS_SECRET.search(words) and not words.startswith("!"):
            settings.secrets.append(number)
        elif words and words not in _EOS_LINES and not words.startswith("! "):
            settings.unknown.append((number, line))
    return settings


def _read_script(lines: list[tuple[int, str]]) -> FirstFile:
    settings = FirstFile()
    keys: list[str] | None = None
    for number, line in lines:
        if keys is not None:
            if line == "KEYS":
                keys = None
            else:
                keys.append(line)
        elif account := _SCRIPT_ACCOUNT.fullmatch(line):
            settings.accounts.setdefault(account["name"], [])
        elif start := _SCRIPT_KEYS.fullmatch(line):
            keys = settings.accounts.setdefault(start["name"], [])
        elif re.search(r"chpasswd|--password|\bpasswd\b", line):
            settings.secrets.append(number)
        elif not any(pattern.fullmatch(line) for pattern in _SCRIPT_LINES):
            settings.unknown.append((number, line))
    return settings
