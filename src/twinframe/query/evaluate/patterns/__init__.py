"""Pattern matching of the reference engine: plans a pattern, then runs its steps."""
