"""Writes a graph as RDF, in each of its text syntaxes."""
