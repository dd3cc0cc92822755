"""The environment of every child process: an allow-list, to keep secrets out.

A shell may hold secrets of a spec (``source: environment``), tokens of other programs, and settings of Ansible, Python
or the locale that change a run. LD_PRELOAD and LD_LIBRARY_PATH are not passed either: they would load foreign code into
every child. A site sets libraries for all programs in /etc/ld.so.preload and /etc/ld.so.conf.d.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

PASSED = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR"}  # the authorities of a site behind a proxy that opens TLS
)
PASSED_PREFIXES = ("PYTHON",)
"""Prefixes of variables read by Python programs: the caller's interpreter has read them already."""

LOCALE = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
"""Every program prints English in UTF-8, because its output is parsed. glibc has had this locale since 2.35, and
Debian for longer."""

PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy"})
"""In lower case; programs read either case."""

_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def child_environment(*, names: Collection[str] = (), prefixes: Iterable[str] = ()) -> dict[str, str]:
    """Variables of this process for a child: those of the allow-list, ``names``, and names with one of ``prefixes``."""
    beginnings = (*PASSED_PREFIXES, *prefixes)
    allowed = PASSED.union(names)
    passed = [name for name in os.environ if name in allowed or name.startswith(beginnings)]
    return {**{name: os.environ[name] for name in passed}, **LOCALE}


def proxy_environment() -> dict[str, str]:
    """The caller's proxies, for children that connect to servers; connections within this machine bypass them.

    gRPC, the protocol between Pulumi's programs, uses a proxy for 127.0.0.1 as well unless it is exempt.
    """
    proxies = {name: value for name, value in os.environ.items() if name.lower() in PROXIES}
    for name in ("no_proxy", "NO_PROXY"):
        exempt = [host for host in proxies.get(name, "").split(",") if host.strip()]
        for host in _LOCAL_HOSTS:
            if host not in exempt:
                exempt.append(host)
        proxies[name] = ",".join(exempt)
    return proxies
