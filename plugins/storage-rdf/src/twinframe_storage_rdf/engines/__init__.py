"""Engines that store triples and answer SPARQL, behind one interface."""
