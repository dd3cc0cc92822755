"""Placement of a job's ranks: its axes of parallelism mapped to the layers of the topology."""
