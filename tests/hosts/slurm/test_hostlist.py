"""Lists of hosts in Slurm's words, folded and unfolded."""

from __future__ import annotations

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from clusterwright.hosts.slurm.hostlist import hostlist


def test_hostlists_fold_products() -> None:
    names = [f"gpu-p{pod:02d}r{rack:03d}n{node}" for pod in range(8) for rack in range(192) for node in range(2)]
    assert hostlist(names) == "gpu-p[00-07]r[000-191]n[0-1]"
    assert hostlist([name for name in names if name != "gpu-p00r000n0"]).count("gpu-") == 3
    assert hostlist(["a1", "a2", "a4", "b", "c"]) == "a[1-2,4],b,c"
    assert hostlist(["single9"]) == "single9"
    assert hostlist([]) == ""


@given(st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=60))
def test_hostlists_expand_to_what_was_folded(pairs: set[tuple[int, int]]) -> None:
    names = {f"gpu-r{rack:02d}n{node}" for rack, node in pairs}
    assert sorted(expand(hostlist(sorted(names)))) == sorted(names)


def expand(expression: str) -> list[str]:
    """The reading of a hostlist expression, written independently of the folding."""
    found: list[str] = []
    for entry in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", expression):
        choices: list[list[str]] = []
        for text, numbers in re.findall(r"([^\[]+)|\[([^\]]*)\]", entry):
            if text:
                choices.append([text])
                continue
            values: list[str] = []
            for part in numbers.split(","):
                low, _, high = part.partition("-")
                values.extend(str(n).zfill(len(low)) for n in range(int(low), int(high or low) + 1))
            choices.append(values)
        found.extend("".join(parts) for parts in itertools.product(*choices))
    return found
