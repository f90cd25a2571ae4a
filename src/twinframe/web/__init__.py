"""The HTTP edge: guard, one table of routes, the only mapping of errors to HTTP. No use case."""
