"""Answers to third-party acceptance suites, from plans, rendered text and proofs."""
