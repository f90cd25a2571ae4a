"""The SPARQL endpoint: texts of callers read before they run, and run over one graph alone."""
