"""The lab: small copies of a cluster on one machine, made from its plan."""
