"""Commands on a source of truth: reading from it, and writing the plan into it."""
