"""Choices that a spec makes by name, and how far their rendered files are tested."""
