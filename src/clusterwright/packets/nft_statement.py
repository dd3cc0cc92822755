"""Statements of nftables rules that decide nothing, and how packets are refused: read strictly.

nft loads none of a file that has one word too many, so that a statement which is passed over loosely here would let a
filter count that is not in force.
"""

from __future__ import annotations

import re

from clusterwright.packets.tokens import Reader, Unreadable, shown

_LONGEST_COMMENT = 128  # libnftnl, udata.h: NFTNL_UDATA_COMMENT_MAXLEN
_LONGEST_PREFIX = 127  # linux/netfilter/nf_log.h: NF_LOG_PREFIXLEN, with the zero at its end
_LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
_RATE = re.compile(r"[1-9]\d{0,8}/(?:second|minute|hour|day|week)", re.A)
# Reasons that go with both IP versions; others make a rule one of the packets of one version, or of TCP, alone.
_REASONS = ("port-unreachable", "admin-prohibited", "no-route", "host-unreachable")


def comment(reader: Reader) -> None:
    """Past a comment's text."""
    reader.quoted(_LONGEST_COMMENT)


def counted(reader: Reader) -> None:
    """Past what a counter counted."""
    if reader.take("packets"):
        reader.number()
        reader.expect("bytes")
        reader.number()


def rejected(reader: Reader) -> None:
    """Past what a rejecting rule answers."""
    if reader.take("with"):
        reader.expect("icmpx")
        reader.take("type")
        reader.expect(*_REASONS)


def statement(reader: Reader) -> bool:
    """Past a statement that decides nothing; True when it makes the rule match only sometimes. Raises Unreadable."""
    word = reader.next()
    if word.text == "counter" and not word.quoted:
        counted(reader)
    elif word.text == "log" and not word.quoted:
        _logged(reader)
    elif word.text == "limit" and not word.quoted:
        reader.expect("rate")
        reader.take("over")
        rate = reader.next()
        if not _RATE.fullmatch(rate.text):
            raise Unreadable(rate.line, f"{shown(rate.text)} is no rate that is known here")
        if reader.take("burst"):
            reader.number()
            reader.expect("packets")
        return True
    else:
        raise Unreadable(word.line, f"{shown(word.text)} is a statement that is not known here")
    return False


def _logged(reader: Reader) -> None:
    """Past the options of a log; nft takes each once, and no level where a group of listeners is told."""
    left = {"prefix", "level", "group"}
    while reader.peek() in left:
        option = reader.expect(*left)
        left -= {option} if option == "prefix" else {"level", "group"}
        if option == "prefix":
            reader.quoted(_LONGEST_PREFIX)
        elif option == "level":
            reader.expect(*_LEVELS)
        else:
            reader.number()
