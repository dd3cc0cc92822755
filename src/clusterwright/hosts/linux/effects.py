"""Effects of changed files on machines with Linux: nodes, and the base of a switch's system."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from clusterwright.device_files.effect import Consequence, Effect, effect_table
from clusterwright.hosts.linux.changed_units import UNIT_FILE, settings_of, unit_places
from clusterwright.hosts.opensm.reader.partitions import BadStatement, parse_partitions

LIMITS_FILE = "etc/clusterwright/health.json"
"""The node check's expectations of every node of a kind."""
# The only subnet manager of a host has its file in opensm's folder, one of several in a folder of its own.
_OPTIONS = re.compile(r"etc/opensm/([^/]+/)?opensm\.conf")
_SLURM = "etc/slurm/slurm.conf"
_FILTER = "etc/nftables.conf"
_SYSCTLS = "etc/sysctl.d/"
_ACCOUNTS = "etc/sysusers.d/"
_PARTITIONS = re.compile(r"etc/opensm/([^/]+/)?partitions\.conf")


def on_node(path: str, was: bytes | None, will: bytes | None) -> tuple[Consequence, ...]:
    """The consequences of a changed file on a node, by the program that reads it and the time of its reading."""
    return effect_table("linux-node").consequences(path, _places(path, was, will), unknown=Effect.LIVE)


def on_switch(path: str, was: bytes | None, will: bytes | None) -> tuple[Consequence, ...]:
    """Files of the Linux under a switch's system: live if forwarding does not notice, else on the safe side."""
    del was, will
    return effect_table("linux-switch").consequences(path, ("",))


def _places(path: str, was: bytes | None, will: bytes | None) -> Iterator[str]:
    if path.endswith(".network") and was is not None:
        yield from _network_places(was, will)
    elif UNIT_FILE.fullmatch(path):
        yield from unit_places(path, was, will)
    elif path.startswith((_FILTER, _ACCOUNTS, _SYSCTLS)) and was is not None:
        yield from _kept_places(path, was, will)
    elif was is None or will is None:
        yield ""
    elif path == LIMITS_FILE:
        yield "limits" if json.loads(was).get("image") == json.loads(will).get("image") else "image"
    elif _PARTITIONS.fullmatch(path):
        yield "taken" if _takes_keys(was, will) else "given"
    elif _OPTIONS.fullmatch(path):
        yield from sorted({line.split()[0] for line in _lines(was) ^ _lines(will)})
    elif path == _SLURM:
        yield from sorted(_lines(was) ^ _lines(will))
    else:
        yield ""


def _kept_places(path: str, was: bytes, will: bytes | None) -> Iterator[str]:
    """Places in files whose state outlives them: in the kernel, or in the account database."""
    if path == _FILTER:
        yield "gone" if will is None else ""
    elif path.startswith(_ACCOUNTS):
        yield from _account_places(was, will or b"")
    else:
        yield from _sysctl_places(was, will or b"")


def _sysctl_places(was: bytes, will: bytes) -> Iterator[str]:
    """``set`` for values that are written, ``gone`` where a key is left out: the kernel keeps what it has."""
    keys_before, keys_after = _sysctl_keys(was), _sysctl_keys(will)
    if _lines(will) - _lines(was) or keys_before == keys_after:
        yield "set"
    if keys_before - keys_after:
        yield "gone"


def _sysctl_keys(content: bytes) -> set[str]:
    return {line.partition("=")[0].strip() for line in _lines(content)}


def _account_places(was: bytes, will: bytes) -> Iterator[str]:
    """``number`` where an account gets another one, ``gone`` where one is left out (sysusers.d(5))."""
    before, after = _numbers(was), _numbers(will)
    if any(after.get(account, number) != number for account, number in before.items()):
        yield "number"
    if before.keys() - after.keys():
        yield "gone"
    yield "accounts"


def _numbers(content: bytes) -> dict[tuple[str, str], str]:
    """The numbers of users (``u``) and groups (``g``), by kind and name."""
    numbers = {}
    for line in _lines(content):
        words = line.split()
        if len(words) > 2 and words[0] in ("u", "g"):
            kind, name, number = words[:3]
            numbers[kind, name] = number
    return numbers


def _network_places(was: bytes, will: bytes | None) -> Iterator[str]:
    """The keys whose values differ, each with its section; ``gone`` where networkd leaves the interface alone."""
    if will is None:
        yield "gone"
        return
    changed = set(settings_of(was)) ^ set(settings_of(will))
    yield from sorted({f"{section} > {key}" for section, key, _ in changed}) or [""]


def _takes_keys(was: bytes, will: bytes) -> bool:
    """Whether any user loses a membership; an unreadable file takes all."""
    try:
        before, after = _memberships(was), _memberships(will)
    except BadStatement:
        return True
    return not before <= after


def _memberships(content: bytes) -> frozenset[tuple[int | None, object]]:
    """P_Keys with their members, and whether they are full ones. Raises BadStatement."""
    memberships: set[tuple[int | None, object]] = set()
    for statement in parse_partitions(content.decode("utf-8", "replace")):
        for member in statement.members:
            memberships.add((statement.pkey, (member.guid or member.keyword, member.membership)))
    return frozenset(memberships)


def _lines(content: bytes) -> frozenset[str]:
    """The lines of a file of options, without comments and empty ones."""
    text = re.sub(r"#.*", "", content.decode("utf-8", "replace"))
    return frozenset(line.strip() for line in text.splitlines() if line.strip())
