"""What a collective gets out of a planned fabric: flows, hashes and link loads. Imports numpy; nothing else may pay."""
