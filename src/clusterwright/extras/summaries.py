"""First sentences of the help of commands that the entry points of this package name.

Importing the commands for a list of all of them takes 0.2 s.
"""

from __future__ import annotations

SUMMARIES = {
    "bringup": "Writes the ordered acceptance plan of a group of SPEC, or judges what its steps reported.",
    "import": "Takes what a NetBox or Nautobot server has of the devices of SPEC into the files beside it.",
    "lab": "Runs a twin of a fabric on this machine: network namespaces, FRR as the switches.",
    "place": "Places a job of SPEC so that little crosses the upper layers, beside a linear and a random placement.",
    "simulate": (
        "Simulates one collective of a job on SPEC's RoCE fabric and tells how its flows spread over the links."
    ),
    "sync": "Compares what a NetBox or Nautobot server has of SPEC with the plan, and makes it so.",
}
