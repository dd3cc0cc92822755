"""Prints every figure as Markdown; name sections (`stages`, `eos`, `simulate`, …) to print only these.

With `--smallest` each section runs over the small specs, once: its figures mean nothing, but that it runs does. The
sections' names are what `--list` prints.
"""

from __future__ import annotations

import sys
from importlib import import_module

SECTIONS = {
    "stages": "Each stage at 1, 4 and 16 pods of the RoCE cluster (384 nodes each)",
    "eos": "Rendering one EOS switch, beside pyavd",
    "observe": "Comparing the cabling of 24,576 endpoints with a scan",
    "simulate": "Simulating collectives of 24,576 ranks",
    "ansible_hosts": "Applying a node's tree over SSH, both ends on this machine",
    "rollout": "Previewing a pod, beside what the engine costs by itself",
    "deployment": "The whole RoCE cluster rendered, and deployed from nothing into a directory",
    "verify": "Proofs about the reference clusters at full size",
}


LIST, SMALLEST = "--list", "--smallest"


def main(arguments: list[str]) -> int:
    """Print the sections named, or all of them; only their names for ``--list``. Returns 2 for an unknown name."""
    if arguments == [LIST]:
        print(*SECTIONS, sep="\n")
        return 0
    names = [name for name in arguments if name != SMALLEST]
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        print(f"no section {', '.join(unknown)}; there are: {', '.join(SECTIONS)}", file=sys.stderr)
        return 2
    for name in names or SECTIONS:
        report = import_module(f"benchmarks.{name}").report(is_smallest=SMALLEST in arguments)
        print(f"## {SECTIONS[name]}\n\n{report}\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
