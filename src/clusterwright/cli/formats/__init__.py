"""The output formats of ``clusterwright lint``: pure functions from a LintResult to text."""
