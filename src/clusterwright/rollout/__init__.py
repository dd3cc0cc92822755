"""Taking a change over a running cluster: its disturbance, its waves, and when to stop."""
