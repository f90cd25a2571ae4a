"""What every use case of a graph works with: its store, cache, clock, tokens and pages."""
