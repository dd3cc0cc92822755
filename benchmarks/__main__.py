"""Prints the figures as Markdown in less than ten minutes; name sections (`stages`, `eos`, `simulate`, …) to print only
these, or `ansible_hosts`, `compare`, `deployment`, `drain` and `largest`, which take minutes and are printed only where
named.

With `--smallest` each section runs over the small specs, once: its figures mean nothing, but that it runs does. The
sections' names are what `--list` prints. `--write FILE` writes them into FILE too, between the comments
`<!-- benchmark stages -->` and `<!-- end of stages -->`: those that FILE has, where no section is named.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.reference import figures

SECTIONS = {
    "stages": "Each stage at 1, 4, 16 and 43 pods of the RoCE cluster (384 nodes each)",
    "units": "Lint and plan at 32, 128 and 512 units of the InfiniBand cluster (32 nodes each)",
    "inventory": "The inventory of 24,576 GPUs in each of its forms",
    "eos": "Rendering one EOS switch, beside pyavd",
    "observe": "Comparing the cabling of 24,576 endpoints with a scan",
    "simulate": "Simulating collectives of 24,576 ranks",
    "ansible_hosts": "Applying a node's tree over SSH, both ends on this machine",
    "rollout": "Previewing a pod, beside what the engine costs by itself",
    "deployment": "The whole RoCE cluster rendered, and deployed from nothing into a directory",
    "compare": "The comment of a pull request on 24,576 GPUs, beside rendering them",
    "drain": "Draining a switch of 24,576 GPUs, beside proving the whole cluster",
    "verify": "Proofs about the reference clusters at full size",
    "largest": "Proofs about 131,072 GPUs, and what a pod of them costs",
}
BY_NAME = {"ansible_hosts", "compare", "deployment", "drain", "largest"}
"""Sections that take minutes by themselves, and are measured where somebody names them."""

LIST, SMALLEST, WRITE = "--list", "--smallest", "--write"
_BEGIN, _END = "<!-- benchmark {} -->\n", "<!-- end of {} -->\n"


def main(arguments: list[str]) -> int:
    """Print the sections named, or all of them; only their names for ``--list``. Returns 2 for an unknown name."""
    if arguments == [LIST]:
        print(*SECTIONS, sep="\n")
        return 0
    file = Path(arguments.pop(arguments.index(WRITE) + 1)) if WRITE in arguments else None
    names = [name for name in arguments if name not in (SMALLEST, WRITE)]
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        print(f"no section {', '.join(unknown)}; there are: {', '.join(SECTIONS)}", file=sys.stderr)
        return 2
    text = file.read_text() if file else ""
    usual = [name for name in SECTIONS if name not in BY_NAME]
    for name in names or [name for name in usual if not file or _BEGIN.format(name) in text]:
        # by itself: what it starts would be said to need the memory that all before it took
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            report = process.submit(figures, name, is_smallest=SMALLEST in arguments).result()
        print(f"## {SECTIONS[name]}\n\n{report}", flush=True)
        if file and _BEGIN.format(name) in text:
            before, begin, rest = text.partition(_BEGIN.format(name))
            _, end, after = rest.partition(_END.format(name))
            text = f"{before}{begin}{report}{end}{after}"
            file.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
