"""Answers to acceptance suites of others, from plans, rendered text and proofs."""
