"""The sections of the report's page: each a pure function from the plan, or what was measured, to a Section."""
