"""Values of opensm.conf's options assumed by other claims with every spec, with reasons.

An option outside these tables that does not follow from the spec is unknown to every claim, and refutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Fixed(NamedTuple):
    """The only valid value of an option, and the effect of any other."""

    value: str
    otherwise: str


class Free(NamedTuple):
    """The range of an option's numbers without influence on any claim, with the reason."""

    least: int
    most: int
    reason: str


# Both subnet managers.
FIXED: Mapping[str, Fixed] = {
    "lmc": Fixed("0", "ports get several LIDs, which ftree does not route"),
    "use_ucast_cache": Fixed("TRUE", "a leaf that restarts makes everything be routed anew"),
    "part_enforce": Fixed("both", "switches let packets of other partitions pass"),
    "allow_both_pkeys": Fixed("FALSE", "a port can be full and limited member of a partition at once"),
    "keep_pkey_indexes": Fixed("TRUE", "a partition moves to another index than the one nodes were given"),
}
OPENSM_FIXED: Mapping[str, Fixed] = {
    "reassign_lids": Fixed("FALSE", "every start gives ports other LIDs, and connections break"),
    "sweep_on_trap": Fixed("TRUE", "a link that goes down is noticed at the next sweep alone"),
    "babbling_port_policy": Fixed("TRUE", "a port that sends traps without end is left to do so"),
    "honor_guid2lid_file": Fixed("TRUE", "a standby that takes over gives ports other LIDs"),
    "console": Fixed("off", "a client of the console commands the subnet manager without credentials"),
    "daemon": Fixed("FALSE", "systemd loses sight of the process"),
    "log_file": Fixed("/var/log/opensm.log", "the log is not expected there"),
    "force_log_flush": Fixed("TRUE", "a finished sweep is not in the log when a deployment looks for it"),
    "dump_files_dir": Fixed("/var/log/", "the tables are not expected there"),
}
UFM_FIXED: Mapping[str, Fixed] = {
    "max_wire_smps_per_device": Fixed("2", "one switch is asked more at once than it answers"),
}
_PACE = "how much is on the wire at once decides how fast the subnet comes up, not how it is routed"
_TAKEOVER = "it decides how fast a standby takes over, not what it then does"
OPENSM_FREE: Mapping[str, Free] = {
    "max_wire_smps": Free(1, 1024, _PACE),
    "max_wire_smps2": Free(1, 1024, _PACE),
    "transaction_timeout": Free(1, 10_000, "it decides how long an answer is waited for"),
    "transaction_retries": Free(1, 100, "it decides how often a silent port is asked again"),
    "sweep_interval": Free(1, 3600, "it decides how soon a change without a trap is noticed; 0 would never look"),
    "sminfo_polling_timeout": Free(1, 600_000, _TAKEOVER),
    "polling_retry_number": Free(1, 100, _TAKEOVER),
    "log_max_size": Free(1, 100_000, "it decides when the log starts anew; 0 fills the disk"),
}
_FREE_IN_UFM = ("max_wire_smps", "transaction_timeout", "sweep_interval")
UFM_FREE: Mapping[str, Free] = {name: OPENSM_FREE[name] for name in _FREE_IN_UFM}
QOS_FREE: Mapping[str, Free] = {
    "qos_high_limit": Free(0, 255, "it decides how much the high table sends in a row; 255 beside a low table refutes"),
}
# Options with paths of files; these files are checked by themselves.
FILES = ("root_guid_file", "cn_guid_file", "partition_config_file", "node_name_map_name")
STORAGE_FILE = "io_guid_file"
# Each manager's own; everything else is the same on all managers of a fabric.
OWN = frozenset({"guid", "sm_priority"})
HIGHEST_PRIORITY = 15
# The key in clear: it belongs in a file readable only by root.
SECRETS = frozenset({"m_key", "sm_key", "sa_key", "cc_key"})
