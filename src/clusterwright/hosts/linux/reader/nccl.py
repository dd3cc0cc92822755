"""Reading NCCL's settings on a node: nccl.conf or its parts, and variables set before it.

NCCL takes a variable from its environment, then from ``.nccl.conf`` at home, then from nccl.conf, and keeps the first
value that it finds (NVIDIA/nccl, src/misc/param.cc: ``setenv`` without overwriting).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from clusterwright.facts.unread import Unread

NCCL = "etc/nccl.conf"
# The parts of an nccl.conf made at a node's start: settings, and the partition whose index is added to them.
NCCL_PARTS = "etc/nccl/nccl.conf"
NCCL_PARTITION = "etc/nccl/partition.conf"
CONF_FILES = (NCCL_PARTS, NCCL)
SHELL_ENVIRONMENT = "etc/profile.d/clusterwright-nccl.sh"
# The same variables for batch scripts and containers, in other syntaxes.
_OF_JOBS = frozenset(
    {
        "usr/local/libexec/clusterwright/task-environment",
        "etc/containers/containers.conf.d/91-clusterwright-nccl.conf",
        "etc/enroot/environ.d/50-clusterwright-nccl.env",
    }
)
# Places where other programs set variables for jobs; only files that name a variable of NCCL's matter.
NCCL_PLACES = (
    *(*CONF_FILES, NCCL_PARTITION, "etc/profile.d/", "etc/environment", "etc/security/pam_env.conf"),
    *("etc/default/slurmd", "home/"),
    *("usr/local/libexec/clusterwright/task-environment", "etc/containers/", "etc/enroot/"),
    *("root/.nccl.conf", "etc/systemd/system.conf.d/", "etc/systemd/user.conf.d/"),
)
JOB_ENVIRONMENTS = (SHELL_ENVIRONMENT, *sorted(_OF_JOBS))
# In a shell's export, a task's echo, a list of containers, or a line of its own.
_VARIABLE = re.compile(r"""\b(NCCL_[A-Z0-9_]+)(\+set|=([^\s"',]*))?""")
# A variable with the name of the default file changes nothing.
_CONF_FILE = ("NCCL_CONF_FILE", f"/{NCCL}")
_CLAIMS = frozenset({"qos", "ib-nccl"})
_PARTITION = re.compile(r'PKEY=(0x[0-9a-f]{4})\nDEVICES="([\w. -]*)"\n')
_EXPORT = "export "
_SETTING = re.compile(r"(?P<name>[A-Z][A-Z0-9_]*)=(?P<value>.*)")
# Values that proofs read, or that keep data RDMA of version 2 on the named adapters.
_READ = {
    **dict.fromkeys(("NCCL_IB_TC", "NCCL_IB_FIFO_TC", "NCCL_GIN_IB_TC", "NCCL_IB_ADDR_FAMILY"), ".*"),
    **dict.fromkeys(("NCCL_IB_ADDR_RANGE", "NCCL_IB_DISABLE", "NCCL_IB_ROCE_VERSION_NUM"), ".*"),
    "NCCL_NET": "(?i:ib|socket)",  # a plugin's network is its own
    "NCCL_IB_HCA": r"=[\w.-]+(?:,[\w.-]+)*",
    "NCCL_IB_GID_INDEX": "-1",
}
# Variables without influence on the adapter and class of any packet: algorithms, buffers, timeouts, logs.
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
    settings = "".join(f"{line}\n" for _, line in _lines(text))
    match = _PARTITION.fullmatch(settings)
    if match is None:
        return None
    return match[1], tuple(match[2].split())


@lru_cache(maxsize=256)
def nccl_unread(path: str, text: str) -> tuple[Unread, ...]:
    """Unknown parts of a file of NCCL_PLACES: settings, or variables of NCCL in another program's file."""
    if path == NCCL_PARTITION:
        return _partition_unread(path, text)
    if path in _OF_JOBS:
        return _job_variables_unread(path, text)
    if path in {*CONF_FILES, SHELL_ENVIRONMENT}:
        return _settings_unread(path, text)
    return _other_file_unread(path, text)


def _partition_unread(path: str, text: str) -> tuple[Unread, ...]:
    if read_partition(text) is not None:
        return ()
    return (Unread(file=path, line=1, text="the whole file: it names no P_Key and adapters", claims=_CLAIMS),)


def _job_variables_unread(path: str, text: str) -> tuple[Unread, ...]:
    """Variables with a possible influence on packets, in a file that sets a job's environment."""
    unread = []
    for variable in _VARIABLE.finditer(text):
        if _IDLE.fullmatch(variable[1]) or _is_conf_file(variable):
            continue
        number = text.count("\n", 0, variable.start()) + 1
        unread.append(Unread(file=path, line=number, text=variable[1], claims=_CLAIMS))
    return tuple(unread)


def _settings_unread(path: str, text: str) -> tuple[Unread, ...]:
    """Unknown lines of nccl.conf, or of the environment of shells."""
    is_environment = path == SHELL_ENVIRONMENT
    unread = []
    for number, line in _lines(text):
        is_known = _is_known_export(line) if is_environment else _is_known_setting(line)
        if not is_known:
            unread.append(Unread(file=path, line=number, text=line, claims=_CLAIMS))
    return tuple(unread)


def _other_file_unread(path: str, text: str) -> tuple[Unread, ...]:
    """Another program's file from its first variable of NCCL on; a user's .nccl.conf from its start."""
    offset = 0 if path.endswith(".nccl.conf") else text.find("NCCL_")
    if offset < 0:
        return ()
    reason = "the whole file: it sets variables of NCCL before nccl.conf is read"
    return (Unread(file=path, line=text.count("\n", 0, offset) + 1, text=reason, claims=_CLAIMS),)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without blank ones and comments."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def _is_conf_file(variable: re.Match[str]) -> bool:
    """Whether a line names the default file, or tests whether one is named."""
    return variable[1] == _CONF_FILE[0] and variable[2] in {"+set", f"={_CONF_FILE[1]}"}


def _is_known_export(line: str) -> bool:
    """Whether a shell's line exports a variable without influence on any claim."""
    setting = _SETTING.fullmatch(line.removeprefix(_EXPORT)) if line.startswith(_EXPORT) else None
    if setting is None:
        return False
    if (setting["name"], setting["value"]) == _CONF_FILE:
        return True
    return _IDLE.fullmatch(setting["name"]) is not None


def _is_known_setting(line: str) -> bool:
    """Whether a line of nccl.conf is read by a proof, or has no influence on any claim."""
    setting = _SETTING.fullmatch(line)
    if setting is None:
        return False
    values = _READ.get(setting["name"])
    if values is not None:
        return re.fullmatch(values, setting["value"]) is not None
    return _IDLE.fullmatch(setting["name"]) is not None
