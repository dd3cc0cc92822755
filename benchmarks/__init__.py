"""The figures of docs/figures.md, measured: `python -m benchmarks` (or `make bench`) prints them all."""
