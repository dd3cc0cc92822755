"""Values of a spec behind a line of rendered text."""
