"""The lab: small copies of a cluster on one machine, built from its plan."""
