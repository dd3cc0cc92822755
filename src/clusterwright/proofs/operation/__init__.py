"""Proofs about what starts and occupies nodes: the scheduler, and how machines boot."""
