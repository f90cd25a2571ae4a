"""Pattern matching of the reference engine: planning a pattern, then running its steps."""
