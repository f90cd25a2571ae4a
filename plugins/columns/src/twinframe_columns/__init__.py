"""Columns of a graph, and the engine that answers questions about many twins from them."""
