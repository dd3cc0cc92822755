"""The sections of the report's page: each a pure function from the plan, or a measurement, to a Section."""
