"""Where a job's ranks run: its axes of parallelism mapped to the layers of the topology."""
