"""NVUE, as a system that is read."""

from __future__ import annotations

import re
from collections.abc import Iterable

from clusterwright.packets.tokens import Unreadable
from clusterwright.platforms.nvue.reader.configuration import PATH, read_nvue
from clusterwright.platforms.nvue.reader.known import unread
from clusterwright.platforms.nvue.reader.lists import NvueLists
from clusterwright.platforms.nvue.reader.objects import read_objects
from clusterwright.platforms.nvue.reader.openings import openings, routes
from clusterwright.platforms.reader import SystemReader, Unsupported
from clusterwright.platforms.unread import Unread

_POLICY = re.compile(r"^    router:\n(?:     .*\n)*|^          peer-group:\n(?:           .*\n)*", re.M)


def policy_lines(text: str) -> Iterable[str]:
    """Lines of policies and peer groups."""
    return (line for part in _POLICY.findall(text) for line in part.split("\n"))


def not_known(text: str) -> tuple[Unread, ...]:
    """What stands in a file and is on no list; nothing where the file does not read at all, which proofs say."""
    try:
        return tuple(unread(read_objects(text)))
    except Unreadable:
        return ()


READER = SystemReader(
    system="nvue",
    file=PATH,
    kinds=frozenset({"nvue"}),
    router=lambda device, text: read_nvue(device, text(PATH)),
    lists=NvueLists,
    openings={PATH: openings},
    unread={PATH: not_known},
    services=Unsupported("the management port's list names the ports of services"),
    routes={PATH: routes},
    named=re.compile(r"^ +(?:(?:source|dest)-ip: .*|\"?[0-9a-f.:]+/\d+\"?: (?:\{\})?)$", re.M),
    policy_lines=policy_lines,
)
