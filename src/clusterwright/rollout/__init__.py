"""Taking a change over a running cluster: what it disturbs, in which waves, and when to stop."""
