"""Strict reading of nftables statements without a verdict, and of the options of ``reject``.

nft loads none of a file with one word too many. Accepting such a statement here would count a filter as in force that
is not loaded.
"""

from __future__ import annotations

import re

from clusterwright.packets.tokens import Reader, Unreadable, shown

_LONGEST_COMMENT = 128  # libnftnl, udata.h: NFTNL_UDATA_COMMENT_MAXLEN
_LONGEST_PREFIX = 127  # linux/netfilter/nf_log.h: NF_LOG_PREFIXLEN, with the zero at its end
_LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
_RATE = re.compile(r"[1-9]\d{0,8}/(?:second|minute|hour|day|week)", re.A)
# Reasons for both IP versions; others limit the rule to packets of one version, or to TCP.
_REASONS = ("port-unreachable", "admin-prohibited", "no-route", "host-unreachable")


def comment(reader: Reader) -> None:
    """Read the text of a comment."""
    reader.quoted(_LONGEST_COMMENT)


def counted(reader: Reader) -> None:
    """Read the values of a counter."""
    if reader.take("packets"):
        reader.number()
        reader.expect("bytes")
        reader.number()


def rejected(reader: Reader) -> None:
    """Read the options of ``reject``."""
    if reader.take("with"):
        reader.expect("icmpx")
        reader.take("type")
        reader.expect(*_REASONS)


def statement(reader: Reader) -> bool:
    """Read a statement without a verdict; True for a rate limit. Raises Unreadable."""
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
    """Read the options of a log. nft takes each once, and a level or a group of listeners, not both."""
    remaining = {"prefix", "level", "group"}
    while reader.peek() in remaining:
        option = reader.expect(*remaining)
        if option == "prefix":
            remaining -= {"prefix"}
            reader.quoted(_LONGEST_PREFIX)
            continue
        remaining -= {"level", "group"}
        if option == "level":
            reader.expect(*_LEVELS)
        else:
            reader.number()
