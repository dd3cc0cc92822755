"""First sentences of the help of this package's commands, by name.

Importing the commands for a list of all of them takes 0.2 s.
"""

from __future__ import annotations

SUMMARIES = {
    "bringup": "Writes the ordered acceptance plan of a group of SPEC, or checks the reports of its steps.",
    "import": "Imports the data of a NetBox or Nautobot server on the devices of SPEC into the files beside it.",
    "lab": "Runs a twin of a fabric on this machine: network namespaces, FRR as the switches.",
    "place": "Places a job of SPEC with little traffic across the upper layers, beside linear and random placements.",
    "simulate": (
        "Simulates one collective of a job on SPEC's RoCE fabric, and shows the spread of its flows over the links."
    ),
    "sync": "Compares the objects of SPEC on a NetBox or Nautobot server with the plan, and updates them.",
}
