"""CW419 to CW421: variables and keys against what the profile's releases of NCCL and PyTorch read."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.job import NcclProfile
from clusterwright.spec.runtime_names import known_names, known_versions, minor_of


@rule("CW419", Severity.ERROR)
def unknown_variable(subject: Subject) -> Iterator[Problem]:
    """Entries of `variables` that are in no table of the profile's releases."""
    for nccl in subject.spec.nccl_profiles:
        known = _known(nccl)
        for name in nccl.variables if known is not None else ():
            if known is not None and name not in known:
                close = get_close_matches(name, sorted(known), n=1, cutoff=0.8)
                hint = f"Did you mean {close[0]}?" if close else "Take it away, or name the release that reads it."
                yield Problem((*nccl.path, "variables", name), f"{_programs(nccl)} {name}.", hint, key=True)


@rule("CW420", Severity.WARNING)
def unknown_release(subject: Subject) -> Iterator[Problem]:
    """`version` and `pytorch` of the profile without a table."""
    for nccl in subject.spec.nccl_profiles:
        for library, key, version in (("nccl", "version", nccl.version), ("torch", "pytorch", nccl.pytorch)):
            if version is None or known_names(library, version) is not None:
                continue
            name = "NCCL" if library == "nccl" else "PyTorch"
            known = ", ".join(known_versions(library))
            message = f"The variables of {name} {minor_of(version)} are not known; those of {known} are."
            yield Problem((*nccl.path, key), message, "Name one of these, or add a table.")


@rule("CW421", Severity.ERROR)
def too_old(subject: Subject) -> Iterator[Problem]:
    """Keys of the profile, and the technology of its fabric, against the variables that they would have to set."""
    for nccl in subject.spec.nccl_profiles:
        fabric = subject.spec.fabric(nccl.fabric)
        if fabric is None:
            continue
        needs = (
            (fabric.technology == "roce", "nccl", "NCCL_IB_ADDR_RANGE", "version", "which chooses GIDs on RoCE"),
            (nccl.control_dscp is not None, "nccl", "NCCL_IB_FIFO_TC", "control_dscp", "which this sets"),
            (nccl.tuner is not None, "nccl", "NCCL_TUNER_PLUGIN", "tuner", "which this sets"),
            (
                nccl.heartbeat_timeout_s is not None,
                "torch",
                "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC",
                "heartbeat_timeout_s",
                "which this sets",
            ),
            (
                nccl.flight_recorder is not None,
                "torch",
                "TORCH_NCCL_DUMP_ON_TIMEOUT",
                "flight_recorder",
                "which this needs",
            ),
        )
        for wanted, library, variable, key, use in needs:
            version = nccl.version if library == "nccl" else nccl.pytorch
            if not wanted:
                continue
            if version is None:
                message = f"{variable} is PyTorch's, and the profile names no PyTorch."
                yield Problem((*nccl.path, key), message, "Say which with `pytorch`.", key=True)
                continue
            names = known_names(library, version)
            if names is not None and variable not in names:
                name = "NCCL" if library == "nccl" else "PyTorch"
                hint = "Name a newer release." if key == "version" else "Name a newer release, or take the key away."
                yield Problem(
                    (*nccl.path, key), f"{name} {version} has no {variable}, {use}.", hint, key=key != "version"
                )


def _known(nccl: NcclProfile) -> frozenset[str] | None:
    """The names of the profile's releases together; None where a table is missing, which CW420 says."""
    tables = [known_names("nccl", nccl.version)]
    if nccl.pytorch is not None:
        tables.append(known_names("torch", nccl.pytorch))
    return None if None in tables else frozenset().union(*(table for table in tables if table is not None))


def _programs(nccl: NcclProfile) -> str:
    if nccl.pytorch is None:
        return f"NCCL {nccl.version} does not read"
    return f"Neither NCCL {nccl.version} nor PyTorch {nccl.pytorch} reads"
