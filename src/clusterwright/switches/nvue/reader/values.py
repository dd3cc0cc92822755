"""Objects of NVUE allowed to differ from the rendered ones: all others decide something unread."""

from __future__ import annotations

from clusterwright.facts.values import FieldValues, IdleFields, field_pattern

# Readers turn every value of these into facts: proofs follow rules and routes, and compare maps.
_JUDGED = """
acl * rule * : action... match...
interface * ip address : *
interface * link : fec mtu speed
qos mapping default-global dscp * : switch-priority
router policy prefix-list * rule * : action match...
vrf default router bgp address-family * network : *
vrf default router bgp neighbor * : peer-group remote-as
"""
_HARMLESS = (
    ("nvued", "words for people", "acl * rule * : remark\nsystem message : *\nsystem : timezone"),
    ("nvued", "words for people", "vrf default router bgp neighbor * : description"),
    ("lldpd", "how often a switch tells its name", "service lldp : tx-interval"),
)

_CLASSES = """
qos : congestion-control... egress-scheduler... pfc... pfc-watchdog... roce...
interface * qos : pfc-watchdog...
"""
_MANAGEMENT = """
service...
system : aaa... api... message... ssh-server...
"""

VALUES = FieldValues(
    judged=field_pattern(_JUDGED),
    touches=(
        (field_pattern(_CLASSES), frozenset({"qos"})),
        (field_pattern(_MANAGEMENT), frozenset({"isolation", "management"})),
    ),
    harmless=tuple(IdleFields(program, reason, field_pattern(fields)) for program, reason, fields in _HARMLESS),
)
