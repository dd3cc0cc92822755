"""Bandwidth of a collective on a planned fabric: flows, hashes and link loads. It imports numpy: import it late."""
