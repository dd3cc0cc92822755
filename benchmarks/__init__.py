"""The figures of docs/dev/figures.md, measured: `python -m benchmarks` (or `make bench`) prints them all."""
