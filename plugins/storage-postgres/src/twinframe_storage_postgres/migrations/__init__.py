"""The migrations of the tables of a graph."""
