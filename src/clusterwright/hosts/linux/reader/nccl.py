"""Reading NCCL's settings on a node: nccl.conf or its parts, and variables set before it.

NCCL takes a variable from its environment, then from ``.nccl.conf`` at home, then from nccl.conf, and keeps the first
value that it finds (NVIDIA/nccl, src/misc/param.cc: ``setenv`` without overwriting).
"""

from __future__ import annotations

import re
from functools import lru_cache

from clusterwright.facts.unread import Unread

NCCL = "etc/nccl.conf"
# Where nccl.conf is made when a node starts: its settings, and the partition whose index is added to them.
NCCL_PARTS = "etc/nccl/nccl.conf"
NCCL_PARTITION = "etc/nccl/partition.conf"
CONF_FILES = (NCCL_PARTS, NCCL)
SHELL_ENVIRONMENT = "etc/profile.d/clusterwright-nccl.sh"
# What brings the same to batch scripts and containers, in forms of their own.
_OF_JOBS = frozenset(
    {
        "usr/local/libexec/clusterwright/task-environment",
        "etc/containers/containers.conf.d/91-clusterwright-nccl.conf",
        "etc/enroot/environ.d/50-clusterwright-nccl.env",
    }
)
# Where others set variables for jobs: of these only files that name one of NCCL's are of interest.
NCCL_PLACES = (
    *(*CONF_FILES, NCCL_PARTITION, "etc/profile.d/", "etc/environment", "etc/security/pam_env.conf"),
    *("etc/default/slurmd", "home/"),
    *("usr/local/libexec/clusterwright/task-environment", "etc/containers/", "etc/enroot/"),
    *("root/.nccl.conf", "etc/systemd/system.conf.d/", "etc/systemd/user.conf.d/"),
)
JOB_ENVIRONMENTS = (SHELL_ENVIRONMENT, *sorted(_OF_JOBS))
# In a shell's export, a task's echo, a list of containers, or a line of its own.
_VARIABLE = re.compile(r"""\b(NCCL_[A-Z0-9_]+)(\+set|=([^\s"',]*))?""")
# Names the file that is read here anyway.
_CONF_FILE = ("NCCL_CONF_FILE", f"/{NCCL}")
_CLAIMS = frozenset({"qos", "ib-nccl"})
_SETTING = re.compile(r"(?P<name>[A-Z][A-Z0-9_]*)=(?P<value>.*)")
# Values that proofs read, or under which data stays RDMA of version 2 on the adapters that are named.
_READ = {
    **dict.fromkeys(("NCCL_IB_TC", "NCCL_IB_FIFO_TC", "NCCL_GIN_IB_TC", "NCCL_IB_ADDR_FAMILY"), ".*"),
    **dict.fromkeys(("NCCL_IB_ADDR_RANGE", "NCCL_IB_DISABLE", "NCCL_IB_ROCE_VERSION_NUM"), ".*"),
    "NCCL_NET": "(?i:ib|socket)",  # a plugin's network is its own
    "NCCL_IB_HCA": r"=[\w.-]+(?:,[\w.-]+)*",
    "NCCL_IB_GID_INDEX": "-1",
}
# Without influence on which packets leave by which adapter in which class: how NCCL sums up, divides, waits and tells.
_IDLE = re.compile(
    r"NCCL_(?:AGG_|ALGO|ALLGATHERV|ALLOC|ASYNC_ERROR|BLOCKING_WAIT|BUFFSIZE|CE_|CFT|CGA|CHECK|CHUNK"
    r"|COLLNET|COMM_(?:BLOCKING|SHRINK|SPLIT)|CONNECT|CROSS_NIC|CTA"
    r"|CUDA_PATH|CUMEM|DEBUG|DESYNC_DEBUG|DMABUF|ELASTIC|ENABLE_TIMING|GDR|GRAPH|IPC_"
    r"|IGNORE|LAUNCH|LL|LOCAL_REGISTER|MAX|MIN|MNNVL|NCHANNELS|NETDEVS_POLICY"
    r"|NET_(?:GDR|SHARED|FORCE_FLUSH|DISABLE_INTRA)|NSOCKS|NTHREADS|NVB|NVLS|NVTX|OOB_NET|P2P|PAT|PROFILER|PROGRESS"
    r"|PROTO|PROXY|PXN|RAS|REPORT|RUNTIME|SET_|SHM|SOCKET|SYM|THREAD|TOPO|TUNER|UID|WARN|WIN|WORK"
    r"|IB_(?:ADAPTIVE_ROUTING|AR_THRESHOLD|DATA_DIRECT|ECE|MQP|PCI|PKEY|PREPOST|QPS|RESILIENCY|RETRY|RETURN|SL|SPLIT"
    r"|TIMEOUT|USE_INLINE|WARN|WQE))[A-Z0-9_]*|(?:TORCH|GLOO|OMP|PYTORCH)_\w+"
)


@lru_cache(maxsize=256)
def read_nccl(text: str) -> dict[str, str]:
    """The settings of nccl.conf by name; the first one of a repeated name."""
    settings: dict[str, str] = {}
    for line in text.split("\n"):
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            settings.setdefault(name, value)
    return settings


@lru_cache(maxsize=256)
def variables_of(text: str) -> dict[str, str]:
    """The variables of NCCL in a file of JOB_ENVIRONMENTS, by name."""
    return {match[1]: match[3] for match in _VARIABLE.finditer(text) if match[3] is not None}


@lru_cache(maxsize=256)
def read_partition(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The P_Key and the adapters of partition.conf; None for any other text."""
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    match = re.fullmatch(r'PKEY=(0x[0-9a-f]{4})\nDEVICES="([\w. -]*)"', "\n".join(lines))
    return (match[1], tuple(match[2].split())) if match is not None else None


@lru_cache(maxsize=256)
def nccl_unread(path: str, text: str) -> tuple[Unread, ...]:
    """Unknown parts of a file of NCCL_PLACES: settings, or variables of NCCL in another program's file."""
    if path == NCCL_PARTITION:
        is_read = read_partition(text) is not None
        return (
            ()
            if is_read
            else (Unread(file=path, line=1, text="the whole file: it names no P_Key and adapters", claims=_CLAIMS),)
        )
    if path in _OF_JOBS:
        return tuple(
            Unread(file=path, line=text.count("\n", 0, match.start()) + 1, text=match[1], claims=_CLAIMS)
            for match in _VARIABLE.finditer(text)
            if not _IDLE.fullmatch(match[1]) and not _is_conf_file(match)
        )
    if path not in {*CONF_FILES, SHELL_ENVIRONMENT}:
        offset = text.find("NCCL_") if not path.endswith(".nccl.conf") else 0
        what = "the whole file: it sets variables of NCCL before nccl.conf is read"
        return (
            () if offset < 0 else (Unread(file=path, line=text.count("\n", 0, offset) + 1, text=what, claims=_CLAIMS),)
        )
    start = "export " if path == SHELL_ENVIRONMENT else ""
    return tuple(
        Unread(file=path, line=number, text=line, claims=_CLAIMS)
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip() and not line.startswith("#") and not _is_known(line, start)
    )


def _is_conf_file(variable: re.Match[str]) -> bool:
    """Whether a line names the default file, or tests whether one is named."""
    return variable[1] == _CONF_FILE[0] and variable[2] in {"+set", f"={_CONF_FILE[1]}"}


def _is_known(line: str, start: str) -> bool:
    """Whether a line is read by a proof, or touches no claim; in the environment the latter alone counts."""
    setting = _SETTING.fullmatch(line.removeprefix(start)) if line.startswith(start) else None
    if setting is None:
        return False
    if start and (setting["name"], setting["value"]) == _CONF_FILE:
        return True
    values = None if start else _READ.get(setting["name"])
    return (
        re.fullmatch(values, setting["value"]) is not None if values else _IDLE.fullmatch(setting["name"]) is not None
    )
