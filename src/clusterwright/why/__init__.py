"""Which values of a spec a line of rendered text comes from."""
