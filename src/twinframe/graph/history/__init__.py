"""Earlier states of a graph, built from its events."""
