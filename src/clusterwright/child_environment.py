"""The environment of every program that is started: an allow-list, so that no secret goes along.

A shell may hold secrets that a spec names (``source: environment``), tokens of other programs, and settings of Ansible,
Python or the locale that make a run something else. LD_PRELOAD and LD_LIBRARY_PATH stay behind as well: they would run
somebody's code in every child. A site sets libraries for all programs in /etc/ld.so.preload and /etc/ld.so.conf.d.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

PASSED = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR"}  # the authorities of a site behind a proxy that opens TLS
)
PASSED_PREFIXES = ("PYTHON",)
"""How variables begin that Python programs are started with: the caller's interpreter reads them already."""

LOCALE = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
"""Every program prints English in UTF-8, for its output is parsed. glibc has this locale since 2.35, Debian before."""

PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy"})
"""In lower case; programs read either case."""

_HERE = ("localhost", "127.0.0.1", "::1")


def child_environment(*, names: Collection[str] = (), prefixes: Iterable[str] = ()) -> dict[str, str]:
    """The variables of this process that a child gets: those of the allow-list, ``names``, and ``prefixes``."""
    beginnings = (*PASSED_PREFIXES, *prefixes)
    passed = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED or name in names or name.startswith(beginnings)
    }
    return {**passed, **LOCALE}


def proxy_environment() -> dict[str, str]:
    """The caller's proxies, for children that ask servers; never for what stays on this machine.

    gRPC, over which Pulumi's programs talk to each other, takes a proxy for 127.0.0.1 as well unless told otherwise.
    """
    found = {name: value for name, value in os.environ.items() if name.lower() in PROXIES}
    for name in ("no_proxy", "NO_PROXY"):
        exempt = [part for part in found.get(name, "").split(",") if part.strip()]
        found[name] = ",".join([*exempt, *(host for host in _HERE if host not in exempt)])
    return found
