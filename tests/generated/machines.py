"""Node groups of a generated cluster: who there is, how they are grouped, and which image they boot."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Data = dict[str, Any]

ASSUMED = "A figure of a generated example."
COMPUTE = ("dgx-a100", "dgx-h100", "grand-teton-h100")
STORAGE = ("flashblade", "altus", "yv3-sierra-point", "hammerspace-anvil", "hammerspace-dsx", "flasharray-c")
_LEVELS = (("rack", "r"), ("pod", "p"), ("hall", "h"))


def chance(draw: st.DrawFn, percent: int) -> bool:
    """True in about so many of a hundred draws."""
    return draw(st.integers(0, 99)) >= 100 - percent


@st.composite
def levels(draw: st.DrawFn, depth: int, names: tuple[str, ...] = ("rack", "pod", "hall")) -> list[Data]:
    """Grouping levels from the rack up, one to three of them; numbers run on or begin anew in each larger group."""
    found = []
    for index in range(depth):
        level: Data = {"name": names[index], "of": draw(st.integers(1, 4))}
        if chance(draw, 40):
            level["code"] = _LEVELS[index][1]
        if index + 1 < depth and chance(draw, 40):
            level["within"] = draw(st.sampled_from([*names[index + 1 : depth], "cluster"]))
        found.append(level)
    return found


@st.composite
def compute_groups(draw: st.DrawFn, infiniband: bool, rare: str) -> list[Data]:
    """One group of GPU nodes, sometimes a second of another model."""
    several = rare in {"two groups", "tenants", "two slurms"}
    depth = draw(st.sampled_from([1, 2, 2, 3]))
    second = "su" if infiniband and chance(draw, 60) else "pod"
    groups = []
    for index in range(2 if several or chance(draw, 25) else 1):
        model = draw(st.sampled_from(COMPUTE if index == 0 else COMPUTE[1:]))
        if rare == "two-port NICs" or not (infiniband or draw(st.integers(0, 9))):
            model = "two-port-node"
        groups.append(
            {
                "name": ("compute", "special")[index],
                "model": model,
                "role": "node",
                "count": draw(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 12, 16]) if index == 0 else st.integers(1, 4)),
                "prefix": ("gpu", "sp")[index],
                "levels": draw(levels(depth, ("rack", second, "hall"))),
            }
        )
    if len(groups) > 1:  # one letter a level, and racks that do not share a name
        for group, codes in zip(groups, (("r", "p", "h"), ("x", "y", "z")), strict=True):
            for level, code in zip(group["levels"], codes, strict=False):
                level["code"] = code
    return groups


@st.composite
def other_groups(draw: st.DrawFn, infiniband: bool, rare: str) -> list[Data]:
    """Storage, service machines, and on InfiniBand perhaps its managers."""
    found: list[Data] = []
    if rare == "two groups":  # the two of GPU nodes
        return found
    if rare == "storage of others" or chance(draw, 75):
        found.append(_small(draw, "storage", draw(st.sampled_from(STORAGE)), "storage", "st", "s"))
    if rare in {"tenants", "two slurms", "bonds"} or chance(draw, 80):
        found.append(_small(draw, "services", "service-server", "service", "svc", "v"))
    if rare == "two slurms" or chance(draw, 10):
        found.append(_small(draw, "controllers", "service-server", "service", "ctl", "w"))
    if chance(draw, 35):
        found.append(_small(draw, "login", "service-server", "login", "log", "l"))
    if infiniband and chance(draw, 35):
        model = draw(st.sampled_from(["ufm-appliance", "infiniband-server"]))
        found.append(_small(draw, "fabric-managers", model, "service", "fm", "m"))
    return found


def _small(draw: st.DrawFn, name: str, model: str, role: str, prefix: str, code: str) -> Data:
    return {
        "name": name,
        "model": model,
        "role": role,
        "count": draw(st.integers(1, 3)),
        "prefix": prefix,
        "levels": [{"name": "rack", "of": draw(st.integers(1, 3)), "code": code}],
    }


@st.composite
def training_image(draw: st.DrawFn) -> Data:
    """An image for GPU nodes."""
    image: Data = {
        "name": "training",
        "distribution": "Debian 12" if chance(draw, 15) else "Debian 13",
        "kernel": {"package": "linux-image-amd64"},
        "packages": draw(st.lists(st.sampled_from(["ibverbs-utils", "perftest", "procps", "vim=2:9.1"]), unique=True)),
        "modules": ["ib_umad", "ib_uverbs", "mlx5_ib"],
        "limits": {"memlock": "unlimited"},
        "kernel_parameters": draw(st.sampled_from([["iommu=pt"], ["mitigations=auto,nosmt", "iommu=pt"]])),
    }
    extras: Data = {
        "blacklist": ["nouveau"],
        "sysctl": {"net.core.netdev_max_backlog": 250000, "net.ipv4.tcp_rmem": "4096 87380 67108864"},
        "hugepages": {"size": draw(st.sampled_from(["2M", "1G"])), "count": draw(st.integers(1, 64))},
        "module_options": {"mlx5_core": "prof_sel=2"},
        "units": {"mask": ["apt-daily.timer"]},
        "checks": [{"name": "filter", "run": "nft list table inet clusterwright"}],
        "size_bytes": 103712000,
        "delivery": draw(st.sampled_from(["memory", "disk"])),
        "firmware": [{"device": "ConnectX-7", "version": "28.39.1002"}],
        "containers": {
            "memlock": "unlimited",
            "shm_size_gb": draw(st.integers(1, 64)),
            "ipc": draw(st.sampled_from(["host", "private"])),
            "devices": ["/dev/infiniband"],
        },
        "health": {"interval_s": 120, "link_downs": 3},
    }
    for key, value in extras.items():
        if chance(draw, 30):
            image[key] = value
    return image


def server_image() -> Data:
    """An image for storage and service machines."""
    return {
        "name": "server",
        "distribution": "Debian 13",
        "kernel": {"package": "linux-image-amd64"},
        "limits": {"memlock": "unlimited"},
    }


def instances(group: Data) -> list[tuple[str, int, int]]:
    """For each level and the cluster: its name, how many instances this group has, nodes in the largest of them."""
    found = []
    nodes, left = 1, group["count"]
    for level in group["levels"]:
        nodes *= level["of"]
        left = -(-group["count"] // nodes)
        found.append((level["name"], left, min(nodes, group["count"])))
    return [*found, ("cluster", 1, group["count"])]
