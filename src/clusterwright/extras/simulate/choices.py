"""Names of a simulation's options: its traffic, the placement of ranks, the switches' choice of links."""

from __future__ import annotations

COLLECTIVES = ("all-gather", "all-reduce", "all-to-all")
ALGORITHMS = ("ring", "recursive-doubling", "pairwise")
PLACEMENTS = ("linear", "random", "fragmented")
SOURCE_PORTS = ("queue-pair", "fixed")
RENDERED, ECMP, E_ECMP, PATH_PINNING = HASHES = ("rendered", "ecmp", "e-ecmp", "path-pinning")
