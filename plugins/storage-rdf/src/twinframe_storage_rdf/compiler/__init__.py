"""Compiles plans of the algebra to SPARQL."""
