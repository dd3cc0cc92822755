"""Packages with packet filters of their own, and their systemd units."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

# Units that load the filter, by package, of Debian's and Red Hat's families.
FIREWALLS: Mapping[str, tuple[str, ...]] = {
    "firewalld": ("firewalld.service",),
    "firewall-config": ("firewalld.service",),
    "ufw": ("ufw.service",),
    "gufw": ("ufw.service",),
    "iptables-services": ("iptables.service", "ip6tables.service"),
    "iptables-nft-services": ("iptables.service", "ip6tables.service", "ebtables.service", "arptables.service"),
    "arptables-nft-services": ("arptables.service",),
    "ebtables-services": ("ebtables.service",),
    "ipset-service": ("ipset.service",),
    "iptables-persistent": ("netfilter-persistent.service", "iptables.service", "ip6tables.service"),
    "netfilter-persistent": ("netfilter-persistent.service",),
    "ipset-persistent": ("netfilter-persistent.service",),
    "shorewall": ("shorewall.service",),
    "shorewall6": ("shorewall6.service",),
    "shorewall-lite": ("shorewall-lite.service",),
    "shorewall6-lite": ("shorewall6-lite.service",),
    "ferm": ("ferm.service",),
    "firehol": ("firehol.service",),
    "uruk": ("uruk.service",),
    "arno-iptables-firewall": ("arno-iptables-firewall.service",),
    "foomuuri": ("foomuuri.service", "foomuuri-boot.service"),
    "foomuuri-firewalld": ("foomuuri.service",),
    "fail2ban": ("fail2ban.service",),
    "sshguard": ("sshguard.service",),
    "opensnitch": ("opensnitch.service",),
}
FIREWALL_UNITS = frozenset(chain.from_iterable(FIREWALLS.values()))
