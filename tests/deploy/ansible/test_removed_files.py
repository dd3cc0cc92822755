"""Files that leave a node's tree: what the kernel took from them stays until it boots, as the table of effects says."""

from __future__ import annotations

from pathlib import Path

from tests.deploy.ansible.test_fleet import target_for
from tests.lab.sshfleet import SshFleet

from clusterwright.artifact import Artifact
from clusterwright.deploy.target import DeviceTree, Status
from clusterwright.device_files.effect import Consequence, Effect
from clusterwright.hosts.linux.effects import on_node

SETTING = "net.ipv4.tcp_fin_timeout"
FILES = {
    "etc/sysctl.d/90-clusterwright.conf": f"{SETTING} = 33\n",
    "etc/nftables.conf": "table inet clusterwright\ndelete table inet clusterwright\n"
    "table inet clusterwright {\n chain in {\n  type filter hook input priority 0\n }\n}\n",
    "etc/motd": "left\n",
}


def tree(*left_out: str) -> DeviceTree:
    return tuple(Artifact("n0", path, text.encode(), "test") for path, text in FILES.items() if path not in left_out)


def test_what_the_kernel_took_stays(tmp_path: Path) -> None:
    with SshFleet({"n0": "10.213.1.1"}) as fleet, fleet.as_controller():
        target = target_for(fleet, tmp_path)
        assert target.apply({"n0": tree()})["n0"].status is Status.APPLIED
        gone = target.apply({"n0": tree("etc/sysctl.d/90-clusterwright.conf", "etc/nftables.conf")})["n0"]
        assert gone.status is Status.APPLIED, gone.message
        assert fleet.run("n0", "cat", f"/proc/sys/{SETTING.replace('.', '/')}").strip() == "33"
        assert "table inet clusterwright" in fleet.run("n0", "nft", "list", "ruleset")
    effects = {path: on_node(path, text.encode(), None) for path, text in FILES.items() if path != "etc/motd"}
    stays = "a removed value stays in the kernel until the next boot"
    rules = "the loaded rules stay until the next boot; after it, the node has none"
    assert effects == {
        "etc/sysctl.d/90-clusterwright.conf": (Consequence(Effect.LIVE, stays),),
        "etc/nftables.conf": (Consequence(Effect.REBOOT, rules),),
    }
