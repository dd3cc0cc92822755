"""Rendered files as switches print them while they run, and as people write them: each form with its page.

Every form says the same as the rendered file. Facts alone are taken from the pages: no text of theirs stands here.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from ipaddress import IPv6Address
from typing import Any

import yaml

from clusterwright.switches.eos.reader.normal_form import is_default
from clusterwright.switches.fboss.reader.defaults import AGENT_DEFAULTS, BGP_DEFAULTS, Defaults, defaults_of

Tables = dict[str, Any]
Form = Callable[[str], str]
SEED = 7
_ADDRESS = re.compile(r"(?<![\w.:])[0-9a-f]+:[0-9a-f:]*:[0-9a-f:]*(?![\w:])")
_FREE = re.compile(r"description|remark|\bmac\b|key|password", re.I)


def _readdressed(text: str, written: Callable[[IPv6Address], str]) -> str:
    """The text with its addresses of IPv6 in another form, where they are no part of words for people."""

    def form(match: re.Match[str]) -> str:
        try:
            return written(IPv6Address(match[0]))
        except ValueError:
            return match[0]

    lines = (line if _FREE.search(line) else _ADDRESS.sub(form, line) for line in text.split("\n"))
    return "\n".join(lines)


def in_capitals(text: str) -> str:
    """Addresses in capitals, as people and address plans write them."""
    return _readdressed(text, lambda address: str(address).upper())


def with_all_zeros(text: str) -> str:
    """Addresses with each of their digits (RFC 4291, 2.2)."""
    return _readdressed(text, lambda address: address.exploded)


# EOS: the user manual's page of each command; what `show running-config` prints.
PORT_NAMES = {"22": "ssh", "53": "domain", "123": "ntp", "161": "snmp", "443": "https", "49": "tacacs"}
_PORT = re.compile(r" eq (22|53|123|161|443|49)(?= |$)")


def eos_printed(text: str) -> str:
    """Names of ports and ICMP types, no defaults, no map of a class to the queue of its own number."""
    lines: list[str] = []
    section = ""
    for line in text.split("\n"):
        section = line if line[:1] not in (" ", "!", "") else section
        if is_default(section if line.startswith(" ") else "", line.strip()):
            continue
        words = _PORT.sub(lambda port: f" eq {PORT_NAMES[port[1]]}", line) if " permit " in line else line
        lines.append(
            words.replace("icmp any any 3", "icmp any any unreachable").replace("any any 11", "any any time-exceeded")
        )
    return "\n".join(lines)


def eos_edited(text: str) -> str:
    """Blanks at the ends of lines, and `peer-group` as releases before 4.23 print it."""
    blanks = "\n".join(f"{line}  " if line.startswith("   ") else line for line in text.split("\n"))
    return re.sub(r"^(   neighbor [A-Z]\S*) peer group", r"\1 peer-group", blanks, flags=re.M)


# SONiC: init_cfg.json.j2 and the yang models of sonic-net/sonic-buildimage, show/main.py of sonic-net/sonic-utilities.
def _of_tables(change: Callable[[Tables], None]) -> Form:
    def form(text: str) -> str:
        tables = json.loads(text)
        change(tables)
        return json.dumps(tables, indent=4, sort_keys=change is sorted_tables)

    form.__name__ = change.__name__
    return form


def sorted_tables(tables: Tables) -> None:
    """What `config save` writes: sorted keys, four blanks of indent."""


def shuffled(tables: Tables) -> None:
    """Another order everywhere."""
    order = random.Random(SEED)
    for name in order.sample([*tables], len(tables)):
        rows = tables.pop(name)
        tables[name] = {key: rows[key] for key in order.sample([*rows], len(rows))}
    for row in tables.get("ACL_TABLE", {}).values():
        row.get("ports", []).reverse()


def with_the_images_own(tables: Tables) -> None:
    """What init_cfg.json.j2 brings along."""
    tables["DEVICE_METADATA"]["localhost"] |= {
        "mac": "94:6D:AE:00:00:01",
        "timezone": "UTC",
        "default_bgp_status": "up",
    }
    tables["CRM"] = {"Config": {"polling_interval": "300", "acl_table_low_threshold": "70"}}
    tables["BGP_DEVICE_GLOBAL"] = {"STATE": {"tsa_enabled": "false", "wcmp_enabled": "false"}}
    tables["AUTO_TECHSUPPORT"] = {"GLOBAL": {"state": "enabled", "max_core_limit": "5.0"}}
    tables["KDUMP"] = {"config": {"enabled": "false", "num_dumps": "3"}}
    tables["VERSIONS"] = {"DATABASE": {"VERSION": "version_202411_01"}}
    tables.setdefault("FLEX_COUNTER_TABLE", {})["ACL"] = {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "10000"}
    extra = {"has_global_scope": "False", "has_per_asic_scope": "True", "delayed": "False", "set_owner": "local"}
    for name in ("swss", "syncd", "database", "teamd", "pmon"):
        tables["FEATURE"][name] = {"state": "enabled", "auto_restart": "enabled", **extra}
    tables["FEATURE"]["nat"] = {"state": "disabled", **extra}
    for row in tables["FEATURE"].values():
        row |= {"high_mem_alert": "disabled", "support_syslog_rate_limit": "true"}


def as_show_prints(tables: Tables) -> None:
    """What `show runningconfiguration all` prints: the tables, and FRR's own text beside them."""
    tables["bgpraw"] = "Building configuration...\n\nCurrent configuration:\n!\nend\n"


def with_defaults(tables: Tables) -> None:
    """Defaults of the yang models written out, and left out where the file has them."""
    for row in tables["PORT"].values():
        row |= {"pfc_asym": "off", "tpid": "0x8100", "mode": "routed", "subport": "0"}
        row.pop("autoneg", None)
    for row in tables.get("SYSLOG_SERVER", {}).values():
        row.pop("port", None)
        row["format"] = "standard"
    for key, row in tables.get("INTERFACE", {}).items():
        if "|" not in key:
            row |= {"ipv6_use_link_local_only": "disable", "nat_zone": "0"}
    tables["MGMT_PORT"]["eth0"]["mtu"] = "1500"


def in_older_forms(tables: Tables) -> None:
    """References in brackets, a field that stands for none, numbers, ranges of queues."""
    for row in tables.get("BUFFER_PROFILE", {}).values():
        row["pool"] = f"[BUFFER_POOL|{row['pool']}]"
    for name in ("INTERFACE", "ROUTE_MAP_SET", "VLAN_INTERFACE"):
        for row in tables.get(name, {}).values():
            row.update({} if row else {"NULL": "NULL"})
    for row in tables.get("BGP_NEIGHBOR", {}).values():
        row["asn"] = int(row["asn"])
    for name in ("BUFFER_QUEUE", "BUFFER_PG"):
        if name in tables:
            tables[name] = dict(_in_ranges(tables[name]))
    tables["AAA"]["authentication"]["failthrough"] = False


def _in_ranges(rows: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    groups: dict[tuple[str, str], list[int]] = {}
    for key, row in rows.items():
        port, number = key.split("|")
        groups.setdefault((port, json.dumps(row)), []).append(int(number))
    for (port, row), numbers in groups.items():
        together = len(numbers) > 1 and numbers == [*range(numbers[0], numbers[-1] + 1)]
        for name in [f"{numbers[0]}-{numbers[-1]}"] if together else map(str, numbers):
            yield f"{port}|{name}", json.loads(row)


# NVUE: "NVUE Object Model" of Cumulus Linux's manual, and what `nv config show` prints of NVIDIA/enterprise-ras.
IMAGES_OWN = {
    "aaa": {
        "class": {
            "nvapply": {"action": "allow", "command-path": {"/": {"permission": "all"}}},
            "nvshow": {"action": "allow", "command-path": {"/": {"permission": "ro"}}},
            "sudo": {"action": "allow", "command-path": {"/": {"permission": "all"}}},
        },
        "role": {
            "nvue-admin": {"class": {"nvapply": {}}},
            "nvue-monitor": {"class": {"nvshow": {}}},
            "system-admin": {"class": {"nvapply": {}, "sudo": {}}},
        },
    },
    "api": {"state": "enabled"},
    "config": {"auto-save": {"state": "enabled"}},
    "control-plane": {"acl": {"acl-default-dos": {"inbound": {}}, "acl-default-whitelist": {"inbound": {}}}},
    "reboot": {"mode": "cold"},
    "wjh": {"channel": {"forwarding": {"trigger": {"l2": {}, "l3": {}, "tunnel": {}}}}, "enable": "on"},
}


class _Dumper(yaml.CSafeDumper):
    """Words without quotes, numbers that are names in them."""


def _quoted(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="'" if text.isdecimal() else None)


_Dumper.add_representer(str, _quoted)


def _of_objects(change: Callable[[Tables], None]) -> Form:
    def form(text: str) -> str:
        objects = yaml.load(text, Loader=yaml.CBaseLoader)
        part = next(part for part in objects if "set" in part)
        change(part["set"])
        header = {"header": {"model": "vx", "nvue-api-version": "nvue_v1", "rev-id": "1.0"}}
        document = [header, part] if change is as_exported else objects
        if change is as_json:
            return json.dumps(document, indent=2)
        printed = yaml.dump(document, Dumper=_Dumper, sort_keys=True, default_flow_style=False, width=1 << 16)
        return re.sub(r"'(on|off|\d+:\d+)'", r"\1", printed)

    form.__name__ = change.__name__
    return form


def as_exported(objects: Tables) -> None:
    """What `nv config show -o yaml` prints: a header, sorted keys, communities without quotes."""
    users = objects.get("system", {}).get("aaa", {}).get("user", {})
    for user in users.values():
        user["hashed-password"] = "$6$rounds=5000$salt$x"


def with_the_systems_own(objects: Tables) -> None:
    """What Cumulus Linux's first configuration sets."""
    _merge(objects.setdefault("system", {}), deepcopy(IMAGES_OWN))
    for domain in objects.get("bridge", {}).get("domain", {}).values():
        domain["type"] = "vlan-aware"


def _merge(into: Tables, more: Tables) -> None:
    for name, below in more.items():
        if isinstance(below, dict) and isinstance(into.get(name), dict):
            _merge(into[name], below)
        else:
            into.setdefault(name, below)


def of_equal_ports(objects: Tables) -> None:
    """Ports of equal settings under one name, a stem that stands once: `swp1-4,9`."""
    groups: dict[tuple[str, str], list[int]] = {}
    for name in [*objects["interface"]]:
        port = re.fullmatch(r"swp(\d+)(s\d+)?", name)
        if port is None:
            continue
        for setting in [key for key in objects["interface"][name] if key in ("link", "qos", "type")]:
            below = objects["interface"][name].pop(setting)
            groups.setdefault((port[2] or "", json.dumps({setting: below})), []).append(int(port[1]))
    for (part, setting), numbers in groups.items():
        names = [f"swp{number}{part}" for number in numbers] if part else [_stem(numbers)]
        _merge(objects["interface"].setdefault(",".join(names), {}), json.loads(setting))


def _stem(numbers: list[int]) -> str:
    return "swp" + ",".join(map(str, sorted(numbers)))


def as_json(objects: Tables) -> None:
    """What `nv config show -o json` prints."""


# FBOSS: the thrift structures of facebook/fboss, which SimpleJSON prints with all that is not optional.
def _with_thrift_defaults(table: str) -> Form:
    defaults = defaults_of(table)

    def running_struct(text: str) -> str:
        return json.dumps(_filled(json.loads(text), defaults), indent=2)

    return running_struct


def _filled(value: Any, defaults: Defaults) -> Any:
    if isinstance(value, dict):
        made = {key: _filled(entry, defaults.at(key)) for key, entry in value.items()}
        for name, below in defaults.below.items():
            if name not in made and type(below.default) is not object:
                made[name] = _filled(deepcopy(below.default), below)
        return made
    return [_filled(entry, defaults.at("[]")) for entry in value] if isinstance(value, list) else value


def without_thrift_defaults(table: str) -> Form:
    """What a person writes who leaves defaults out."""
    from clusterwright.switches.fboss.reader.defaults import without_defaults

    def terse(text: str) -> str:
        return json.dumps(without_defaults(json.loads(text), defaults_of(table)))

    return terse


def compact(text: str) -> str:
    """All on one line."""
    return json.dumps(json.loads(text))


BY_EVERYBODY = (in_capitals, with_all_zeros)
FORMS: Mapping[str, tuple[Form, ...]] = {
    "mnt/flash/startup-config": (eos_printed, eos_edited, *BY_EVERYBODY),
    "etc/sonic/config_db.json": (
        *map(_of_tables, (sorted_tables, shuffled, with_the_images_own, as_show_prints, with_defaults, in_older_forms)),
        compact,
        *BY_EVERYBODY,
    ),
    "etc/clusterwright/nvue.yaml": (
        *map(_of_objects, (as_exported, with_the_systems_own, of_equal_ports, as_json)),
        *BY_EVERYBODY,
    ),
    "etc/coop/agent.conf": (_with_thrift_defaults(AGENT_DEFAULTS), compact, *BY_EVERYBODY),
    "etc/coop/bgpcpp.conf": (_with_thrift_defaults(BGP_DEFAULTS), compact, *BY_EVERYBODY),
}
"""By the path of a file, the forms that its system prints or takes."""
