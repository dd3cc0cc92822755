"""The figures that the README cites, measured: `python -m benchmarks` (or `make bench`) prints them all."""
