"""The commands that talk to a source of truth: they take from it, and make it say what the plan says."""
