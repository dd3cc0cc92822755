"""Programs chosen by name in a spec, and the extent of tests with their rendered files."""
