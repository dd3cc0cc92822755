"""Proofs about the operation of nodes: boot, node checks, schedulers, and requests of switches to servers."""
