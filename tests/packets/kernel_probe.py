"""Run inside a network namespace: loads a rule set, sends raw packets to it, and says which ones passed its input.

Arguments: the rule file, a JSON file of packets (hex from the IP header on, with the interface), and the output file.
Each packet bears its number as IPv4 identification or IPv6 flow label, which a chain behind the filter collects.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

PROBE = """
table inet probe {
    set four { typeof ip id; flags dynamic; size 65535; }
    set six { typeof ip6 flowlabel; flags dynamic; size 65535; }
    chain input {
        type filter hook input priority 50; policy accept;
        ip id != 0 add @four { ip id }
        ip6 flowlabel != 0 add @six { ip6 flowlabel }
    }
}
"""


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(rules: str, packets: str, result: str) -> None:
    wanted = json.loads(Path(packets).read_text(encoding="utf-8"))
    run("sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0", "net.ipv4.conf.default.rp_filter=0")
    run("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0")
    run("ip", "link", "set", "lo", "up")
    sockets = {}
    for index, name in enumerate(("be0", "fe0")):
        run("ip", "link", "add", name, "type", "veth", "peer", "name", f"far{index}")
        for end in (name, f"far{index}"):
            run("ip", "link", "set", end, "up")
        run("ip", "address", "add", f"fd00:1ab:{'b' if name == 'be0' else 'f'}::3/64", "dev", name, "nodad")
        run("ip", "address", "add", f"10.98.{index}.3/24", "dev", name)
        sockets[name] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sockets[name].bind((f"far{index}", 0))
    for prefix in ("0.0.0.0/1", "128.0.0.0/1"):
        run("ip", "route", "add", prefix, "dev", "fe0")
    run("ip", "-6", "route", "add", "2000::/3", "dev", "fe0")
    run("nft", "-f", rules)
    Path("/proc/sys/net/netfilter/nf_conntrack_checksum").write_text("0")
    run("sh", "-c", f"printf '%s' '{PROBE}' | nft -f -")
    links = {each["ifname"]: each["address"] for each in json.loads(run("ip", "-j", "link"))}
    macs = {name: bytes.fromhex(links[name].replace(":", "")) for name in sockets}
    for each in wanted:
        data = bytes.fromhex(each["data"])
        kind = b"\x86\xdd" if data[0] >> 4 == 6 else b"\x08\x00"
        sockets[each["iif"]].send(macs[each["iif"]] + b"\x02\0\0\0\0\x01" + kind + data)
    time.sleep(0.5)
    seen = set()
    for name in ("four", "six"):
        text = run("nft", "list", "set", "inet", "probe", name)
        body = re.search(r"elements = \{([^}]*)\}", text)
        seen |= {int(word, 0) for word in re.findall(r"0x[0-9a-f]+|\d+", body[1])} if body else set()
    Path(result).write_text(json.dumps(sorted(seen)), encoding="utf-8")


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    main(*sys.argv[1:])
