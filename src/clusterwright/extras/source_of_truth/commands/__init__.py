"""The commands that talk to a source of truth: they read from it, and write the plan into it."""
