"""A graph as RDF texts: what is written of it, and how each syntax puts it."""
