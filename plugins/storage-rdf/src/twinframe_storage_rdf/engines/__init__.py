"""Engines that keep triples and answer SPARQL, behind one protocol."""
