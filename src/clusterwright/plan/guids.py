"""GUIDs that stand in for labels nobody has scanned yet: below a locally administered prefix, by kind and number."""

from __future__ import annotations

# Planned GUIDs below the 24-bit prefix: 8 bits of kind and tier, then 32 bits of number (switches keep 8 of them for
# chips).
SWITCH_KIND = 0x10
HCA_KIND = 0x80
CHIP_BITS = 8


def switch_guid(prefix: int, tier: int, index: int) -> int:
    """Planned node GUID of a switch; its chips, if it is a director, take the numbers that follow."""
    return (prefix << 40) | ((SWITCH_KIND + tier) << 32) | (index << CHIP_BITS)


def hca_guid(prefix: int, node: int, nic: int) -> int:
    """Planned port GUID (and node GUID) of a NIC."""
    return (prefix << 40) | (HCA_KIND << 32) | (node << CHIP_BITS) | nic
