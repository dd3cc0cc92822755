"""Lines of EOS allowed to differ from the rendered ones: all others decide something outside any fact."""

from __future__ import annotations

from clusterwright.facts.values import FieldValues, IdleFields, line_pattern
from clusterwright.switches.eos.reader.known_lines import CLAIMS

# Readers turn every value of these into facts: proofs follow rules and routes, and compare maps.
_JUDGED: tuple[tuple[str, str], ...] = (
    (r"(?:ip|ipv6) access-list (?:standard )?\S+", r"\d+ (?:permit|deny|remark) .*"),
    (r"(?:ip|ipv6) prefix-list \S+", r"seq \d+ (?:permit|deny) .*"),
    (r"route-map \S+ (?:permit|deny) \d+", r"match ip(?:v6)? address prefix-list \S+"),
    (
        r"interface \S+",
        r"""
ip address [0-9.]+/\d+
ipv6 address [0-9a-f:]+/\d+
mtu \d+
shutdown
speed \S+
service-profile \S+
(?:ip|ipv6) access-group \S+ (?:in|out)
""",
    ),
    (
        r"router bgp \d+",
        r"""
neighbor \S+ peer group \S+
neighbor \S+ remote-as \d+
neighbor \S+ route-map \S+ (?:in|out)
neighbor \S+ bfd
network [0-9a-f.:]+/\d+
""",
    ),
    (r"qos map dscp \d+(?: \d+)* to traffic-class [0-7]", ""),
    (r"qos map traffic-class [0-7] to (?:uc-)?tx-queue [0-7]", ""),
)
_HARMLESS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    ("Snmp", "says something about the switch", ((r"snmp-server (?:contact|location|chassis-id) .*", ""),)),
    (
        "Cli",
        "short words, and what people are shown",
        ((r"alias \S+ .*|prompt \S+|terminal (?:length|width) \d+", ""),),
    ),
    ("SuperServer", "how local time is shown", ((r"clock timezone \S+", ""),)),
    ("Lldp", "how often a switch tells its name", ((r"lldp (?:timer|hold-time) \d+", ""),)),
    ("Ebra", "over how many seconds rates are counted", ((r"interface \S+", r"load-interval \d+"),)),
    ("Bgp", "a description", ((r"router bgp \d+", r"neighbor \S+ description .*"),)),
    ("Rib", "a description", ((r"route-map \S+ (?:permit|deny) \d+", r"description .*"),)),
)

_CLASSES = (
    (r"qos profile \S+|priority-flow-control .*", ""),
    (r"qos profile \S+", ".*"),
)
_MANAGEMENT = tuple((rf"(?:{header})(?: / .*)?", "") for header, _ in CLAIMS)

VALUES = FieldValues(
    judged=line_pattern(_JUDGED),
    touches=(
        (line_pattern(_CLASSES), frozenset({"qos"})),
        (line_pattern(_MANAGEMENT), frozenset({"isolation", "management"})),
    ),
    harmless=tuple(IdleFields(program, reason, line_pattern(lines)) for program, reason, lines in _HARMLESS),
)
